import org.apache.kafka.streams.kstream.*;

import java.util.function.Consumer;
import org.apache.kafka.streams.StreamsBuilder;

/** describe() texts under every setting of topology.optimization; called by Describes. */
final class OptimizedDescribes extends Describes {
    static void each(String name, String spec, Consumer<StreamsBuilder> c) {
        both(name, spec, c);
        d(name + "_opt_reuse", "reuse.ktable.source.topics", spec, c);
        d(name + "_opt_merge", "merge.repartition.topics", spec, c);
        d(name + "_opt_self", "single.store.self.join", spec, c);
    }

    static void add() {
        ValueJoiner<String, String, String> j = (a, b) -> a + b;
        JoinWindows w = JoinWindows.ofTimeDifferenceWithNoGrace(ms(50));

        each("self_joins", """
            s = builder.stream("in")
            s.join(s, j, w).to("a")
            s.left_join(s, j, w, StreamJoined.as_("lj").with_name("named")).to("b")
            s.outer_join(builder.stream("in"), j, w).to("c")            # the same topic read twice
            k = s.select_key(f)
            k.join(k, j, w).to("d")
            k.join(k.filter(p), j, w).to("e")                           # not the same stream
            k.group_by_key().count().to_stream().to("f")
            """, b -> {
            KStream<String, String> s = b.stream("in");
            s.join(s, j, w).to("a");
            s.leftJoin(s, j, w, StreamJoined.<String, String, String>as("lj").withName("named")).to("b");
            s.outerJoin(b.stream("in"), j, w).to("c");
            KStream<String, String> k = s.selectKey((x, v) -> v);
            k.join(k, j, w).to("d");
            k.join(k.filter((x, v) -> true), j, w).to("e");
            k.groupByKey().count().toStream().to("f");
        });

        each("merged_repartitions", """
            t = builder.table("t")
            k = builder.stream("in").map(f)
            k.group_by_key().count().to_stream().to("a")
            k.filter(p).peek(f).group_by_key(Grouped.as_("grp")).reduce(g).to_stream().to("b")
            k.map_values(f).group_by_key().count(Materialized.as_("after-values")).to_stream().to("c")    # the value has changed: stays
            k.process_values(P).group_by_key().count(Materialized.as_("after-processor")).to_stream().to("d")
            k.join(t, j).to("e")
            k.left_join(builder.stream("other").select_key(f), j, w, StreamJoined.as_("sj").with_name("join")).to("f")
            k.to_table(Named.as_("tab"), Materialized.as_("tabs")).to_stream().to("g")
            k.repartition(Repartitioned.as_("mine")).group_by_key().count().to_stream().to("h")           # asked for: stays
            k.flat_map_values(f).to("i")
            t.group_by(f).count().to_stream().to("l")
            """, b -> {
            KTable<String, String> t = b.table("t");
            KStream<String, String> k = b.<String, String>stream("in").map(org.apache.kafka.streams.KeyValue::pair);
            k.groupByKey().count().toStream().to("a");
            k.filter((x, v) -> true).peek((x, v) -> { }).groupByKey(Grouped.as("grp")).reduce((x, y) -> x).toStream().to("b");
            k.mapValues(v -> v).groupByKey().count(kv("after-values")).toStream().to("c");
            k.processValues(NopValues::new).groupByKey().count(kv("after-processor")).toStream().to("d");
            k.join(t, j).to("e");
            k.leftJoin(b.<String, String>stream("other").selectKey((x, v) -> v), j, w, StreamJoined.<String, String, String>as("sj").withName("join")).to("f");
            k.toTable(Named.as("tab"), OptimizedDescribes.<String>kv("tabs")).toStream().to("g");
            k.repartition(Repartitioned.as("mine")).groupByKey().count().toStream().to("h");
            k.flatMapValues(v -> java.util.List.of(v)).to("i");
            t.groupBy(org.apache.kafka.streams.KeyValue::pair).count().toStream().to("l");
        });

        each("merged_behind_merges", """
            one, two, three = (builder.stream(x) for x in ("one", "two", "three"))
            m = one.select_key(f).merge(two.map(f))
            m.group_by_key().count().to_stream().to("a")
            m.filter(p).to_table().to_stream().to("b")
            k = three.select_key(f)
            x = k.merge(three)
            x.group_by_key(Grouped.as_("x")).count().to_stream().to("c")
            k.group_by_key().count(Materialized.as_("k")).to_stream().to("d")
            two.group_by(f).count().to_stream().to("e")
            two.group_by(f, Grouped.as_("g2")).cogroup(agg).cogroup(three.group_by(f, Grouped.as_("g3")), agg).aggregate(init, Materialized.as_("co")).to_stream().to("f")
            """, b -> {
            KStream<String, String> one = b.stream("one"), two = b.stream("two"), three = b.stream("three");
            KStream<String, String> m = one.selectKey((x, v) -> v).merge(two.map(org.apache.kafka.streams.KeyValue::pair));
            m.groupByKey().count().toStream().to("a");
            m.filter((x, v) -> true).toTable().toStream().to("b");
            KStream<String, String> k = three.selectKey((x, v) -> v), x = k.merge(three);
            x.groupByKey(Grouped.as("x")).count().toStream().to("c");
            k.groupByKey().count(kv("k")).toStream().to("d");
            two.groupBy((y, v) -> v).count().toStream().to("e");
            Aggregator<String, String, String> agg = (y, v, a) -> a;
            two.groupBy((y, v) -> v, Grouped.<String, String>as("g2")).cogroup(agg).cogroup(three.groupBy((y, v) -> v, Grouped.as("g3")), agg).aggregate(() -> "", kv("co")).toStream().to("f");
        });
    }

    static final class NopValues extends org.apache.kafka.streams.processor.api.ContextualFixedKeyProcessor<String, String, String> {
        public void process(org.apache.kafka.streams.processor.api.FixedKeyRecord<String, String> r) { }
    }
}
