import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;

import java.util.*;

/** Operators one after the other. */
final class ChainScenarios extends Scenarios {
    static void add() {
        Oracle.Scenario s = sc("chain_windowed_count_to_stream_group_by",
            "Tumbling count (100, grace 30) -> toStream -> groupBy window start -> aggregate. As the second aggregation works on a stream it counts every UPDATE.",
            """
            (builder.stream("in", STR, STR).group_by_key()
             .windowed_by(TimeWindows.of_size_and_grace(100, 30)).count(Materialized.as_("counts"))
             .to_stream()
             .map(lambda wk, n: (str(wk.window.start), wk.key + str(n)))
             .group_by_key(Grouped.with_(STR, STR))
             .aggregate(lambda: "", lambda k, v, a: a + S(v), Materialized.as_("agg", STR, STR)).to_stream().to("out"))
            """).steps(60);
        s.in("in", "string").keys("A", "B", "C");
        s.out("out", "string", "string").store("counts", "timestamped_window").store("agg", "timestamped_kv");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(TimeWindows.ofSizeAndGrace(ms(100), ms(30))).count(win("counts", LNG)).toStream()
            .map((wk, n) -> KeyValue.pair(String.valueOf(wk.window().start()), wk.key() + n)).groupByKey(GS())
            .aggregate(() -> "", (k, v, a) -> a + v, kv("agg", STR)).toStream().to("out", PS()));

        s = sc("chain_windowed_table_group_by",
            "Tumbling count (100, grace 30) as KTable -> groupBy window start -> reduce(add, subtract): the total per window over all keys, with retractions.",
            """
            (builder.stream("in", STR, STR).group_by_key()
             .windowed_by(TimeWindows.of_size_and_grace(100, 30)).count(Materialized.as_("counts"))
             .group_by(lambda wk, n: (str(wk.window.start), n), Grouped.with_(STR, LONG))
             .reduce(lambda a, v: a + v, lambda a, v: a - v, Materialized.as_("total", STR, LONG)).to_stream().to("out"))
            """).steps(60);
        s.in("in", "string").keys("A", "B", "C");
        s.out("out", "string", "long").store("total", "timestamped_kv");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(TimeWindows.ofSizeAndGrace(ms(100), ms(30))).count(win("counts", LNG))
            .groupBy((wk, n) -> KeyValue.pair(String.valueOf(wk.window().start()), n), GL())
            .reduce(Long::sum, (a, v) -> a - v, kv("total", LNG)).toStream().to("out", PL()));

        s = sc("chain_repartitions_in_turn",
            "One record goes through several repartition topics at once, with the same timestamp: a re-keyed stream joined with itself, and grouped in two ways whose results are merged. Which topic's record is next decides the order.",
            """
            s = builder.stream("in", STR, STR).flat_map(lambda k, v: [(k, v), (v[0], v + "^")])      # nothing for a null value
            s.left_join(s, lambda a, b: S(a) + "+" + S(b), JoinWindows.of_time_difference_and_grace(20, 5), StreamJoined.with_(STR, STR, STR).with_name("j")).to("joined")
            x = s.group_by(lambda k, v: v[0], Grouped.with_(STR, STR)).count(Materialized.as_("x")).to_stream()
            y = s.group_by(lambda k, v: v[1], Grouped.with_(STR, STR)).count(Materialized.as_("y")).to_stream()
            x.merge(y).to("merged")
            """).headers();
        s.in("in", "string").keys("A", "B").nullVal(0.05);
        s.out("joined", "string", "string").out("merged", "string", "long").store("x", "timestamped_kv").store("y", "timestamped_kv");
        s.dsl(b -> {
            KStream<String, String> f = b.stream("in", CS()).flatMap((k, v) -> v == null ? List.of() : List.of(KeyValue.pair(k, v), KeyValue.pair(v.substring(0, 1), v + "^")));
            f.leftJoin(f, (x, y) -> S(x) + "+" + S(y), JoinWindows.ofTimeDifferenceAndGrace(ms(20), ms(5)), StreamJoined.with(STR, STR, STR).withName("j")).to("joined", PS());
            KStream<String, Long> x = f.groupBy((k, v) -> v.substring(0, 1), GS()).count(kv("x", LNG)).toStream();
            KStream<String, Long> y = f.groupBy((k, v) -> v.substring(1, 2), GS()).count(kv("y", LNG)).toStream();
            x.merge(y).to("merged", PL());
        });
    }
}
