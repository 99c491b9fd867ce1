import java.nio.file.*;
import java.time.Duration;
import java.util.function.Consumer;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.processor.StateStore;

/** describe() texts of stream-stream joins, sliding windows, cogroups and final results. The same topologies in Python: describe_stream_cases.py in tests/unit. */
final class StreamDescribes {
    static Path dir;
    static final ValueJoiner<String, String, String> J = (x, y) -> x;
    static final Aggregator<String, String, String> AGG = (k, v, a) -> a;
    static final Initializer<String> INIT = () -> "";
    static final JoinWindows W = JoinWindows.ofTimeDifferenceWithNoGrace(Duration.ofMillis(50));
    static final TimeWindows T = TimeWindows.ofSizeWithNoGrace(Duration.ofMillis(10));
    static final SlidingWindows SL = SlidingWindows.ofTimeDifferenceWithNoGrace(Duration.ofMillis(10));
    static final SessionWindows SE = SessionWindows.ofInactivityGapWithNoGrace(Duration.ofMillis(10));

    static <K, V, X extends StateStore> Materialized<K, V, X> as(String name) { return Materialized.as(name); }
    static StreamJoined<String, String, String> joined() { return StreamJoined.with(null, null, null); }
    static StreamJoined<String, String, String> named(String name) { return joined().withName(name); }

    static void dsl(String name, Consumer<StreamsBuilder> build) throws Exception {
        StreamsBuilder builder = new StreamsBuilder();
        build.accept(builder);
        Files.writeString(dir.resolve(name + ".txt"), builder.build().describe().toString());
    }

    static void add() throws Exception {
        dir = Describes.dir;
        joins();
        windows();
        cogroups();
    }

    static void joins() throws Exception {
        dsl("stream_stream_joins_generated", b -> {
            KStream<String, String> l = b.stream("l"), r = b.stream("r");
            l.join(r, J, W).to("i");
            l.leftJoin(r, J, W).to("lj");
            l.outerJoin(r, J, W).to("oj");
        });
        dsl("stream_stream_joins_named", b -> {
            KStream<String, String> l = b.stream("l"), r = b.stream("r");
            l.join(r, J, W, named("inner")).to("i");
            l.leftJoin(r, J, W, named("left").withStoreName("ls")).to("lj");
            l.outerJoin(r, J, W, named("outer").withStoreName("os")).to("oj");
            l.join(r, J, W, joined().withStoreName("only")).to("s");
        });
        dsl("stream_stream_joins_rekeyed", b -> {
            KStream<String, String> l = b.<String, String>stream("l").selectKey((k, v) -> v);
            KStream<String, String> r = b.<String, String>stream("r").map(KeyValue::pair);
            l.join(r, J, W).to("i");
            l.leftJoin(r, J, W).to("lj");
            l.outerJoin(r, J, W, named("outer")).to("oj");
            l.join(b.<String, String>stream("plain"), J, W, named("half")).groupByKey().count().toStream().to("n");
        });
        dsl("stream_stream_self_joins", b -> {
            KStream<String, String> s = b.stream("s");
            s.join(s, J, W).to("i");
            KStream<String, String> again = b.stream("s");
            s.outerJoin(again, J, W).to("oj");
            KStream<String, String> m = s.selectKey((k, v) -> v);
            m.join(m, J, W).to("m");
            m.leftJoin(m, J, W, named("own")).to("ml");
        });
        dsl("stream_stream_join_chains", b -> {
            KStream<String, String> x = b.stream("x"), y = b.stream("y"), z = b.stream("z");
            KTable<String, String> t = b.table("t");
            x.join(y, J, W).leftJoin(z, J, W).join(t, J).groupBy((k, v) -> v).count().toStream().to("o1");
            x.join(y, J, W).selectKey((k, v) -> v).outerJoin(z, J, W).to("o2");
        });
    }

    static void windows() throws Exception {
        dsl("sliding", b -> {
            KGroupedStream<String, String> g = b.<String, String>stream("in").groupByKey();
            g.windowedBy(SL).count().toStream().to("o1");
            g.windowedBy(SL).reduce((x, y) -> x, as("red")).toStream().to("o2");
            g.windowedBy(SL).<String>aggregate(INIT, AGG, Named.as("agg"), as("aggs")).toStream().to("o3");
            b.<String, String>stream("by").groupBy((k, v) -> v).windowedBy(SL).count().toStream().to("o4");
        });
        dsl("emit_final", b -> {
            KGroupedStream<String, String> g = b.<String, String>stream("in").groupByKey();
            g.windowedBy(T).emitStrategy(EmitStrategy.onWindowClose()).count().toStream().to("o1");
            g.windowedBy(SL).emitStrategy(EmitStrategy.onWindowClose()).reduce((x, y) -> x, as("red")).toStream().to("o2");
            g.windowedBy(SE).emitStrategy(EmitStrategy.onWindowClose()).count(Named.as("cnt")).toStream().to("o3");
        });
    }

    static void cogroups() throws Exception {
        dsl("cogroup_generated", b -> {
            KGroupedStream<String, String> x = b.<String, String>stream("a").groupByKey();
            KGroupedStream<String, String> y = b.<String, String>stream("b").groupBy((k, v) -> v);
            CogroupedKStream<String, String> c = x.cogroup(AGG).cogroup(y, AGG);
            c.aggregate(INIT).toStream().to("o1");
            c.windowedBy(T).aggregate(INIT);
        });
        dsl("cogroup_named", b -> {
            KGroupedStream<String, String> x = b.<String, String>stream("a").groupByKey(Grouped.as("ga"));
            KGroupedStream<String, String> y = b.<String, String>stream("b").groupBy((k, v) -> v, Grouped.as("gb"));
            KGroupedStream<String, String> z = b.<String, String>stream("c").selectKey((k, v) -> v).groupByKey();
            CogroupedKStream<String, String> c = x.cogroup(AGG).cogroup(y, AGG).cogroup(z, AGG);
            c.aggregate(INIT, Named.as("all"), as("totals")).toStream().to("o1");
        });
        dsl("cogroup_windowed", b -> {
            KGroupedStream<String, String> x = b.<String, String>stream("a").groupByKey();
            KGroupedStream<String, String> y = b.<String, String>stream("b").groupBy((k, v) -> v);
            CogroupedKStream<String, String> c = x.cogroup(AGG).cogroup(y, AGG);
            c.windowedBy(SE).aggregate(INIT, (k, l, r) -> l).toStream().to("o1");
            c.windowedBy(SL).aggregate(INIT, Named.as("slide"), as("slides")).toStream().to("o2");
            c.windowedBy(T).aggregate(INIT, Named.as("tumble")).toStream().to("o3");
            c.aggregate(INIT, as("plain")).toStream().to("o4");
        });
        dsl("cogroup_once", b -> {
            b.<String, String>stream("a").groupBy((k, v) -> v).cogroup(AGG).aggregate(INIT).toStream().to("o1");
            KGroupedStream<String, String> x = b.<String, String>stream("b").groupByKey();
            x.cogroup(AGG).cogroup(x, AGG).aggregate(INIT, as("twice")).toStream().to("o2");
        });
    }
}
