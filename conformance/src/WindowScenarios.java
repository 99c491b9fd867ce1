import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;

import java.util.*;

/** Tumbling, hopping, sliding and session windows. */
final class WindowScenarios extends Scenarios {
    static void add() {
        Oracle.Scenario s = sc("tumbling_count_grace_0",
            "Tumbling window of 100 ms, grace 0. Late records are dropped (no output). Records with a null key are dropped, but records with a null VALUE are counted (unlike in the unwindowed count).",
            """
            (builder.stream("in", STR, STR).group_by_key()
             .windowed_by(TimeWindows.of_size_and_grace(100, 0))
             .count(Materialized.as_("counts")).to_stream().to("out"))
            """).steps(60).headers();
        s.in("in", "string").nullKey(0.05);
        s.out("out", "windowed_string", "long", 100).store("counts", "timestamped_window");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(TimeWindows.ofSizeAndGrace(ms(100), ms(0)))
            .count(win("counts", LNG)).toStream().to("out", PW(100, LNG)));

        s = sc("hopping_count",
            "Hopping window: size 100, advance 30 (no divisor of the size), grace 40. One input gives several outputs, by rising window start.",
            """
            (builder.stream("in", STR, STR).group_by_key()
             .windowed_by(TimeWindows.of_size_and_grace(100, 40).advance_by(30))
             .count(Materialized.as_("counts")).to_stream().to("out"))
            """);
        s.in("in", "string").keys("A", "B", "C");
        s.out("out", "windowed_string", "long", 100).store("counts", "timestamped_window");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(TimeWindows.ofSizeAndGrace(ms(100), ms(40)).advanceBy(ms(30)))
            .count(win("counts", LNG)).toStream().to("out", PW(100, LNG)));

        s = sc("sliding_aggregate_grace_0",
            "Sliding windows, time difference 50 (both ends inclusive, window end = start + 50), grace 0; aggregate by concatenation so that the order of updates shows. Sliding windows drop null keys AND null values (unlike the other windows).",
            """
            (builder.stream("in", STR, STR).group_by_key()
             .windowed_by(SlidingWindows.of_time_difference_and_grace(50, 0))
             .aggregate(lambda: "", lambda k, v, a: a + S(v), Materialized.as_("agg", STR, STR)).to_stream().to("out"))
            """).time(20, 50, 200, 250).steps(60);
        s.in("in", "string").keys("A", "B", "C").nullKey(0.04);
        s.out("out", "windowed_string", "string", 50).store("agg", "timestamped_window");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(ms(50), ms(0)))
            .aggregate(() -> "", (k, v, a) -> a + v, win("agg", STR)).toStream().to("out", PW(50, STR)));

        s = sc("session_count",
            "Session windows, gap 40, no grace. Null keys are dropped, null values are counted. A merge emits tombstones for the sessions merged away, then the new session.",
            """
            (builder.stream("in", STR, STR).group_by_key()
             .windowed_by(SessionWindows.of_inactivity_gap_with_no_grace(40))
             .count(Materialized.as_("counts")).to_stream().to("out"))
            """).steps(60);
        s.in("in", "string").keys("A", "B", "C").nullKey(0.04);
        s.out("out", "session_windowed_string", "long").store("counts", "session");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(SessionWindows.ofInactivityGapWithNoGrace(ms(40)))
            .count(ses("counts", LNG)).toStream().to("out", PSE(LNG)));

        s = sc("session_reduce",
            "Session windows, gap 30, grace 50, reduce by sum. Session aggregations do NOT drop null values: a null is the first value of a session, or the second argument of the reducer. Session merge calls the reducer too; a null side is replaced by the other.",
            """
            (builder.stream("in", STR, LONG).group_by_key(Grouped.with_(STR, LONG))
             .windowed_by(SessionWindows.of_inactivity_gap_and_grace(30, 50))
             .reduce(lambda a, b: a + (0 if b is None else b), Materialized.as_("red", STR, LONG)).to_stream().to("out"))
            """).time(25, 60, 200, 300);
        s.in("in", "long").keys("A", "B", "C");
        s.out("out", "session_windowed_string", "long").store("red", "session");
        s.dsl(b -> b.stream("in", CL()).groupByKey(GL()).windowedBy(SessionWindows.ofInactivityGapAndGrace(ms(30), ms(50)))
            .reduce((x, y) -> x + (y == null ? 0 : y), ses("red", LNG)).toStream().to("out", PSE(LNG)));

        s = sc("tumbling_reduce",
            "Tumbling window of 100 ms, grace 50, reduce by sum where a null counts as 0. A null value that comes first leaves no entry, and is forwarded.",
            """
            (builder.stream("in", STR, LONG).group_by_key(Grouped.with_(STR, LONG))
             .windowed_by(TimeWindows.of_size_and_grace(100, 50))
             .reduce(lambda a, b: a + (0 if b is None else b), Materialized.as_("red", STR, LONG)).to_stream().to("out"))
            """).headers();
        s.in("in", "long").keys("A", "B", "C").nullKey(0.04).nullVal(0.15);
        s.out("out", "windowed_string", "long", 100).store("red", "timestamped_window");
        s.dsl(b -> b.stream("in", CL()).groupByKey(GL()).windowedBy(TimeWindows.ofSizeAndGrace(ms(100), ms(50)))
            .reduce((x, y) -> x + (y == null ? 0 : y), win("red", LNG)).toStream().to("out", PW(100, LNG)));

        s = sc("session_aggregate",
            "Session windows, gap 40, grace 100, aggregate by concatenation with a merger, so that the order of merges shows. Results of sessions carry no headers.",
            """
            (builder.stream("in", STR, STR).group_by_key()
             .windowed_by(SessionWindows.of_inactivity_gap_and_grace(40, 100))
             .aggregate(lambda: "", lambda k, v, a: a + S(v), lambda k, a, b: "(" + a + "|" + b + ")", Materialized.as_("agg", STR, STR))
             .to_stream().to("out"))
            """).headers().steps(60);
        s.in("in", "string").keys("A", "B").nullKey(0.04);
        s.out("out", "session_windowed_string", "string").store("agg", "session");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(SessionWindows.ofInactivityGapAndGrace(ms(40), ms(100)))
            .aggregate(() -> "", (k, v, a) -> a + v, (k, x, y) -> "(" + x + "|" + y + ")", ses("agg", STR)).toStream().to("out", PSE(STR)));

        s = sc("window_boundaries",
            "Tumbling (5, grace 3), hopping (5, advance 2, grace 3) and session (gap 3, grace 4) counts over times so close together that records often fall exactly on a boundary.",
            """
            g = builder.stream("in", STR, STR).group_by_key()
            g.windowed_by(TimeWindows.of_size_and_grace(5, 3)).count(Materialized.as_("tumbling")).to_stream().to("tumbling-out")
            g.windowed_by(TimeWindows.of_size_and_grace(5, 3).advance_by(2)).count(Materialized.as_("hopping")).to_stream().to("hopping-out")
            g.windowed_by(SessionWindows.of_inactivity_gap_and_grace(3, 4)).count(Materialized.as_("session")).to_stream().to("session-out")
            """).steps(100).time(3, 6, 9, 12);
        s.in("in", "string").keys("A", "B", "C", "D", "E", "F");
        s.out("tumbling-out", "windowed_string", "long", 5).out("hopping-out", "windowed_string", "long", 5).out("session-out", "session_windowed_string", "long");
        s.store("tumbling", "timestamped_window").store("hopping", "timestamped_window").store("session", "session");
        s.dsl(b -> {
            KGroupedStream<String, String> g = b.stream("in", CS()).groupByKey();
            g.windowedBy(TimeWindows.ofSizeAndGrace(ms(5), ms(3))).count(win("tumbling", LNG)).toStream().to("tumbling-out", PW(5, LNG));
            g.windowedBy(TimeWindows.ofSizeAndGrace(ms(5), ms(3)).advanceBy(ms(2))).count(win("hopping", LNG)).toStream().to("hopping-out", PW(5, LNG));
            g.windowedBy(SessionWindows.ofInactivityGapAndGrace(ms(3), ms(4))).count(ses("session", LNG)).toStream().to("session-out", PSE(LNG));
        });

        s = sc("fraud_detector",
            "Transactions (<user>|<amount>) are enriched with the user's risk score from a global table, the large and risky ones are counted per user in sessions (gap 120, grace 60), and three or more raise an alert.",
            """
            risk = builder.global_table("risk-scores", STR, LONG, Materialized.as_("global-risk-store"))
            (builder.stream("transactions", STR, STR)
             .left_join(risk, lambda k, tx: tx.split("|")[0], lambda tx, score: tx + "|" + str(0 if score is None else score))
             .filter(lambda k, tx: int(tx.split("|")[1]) > 1000 and int(tx.split("|")[2]) > 70)
             .group_by(lambda k, tx: tx.split("|")[0], Grouped.with_(STR, STR))
             .windowed_by(SessionWindows.of_inactivity_gap_and_grace(120, 60))
             .count(Materialized.as_("session-count-store"))
             .to_stream()
             .filter(lambda w, n: n is not None and n >= 3)
             .map(lambda w, n: (w.key, w.key + ":" + str(n) + "@" + str(w.window.start)))
             .to("fraud-alerts"))
            """).headers().steps(120).time(15, 60, 250, 300);
        s.in("risk-scores", "long").keys("ann", "bob", "cid").nullVal(0.1).val((r, i) -> (long) (60 + r.nextInt(40)));
        s.in("transactions", "string").keys("t1", "t2", "t3").nullVal(0).weight(9)
            .val((r, i) -> List.of("ann", "bob", "cid", "dan").get(r.nextInt(4)) + "|" + (900 + 100 * r.nextInt(30)));
        s.out("fraud-alerts", "string", "string").store("global-risk-store", "timestamped_kv").store("session-count-store", "session");
        s.dsl(b -> {
            GlobalKTable<String, Long> risk = b.globalTable("risk-scores", CL(), kv("global-risk-store", LNG));
            b.stream("transactions", CS())
                .leftJoin(risk, (k, tx) -> tx.split("\\|")[0], (tx, score) -> tx + "|" + (score == null ? 0 : score))
                .filter((k, tx) -> Long.parseLong(tx.split("\\|")[1]) > 1000 && Long.parseLong(tx.split("\\|")[2]) > 70)
                .groupBy((k, tx) -> tx.split("\\|")[0], GS())
                .windowedBy(SessionWindows.ofInactivityGapAndGrace(ms(120), ms(60)))
                .count(ses("session-count-store", LNG)).toStream()
                .filter((w, n) -> n != null && n >= 3)
                .map((w, n) -> KeyValue.pair(w.key(), w.key() + ":" + n + "@" + w.window().start()))
                .to("fraud-alerts", PS());
        });
        sliding();
    }

    static void sliding() {
        Oracle.Scenario s = sc("sliding_count_early",
            "Sliding windows, time difference 300, grace 100, with many records earlier than 300: these share the window [0, 300].",
            """
            (builder.stream("in", STR, STR).group_by_key().windowed_by(SlidingWindows.of_time_difference_and_grace(300, 100))
             .count(Materialized.as_("counts")).to_stream().to("out"))
            """).time(15, 80, 200, 60).steps(60).headers();
        s.in("in", "string").keys("A", "B").nullKey(0.04);
        s.out("out", "windowed_string", "long", 300).store("counts", "timestamped_window");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(ms(300), ms(100)))
            .count(win("counts", LNG)).toStream().to("out", PW(300, LNG)));

        s = sc("sliding_reduce_rekeyed",
            "Sliding windows, time difference 20, grace 60, behind a repartition; reduce by concatenation.",
            """
            (builder.stream("in", STR, STR).group_by(lambda k, v: letter(v), Grouped.with_(STR, STR))
             .windowed_by(SlidingWindows.of_time_difference_and_grace(20, 60))
             .reduce(lambda a, b: a + b, Materialized.as_("red", STR, STR)).to_stream().to("out"))
            # letter as in stream_stream_left_rekeyed
            """).time(6, 30, 100, 90).steps(60);
        s.in("in", "string").uniq("v").keys("X", "Y");
        s.out("out", "windowed_string", "string", 20).store("red", "timestamped_window");
        s.dsl(b -> b.stream("in", CS()).groupBy((k, v) -> letter(v), GS())
            .windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(ms(20), ms(60)))
            .reduce((x, y) -> x + y, win("red", STR)).toStream().to("out", PW(20, STR)));
    }
}
