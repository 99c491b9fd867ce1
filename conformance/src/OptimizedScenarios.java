import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.processor.api.*;

/** `topology.optimization`: what comes out must be the same, or, for a self join, what the one store gives. */
final class OptimizedScenarios extends Scenarios {
    static String pick(String v) { return v == null ? "N" : "ABC".substring(Integer.parseInt(v.substring(1)) % 3, Integer.parseInt(v.substring(1)) % 3 + 1); }

    static final class Louder extends ContextualFixedKeyProcessor<String, String, String> {
        public void process(FixedKeyRecord<String, String> r) { context().forward(r.withValue(S(r.value()) + "!")); }
    }

    static void add() {
        Oracle.Scenario s = sc("optimized_self_join",
            "A stream joined with itself over one store, window +-30, grace 20, topology.optimization=all. The inputs are those of stream_stream_self_join_optimization_none, and so are the outputs.",
            """
            s = builder.stream("in", STR, STR)
            s.join(s, lambda a, b: a + "+" + b, JoinWindows.of_time_difference_and_grace(30, 20), StreamJoined.with_(STR, STR, STR)).to("out")
            """).time(20, 40, 200, 300).conf("topology.optimization", "all").like("stream_stream_self_join_optimization_none");
        s.in("in", "string").uniq("V").keys("A", "B", "C").nullKey(0.05);
        s.out("out", "string", "string");
        s.dsl(b -> {
            KStream<String, String> in = b.stream("in", CS());
            in.join(in, (x, y) -> x + "+" + y, JoinWindows.ofTimeDifferenceAndGrace(ms(30), ms(20)), StreamJoined.with(STR, STR, STR)).to("out", PS());
        });

        s = sc("optimized_self_join_left_asymmetric",
            "A re-keyed stream left-joined with itself, 10 before to 60 after, no grace, and outer-joined, 20 to 50 after: topology.optimization=all. Null keys and values are dropped; the second pairs each record with itself although its window says otherwise.",
            """
            # pick(v) = "N" if v is None, else "ABC"[int(v[1:]) % 3]
            s = builder.stream("in", STR, STR).select_key(lambda k, v: k if k is None else pick(v))
            joined = StreamJoined.with_(STR, STR, STR)
            (s.left_join(s, lambda k, a, b: S(k) + ":" + S(a) + "+" + S(b), JoinWindows.of_time_difference_with_no_grace(60).before(10), joined).to("left"))
            (s.outer_join(s, lambda a, b: S(a) + "+" + S(b), JoinWindows.of_time_difference_and_grace(50, 40).before(-20), joined).to("outer"))
            """).time(15, 50, 250, 300).headers().steps(45).conf("topology.optimization", "all");
        s.in("in", "string").uniq("V").keys("X", "Y").nullKey(0.06).nullVal(0.06);
        s.out("left", "string", "string").out("outer", "string", "string");
        s.dsl(b -> {
            KStream<String, String> in = b.stream("in", CS()).selectKey((k, v) -> k == null ? null : pick(v));
            StreamJoined<String, String, String> joined = StreamJoined.with(STR, STR, STR);
            in.leftJoin(in, (k, x, y) -> S(k) + ":" + S(x) + "+" + S(y), JoinWindows.ofTimeDifferenceWithNoGrace(ms(60)).before(ms(10)), joined).to("left", PS());
            in.outerJoin(in, (x, y) -> S(x) + "+" + S(y), JoinWindows.ofTimeDifferenceAndGrace(ms(50), ms(40)).before(ms(-20)), joined).to("outer", PS());
        });

        s = sc("optimized_merged_repartitions",
            "One select_key, and behind it a count, a reduce of what a filter leaves, a processor of values with a windowed count, and a join with a table: topology.optimization=all puts one repartition in front of all of them.",
            """
            # pick(v) = "N" if v is None, else "ABC"[int(v[1:]) % 3]
            t = builder.table("table", STR, STR)
            s = builder.stream("in", STR, STR).select_key(lambda k, v: pick(v))
            s.group_by_key(Grouped.with_(STR, STR)).count(Materialized.as_("counts")).to_stream().to("counts")
            (s.filter(lambda k, v: v is not None and int(v[1:]) % 2 == 0).group_by_key(Grouped.with_(STR, STR))
              .reduce(lambda a, b: a + b, Materialized.as_("reduced")).to_stream().to("reduced"))
            # the processor forwards S(value) + "!"
            (s.process_values(Louder).group_by_key(Grouped.with_(STR, STR)).windowed_by(TimeWindows.of_size_and_grace(100, 50))
              .reduce(lambda a, b: a + b, Materialized.as_("windows")).to_stream().to("windows"))
            s.join(t, lambda a, b: a + "+" + b, Joined.with_(STR, STR, STR)).to("joined")
            """).time(20, 50, 200, 300).headers().steps(45).conf("topology.optimization", "all");
        s.in("in", "string").uniq("V").keys("X", "Y").nullVal(0.08).weight(3);
        s.in("table", "string").uniq("T").keys("A", "B", "C").nullVal(0.15);
        s.out("counts", "string", "long").out("reduced", "string", "string").out("windows", "windowed_string", "string", 100).out("joined", "string", "string");
        s.store("counts", "timestamped_kv").store("reduced", "timestamped_kv").store("windows", "timestamped_window");
        s.dsl(b -> {
            KTable<String, String> t = b.table("table", CS());
            KStream<String, String> in = b.stream("in", CS()).selectKey((k, v) -> pick(v));
            Grouped<String, String> g = Grouped.with(STR, STR);
            in.groupByKey(g).count(kv("counts", LNG)).toStream().to("counts", Produced.with(STR, LNG));
            in.filter((k, v) -> v != null && Integer.parseInt(v.substring(1)) % 2 == 0).groupByKey(g).reduce((x, y) -> x + y, kv("reduced", STR)).toStream().to("reduced", PS());
            in.processValues(Louder::new).groupByKey(g).windowedBy(TimeWindows.ofSizeAndGrace(ms(100), ms(50))).reduce((x, y) -> x + y, win("windows", STR))
                .toStream().to("windows", Produced.with(WindowedSerdes.timeWindowedSerdeFrom(String.class, 100), STR));
            in.join(t, (x, y) -> x + "+" + y, Joined.with(STR, STR, STR)).to("joined", PS());
        });

        s = sc("optimized_merge_of_streams",
            "Two streams, one of them re-keyed, become one; behind the merge a table and a count: topology.optimization=merge.repartition.topics puts the one repartition behind the merge.",
            """
            # pick(v) = "N" if v is None, else "ABC"[int(v[1:]) % 3]
            m = builder.stream("one", STR, STR).select_key(lambda k, v: pick(v)).merge(builder.stream("two", STR, STR))
            m.to_table(Materialized.as_("last")).to_stream().to("last")
            m.group_by_key(Grouped.with_(STR, STR)).count(Materialized.as_("counts")).to_stream().to("counts")
            """).time(20, 50, 200, 300).steps(40).conf("topology.optimization", "merge.repartition.topics");
        s.in("one", "string").uniq("V").keys("X", "Y").nullVal(0.08);
        s.in("two", "string").uniq("W").keys("A", "B", "C").nullKey(0.05).nullVal(0.05);
        s.out("last", "string", "string").out("counts", "string", "long");
        s.store("last", "timestamped_kv").store("counts", "timestamped_kv");
        s.dsl(b -> {
            KStream<String, String> m = b.stream("one", CS()).selectKey((k, v) -> pick(v)).merge(b.stream("two", CS()));
            m.toTable(kv("last", STR)).toStream().to("last", PS());
            m.groupByKey(Grouped.with(STR, STR)).count(kv("counts", LNG)).toStream().to("counts", Produced.with(STR, LNG));
        });

        s = sc("optimized_table_topics",
            "Tables whose topics are the changelogs of their stores, one with a store that is not logged: joined, filtered, grouped. topology.optimization=reuse.ktable.source.topics.",
            """
            a = builder.table("a", STR, STR, Materialized.as_("as"))
            b = builder.table("b", STR, STR, Materialized.as_("bs").with_logging_disabled())
            a.outer_join(b, lambda x, y: S(x) + "+" + S(y), Materialized.as_("joined")).to_stream().to("out")
            a.filter(lambda k, v: int(v[1:]) % 2 == 0).group_by(lambda k, v: ("ABC"[int(v[1:]) % 3], v), Grouped.with_(STR, STR)).count(Materialized.as_("counts")).to_stream().to("counts")
            """).time(20, 50, 200, 300).steps(40).conf("topology.optimization", "reuse.ktable.source.topics");
        s.in("a", "string").uniq("A").keys("X", "Y", "Z").nullVal(0.15).nullKey(0.04);
        s.in("b", "string").uniq("B").keys("X", "Y", "Z").nullVal(0.15);
        s.out("out", "string", "string").out("counts", "string", "long");
        s.store("as", "timestamped_kv").store("bs", "timestamped_kv").store("joined", "timestamped_kv").store("counts", "timestamped_kv");
        s.dsl(b -> {
            KTable<String, String> x = b.table("a", CS(), kv("as", STR));
            KTable<String, String> y = b.table("b", CS(), kv("bs", STR).withLoggingDisabled());
            x.outerJoin(y, (p, q) -> S(p) + "+" + S(q), kv("joined", STR)).toStream().to("out", PS());
            x.filter((k, v) -> Integer.parseInt(v.substring(1)) % 2 == 0).groupBy((k, v) -> KeyValue.pair(pick(v), v), Grouped.with(STR, STR)).count(kv("counts", LNG)).toStream().to("counts", Produced.with(STR, LNG));
        });
    }
}
