import java.nio.file.*;
import java.time.Duration;
import java.util.*;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.apache.kafka.common.serialization.*;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.processor.*;
import org.apache.kafka.streams.processor.api.ContextualFixedKeyProcessor;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.*;

/** describe() texts of the operators, applications and hand-made topologies. The same topologies in Python: describe_cases.py, describe_more_cases.py, describe_table_cases.py in tests/unit. */
final class BasicDescribes {
    static final Serde<String> S = Serdes.String();
    static Path dir;

    static class Nop extends ContextualProcessor<String, String, String, String> {
        public void process(Record<String, String> r) { }
    }

    static class NopValues extends ContextualFixedKeyProcessor<String, String, String> {
        public void process(FixedKeyRecord<String, String> r) { }
    }

    static class NopGlobal extends ContextualProcessor<String, String, Void, Void> {
        public void process(Record<String, String> r) { }
    }

    static class Same implements ValueTransformerWithKey<String, String, String> {
        public void init(org.apache.kafka.streams.processor.ProcessorContext c) { }
        public String transform(String k, String v) { return v; }
        public void close() { }
    }

    static class Extractor implements TopicNameExtractor<String, String> {
        public String extract(String k, String v, RecordContext c) { return "dyn"; }
        public String toString() { return "EXTRACTOR"; }
    }

    static <K, V, T extends StateStore> Materialized<K, V, T> as(String name) { return Materialized.as(name); }
    static Duration ms(long x) { return Duration.ofMillis(x); }
    static StoreBuilder<KeyValueStore<String, String>> store(String name) {
        return Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore(name), S, S);
    }

    static void write(String name, Topology topology) throws Exception {
        Files.writeString(dir.resolve(name + ".txt"), topology.describe().toString());
    }

    static void dsl(String name, Consumer<StreamsBuilder> build) throws Exception {
        StreamsBuilder builder = new StreamsBuilder();
        build.accept(builder);
        write(name, builder.build());
    }

    static void add() throws Exception {
        dir = Describes.dir;
        ValueJoiner<String, String, String> j = (x, y) -> x;
        stateless();
        aggregates();
        joins(j);
        tables(j);
        tableJoins(j);
        applications(j);
        processorApi();
    }

    static void stateless() throws Exception {
        dsl("stateless_generated", b -> {
            KStream<String, String> s = b.stream("in");
            s.filter((k, v) -> true).filterNot((k, v) -> false).mapValues(v -> v).map(KeyValue::pair)
                .flatMap((k, v) -> List.of(KeyValue.pair(k, v))).flatMapValues(v -> List.of(v)).selectKey((k, v) -> k)
                .peek((k, v) -> { }).to("out");
            s.foreach((k, v) -> { });
            s.print(Printed.toSysOut());
        });
        dsl("stateless_named", b -> b.stream("in", Consumed.<String, String>as("the-source"))
            .filter((k, v) -> true, Named.as("the-filter")).mapValues(v -> v, Named.as("the-values"))
            .map(KeyValue::pair, Named.as("the-map")).selectKey((k, v) -> k).peek((k, v) -> { }, Named.as("the-peek"))
            .to("out", Produced.as("the-sink")));
        dsl("split_generated", b -> {
            Map<String, KStream<String, String>> m = b.<String, String>stream("in").split().branch((k, v) -> true)
                .branch((k, v) -> true).defaultBranch();
            List<String> keys = new ArrayList<>(new TreeSet<>(m.keySet()));
            m.get(keys.get(1)).to("o1");
            m.get(keys.get(2)).to("o2");
            m.get(keys.get(0)).to("o0");
        });
        dsl("repartition_operator", b -> {
            KStream<String, String> s = b.stream("in");
            s.repartition().to("a");
            s.repartition(Repartitioned.as("rp")).to("b");
            s.selectKey((k, v) -> k).repartition(Repartitioned.with(S, S).withName("rp2").withNumberOfPartitions(3))
                .groupByKey().count().toStream().to("c");
        });
        dsl("merged_sources", b -> {
            KStream<String, String> x = b.stream("a"), y = b.stream("b");
            x.merge(y).groupByKey().count().toStream().to("o1");
            x.selectKey((k, v) -> v).merge(y).groupByKey().count().toStream().to("o2");
            b.<String, String>stream("a").merge(y, Named.as("again")).to("o3");
        });
        dsl("patterns_and_extractors", b -> {
            b.<String, String>stream(Pattern.compile("in-.*")).to(new Extractor());
            b.<String, String>stream(Pattern.compile("in-.*")).to("o1");
            b.<String, String>stream(List.of("x", "y", "z")).to("o2");
            b.<String, String>stream(List.of("x", "y", "z")).to("o3");
        });
    }

    static void aggregates() throws Exception {
        dsl("count_generated", b -> b.<String, String>stream("in").groupByKey().count().toStream().to("out"));
        dsl("count_named", b -> b.<String, String>stream("in").groupByKey(Grouped.as("grp"))
            .count(Named.as("cnt"), as("store")).toStream(Named.as("ts")).to("out"));
        dsl("group_by_generated", b -> {
            KStream<String, String> s = b.stream("in");
            s.groupBy((k, v) -> v).reduce((x, y) -> x).toStream().to("out");
            s.groupBy((k, v) -> v).<String>aggregate(() -> "", (k, v, a) -> a, as("st")).toStream().to("out2");
        });
        dsl("two_aggregations_after_map", b -> {
            KStream<String, String> m = b.<String, String>stream("in").map(KeyValue::pair);
            m.groupByKey().count().toStream().to("o1");
            m.groupByKey().count(as("second")).toStream().to("o2");
            m.filter((k, v) -> true).groupByKey().reduce((x, y) -> x).toStream().to("o3");
        });
        dsl("two_aggregations_after_select_key", b -> {
            KStream<String, String> s = b.<String, String>stream("in").selectKey((k, v) -> v);
            s.groupByKey().count().toStream().to("o1");
            s.groupByKey().reduce((x, y) -> x).toStream().to("o2");
            KGroupedStream<String, String> g = s.groupByKey(Grouped.as("shared"));
            g.count().toStream().to("o3");
            g.count(as("second")).toStream().to("o4");
        });
        dsl("windowed", b -> {
            KGroupedStream<String, String> g = b.<String, String>stream("in").groupByKey();
            g.windowedBy(TimeWindows.ofSizeAndGrace(ms(100), ms(10))).count().toStream().to("o1");
            g.windowedBy(TimeWindows.ofSizeWithNoGrace(ms(100)).advanceBy(ms(50)))
                .<String>aggregate(() -> "", (k, v, x) -> x, BasicDescribes.<String, String, WindowStore<Bytes, byte[]>>as("hops"))
                .toStream((k, v) -> k.key()).to("o2");
            g.windowedBy(TimeWindows.ofSizeWithNoGrace(ms(100))).reduce((x, y) -> x, Named.as("red"), as("rs"))
                .toStream().to("o3");
        });
        dsl("windowed_group_by", b -> {
            KGroupedStream<String, String> g = b.<String, String>stream("in").groupBy((k, v) -> v);
            g.windowedBy(TimeWindows.ofSizeWithNoGrace(ms(100))).count(as("counts")).toStream().to("o1");
            g.windowedBy(TimeWindows.ofSizeWithNoGrace(ms(100))).reduce((x, y) -> x).toStream().to("o2");
        });
        dsl("session", b -> {
            SessionWindowedKStream<String, String> s = b.<String, String>stream("in").groupByKey()
                .windowedBy(SessionWindows.ofInactivityGapAndGrace(ms(100), ms(10)));
            s.count().toStream().to("o1");
            s.count(as("visits"));
            s.reduce((x, y) -> x).toStream().to("o2");
            s.<String>aggregate(() -> "", (k, v, x) -> x, (k, x, y) -> x, Named.as("agg"), as("aggs"));
        });
    }

    static void joins(ValueJoiner<String, String, String> j) throws Exception {
        dsl("global_table_joins", b -> {
            GlobalKTable<String, String> g = b.globalTable("g"), h = b.globalTable("h", as("hs"));
            KStream<String, String> s = b.stream("s");
            s.join(g, (k, v) -> k, j).to("i");
            s.leftJoin(h, (k, v) -> k, j, Named.as("glj")).to("l");
        });
        dsl("stream_table_joins", b -> {
            KTable<String, String> t = b.table("t"), n = b.table("n", as("ns"));
            b.table("unused").toStream().to("o0");
            KStream<String, String> s = b.stream("s");
            s.join(t, j).to("o1");
            s.leftJoin(t, j, Joined.as("lj")).to("o2");
            s.leftJoin(n, j).to("o3");
        });
        dsl("stream_table_joins_rekeyed", b -> {
            KTable<String, String> t = b.table("t");
            KStream<String, String> s = b.<String, String>stream("s").selectKey((k, v) -> v);
            s.join(t, j).to("o1");
            s.leftJoin(t, j).to("o2");
            s.leftJoin(t, j, Joined.as("lj")).to("o3");
            s.join(b.<String, String>stream("c").groupByKey().count(), (x, y) -> x).to("o4");
        });
    }

    static void tables(ValueJoiner<String, String, String> j) throws Exception {
        dsl("table_source", b -> {
            b.<String, String>table("in", as("st")).filter((k, v) -> true).toStream().to("out");
            b.<String, String>table("other").mapValues(v -> v, as("mv")).toStream().to("out2");
        });
        dsl("table_group_by", b -> {
            KTable<String, String> t = b.table("in");
            t.groupBy(KeyValue::pair).count().toStream().to("a");
            t.groupBy(KeyValue::pair, Grouped.as("grp")).reduce((x, y) -> x, (x, y) -> x, as("rs")).toStream().to("b");
            t.groupBy(KeyValue::pair).aggregate(() -> "", (k, v, a) -> a, (k, v, a) -> a, Named.as("agn"), as("ags")).toStream().to("c");
        });
        dsl("table_group_by_shared", b -> {
            KGroupedTable<String, String> g = b.<String, String>table("in").filter((k, v) -> true).groupBy(KeyValue::pair, Grouped.as("grp"));
            g.count().toStream().to("a");
            g.reduce((x, y) -> x, (x, y) -> x).toStream().to("b");
            g.count(Named.as("again"), as("again-store")).toStream().to("c");
        });
        dsl("table_values", b -> {
            KTable<String, String> t = b.table("in");
            KTable<String, String> f = t.filter((k, v) -> true, Materialized.with(S, S));
            f.filterNot((k, v) -> true, Named.as("not"), as("fs")).toStream().to("a");
            f.mapValues(v -> v, Materialized.with(S, S)).filter((k, v) -> true).mapValues((k, v) -> v, Named.as("mapped")).toStream().to("b");
            b.<String, String>stream("s").join(f.mapValues(v -> v), j).to("c");
        });
        dsl("table_transform_values", b -> {
            b.addStateStore(store("own"));
            KTable<String, String> t = b.table("in");
            t.transformValues(Same::new, "own").toStream().to("a");
            t.transformValues(Same::new, as("ts"), Named.as("named"), "own").toStream().to("b");
            t.transformValues(Same::new, Materialized.with(S, S)).toStream().to("c");
        });
        dsl("to_table", b -> {
            KStream<String, String> s = b.stream("in");
            s.toTable().toStream().to("a");
            s.toTable(as("st")).filter((k, v) -> true).toStream().to("b");
            s.toTable(Named.as("named"), as("nt")).toStream().to("c");
            s.selectKey((k, v) -> v).toTable().groupBy(KeyValue::pair).count().toStream().to("d");
            s.selectKey((k, v) -> v).toTable(Named.as("rekeyed")).toStream().to("e");
            s.join(s.toTable(), j).to("f");
        });
    }

    static void tableJoins(ValueJoiner<String, String, String> j) throws Exception {
        dsl("table_table_joins", b -> {
            KTable<String, String> x = b.table("a"), y = b.table("b", as("bs"));
            x.join(y, j).toStream().to("i");
            x.leftJoin(y, j, Named.as("tlj")).toStream().to("l");
            x.outerJoin(y, j, Named.as("toj"), as("os")).toStream().to("o");
            x.join(y, j, as("is")).filter((k, v) -> true).mapValues(v -> v, Named.as("mv"), as("mvs")).toStream().to("x");
        });
        dsl("table_join_chains", b -> {
            KTable<String, String> x = b.table("a"), y = b.table("b"), z = b.table("c");
            KTable<String, String> xy = x.outerJoin(y, j);
            xy.leftJoin(z.filter((k, v) -> true), j, Materialized.with(S, S)).toStream().to("one");
            xy.mapValues(v -> v).join(b.<String, String>stream("d").groupByKey().reduce((p, q) -> p), j).groupBy(KeyValue::pair).count();
            x.join(x, j).toStream().to("self");
        });
    }

    static void applications(ValueJoiner<String, String, String> j) throws Exception {
        dsl("fraud_detector", b -> {
            GlobalKTable<String, String> risk = b.globalTable("risk-scores", as("global-risk-store"));
            b.<String, String>stream("transactions").leftJoin(risk, (k, v) -> v, j).filter((k, v) -> true)
                .groupBy((k, v) -> v)
                .windowedBy(SessionWindows.ofInactivityGapAndGrace(Duration.ofMinutes(5), Duration.ofSeconds(30)))
                .count(as("session-count-store")).toStream().filter((k, v) -> true)
                .map((k, v) -> KeyValue.pair(k.key(), "")).to("fraud-alerts");
        });
        dsl("word_count", b -> b.<String, String>stream("text-input").flatMapValues(v -> List.of(v))
            .groupBy((k, w) -> w).count(as("word-count-store")).toStream().to("wordcount-output"));
        dsl("word_count_select_key", b -> b.<String, String>stream("text-input").flatMapValues(v -> List.of(v))
            .filter((k, w) -> true).selectKey((k, w) -> w).groupByKey(Grouped.with(S, S)).count(as("word-count-store"))
            .toStream().to("wordcount-output"));
        dsl("named_everything", b -> {
            KTable<String, String> t = b.table("t", Consumed.as("table"), as("table-store"));
            GlobalKTable<String, String> g = b.globalTable("g", Consumed.as("global"), as("global-store"));
            KStream<String, String> s = b.stream("s", Consumed.as("source"));
            Map<String, KStream<String, String>> m = s.filter((k, v) -> true, Named.as("filter"))
                .filterNot((k, v) -> true, Named.as("not")).split(Named.as("split-"))
                .branch((k, v) -> true, Branched.as("one")).defaultBranch(Branched.as("rest"));
            m.get("split-one").selectKey((k, v) -> v, Named.as("key")).leftJoin(t, j, Joined.as("table-join"))
                .join(g, (k, v) -> v, j, Named.as("global-join")).groupBy((k, v) -> v, Grouped.as("grouping"))
                .count(Named.as("count"), as("counts")).toStream(Named.as("stream")).to("o1", Produced.as("sink"));
            m.get("split-rest").flatMap((k, v) -> List.of(KeyValue.pair(k, v)), Named.as("flat"))
                .flatMapValues(v -> List.of(v), Named.as("flat-values")).peek((k, v) -> { }, Named.as("peek"))
                .repartition(Repartitioned.as("through")).foreach((k, v) -> { }, Named.as("each"));
        });
        dsl("split_with_chains", b -> {
            KStream<String, String> s = b.stream("in");
            Map<String, KStream<String, String>> m = s.split(Named.as("by-"))
                .branch((k, v) -> true, Branched.withFunction(x -> x.mapValues(v -> v), "mapped"))
                .branch((k, v) -> true, Branched.withConsumer(x -> x.to("consumed")))
                .branch((k, v) -> true, Branched.withFunction(x -> null, "nothing"))
                .defaultBranch(Branched.withConsumer(x -> x.peek((k, v) -> { }).to("rest"), "others"));
            for (String name : new TreeSet<>(m.keySet())) m.get(name).to("out-" + name);
            s.print(Printed.<String, String>toSysOut().withName("shown"));
            s.print(Printed.<String, String>toSysOut().withLabel("a label"));
        });
        dsl("process_with_stores", b -> {
            b.addStateStore(store("shared"));
            b.<String, String>stream("a").process(Nop::new, "shared").to("o1");
            b.<String, String>stream("b").processValues(NopValues::new, "shared").to("o2");
            b.<String, String>stream("c").process(new ProcessorSupplier<String, String, String, String>() {
                public Processor<String, String, String, String> get() { return new Nop(); }
                public Set<StoreBuilder<?>> stores() { return Set.of(store("own")); }
            }, Named.as("named")).groupByKey().count().toStream().to("o3");
        });
    }

    static void processorApi() throws Exception {
        write("processor_api", new Topology()
            .addSource("s1", "in1", "in2").addSource("s2", Pattern.compile("p-.*"))
            .addProcessor("p1", Nop::new, "s1").addProcessor("p2", Nop::new, "p1", "s2")
            .addStateStore(store("kv"), "p1", "p2")
            .addSink("k1", "out", "p1", "p2").addSink("k2", new Extractor(), "p2")
            .addSource("lone", "lone-in").addSink("lone-sink", "lone-out", "lone")
            .addGlobalStore(store("gs").withLoggingDisabled(), "gsrc", S.deserializer(), S.deserializer(), "gtopic", "gproc", NopGlobal::new));
    }
}
