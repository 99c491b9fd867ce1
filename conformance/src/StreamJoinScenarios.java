import org.apache.kafka.streams.kstream.*;

import java.util.*;
import java.util.stream.*;

/** Stream-stream joins. */
final class StreamJoinScenarios extends Scenarios {
    static void ss(String name, String kind, String prose, String windows, JoinWindows w, boolean headers, double nk) {
        Oracle.Scenario s = sc(name, prose + " Left values are L<step>, right values are R<step>; null keys and null values occur on both sides. Null values are always dropped; a null key is dropped, except on the side(s) that the join keeps unmatched (left; both for outer), where it is emitted at once as unmatched.",
            """
            l = builder.stream("left", STR, STR)
            r = builder.stream("right", STR, STR)
            l.%s(r, lambda a, b: S(a) + "+" + S(b), %s, StreamJoined.with_(STR, STR, STR)).to("out")
            """.formatted(kind, windows)).steps(60).time(20, 60, 250, 300);
        if (headers) s.headers();
        s.in("left", "string").uniq("L").keys("A", "B", "C").nullKey(nk);
        s.in("right", "string").uniq("R").keys("A", "B", "C").nullKey(nk);
        s.out("out", "string", "string");
        s.dsl(b -> {
            KStream<String, String> l = b.stream("left", CS()), r = b.stream("right", CS());
            ValueJoiner<String, String, String> j = (x, y) -> S(x) + "+" + S(y);
            StreamJoined<String, String, String> sj = StreamJoined.with(STR, STR, STR);
            (switch (kind) {
                case "join" -> l.join(r, j, w, sj);
                case "left_join" -> l.leftJoin(r, j, w, sj);
                default -> l.outerJoin(r, j, w, sj);
            }).to("out", PS());
        });
    }

    static void add() {
        for (String k : List.of("join", "left_join", "outer_join")) {
            String n = k.equals("join") ? "inner" : k.equals("left_join") ? "left" : "outer";
            ss("stream_stream_" + n + "_symmetric", k, "Stream-stream " + n + " join, window +-50, no grace.",
                "JoinWindows.of_time_difference_with_no_grace(50)", JoinWindows.ofTimeDifferenceWithNoGrace(ms(50)), true, 0.06);
        }
        ss("stream_stream_inner_grace", "join", "Stream-stream inner join, window +-50, grace 40.",
            "JoinWindows.of_time_difference_and_grace(50, 40)", JoinWindows.ofTimeDifferenceAndGrace(ms(50), ms(40)), false, 0.03);
        ss("stream_stream_left_grace", "left_join", "Stream-stream left join, window +-50, grace 40.",
            "JoinWindows.of_time_difference_and_grace(50, 40)", JoinWindows.ofTimeDifferenceAndGrace(ms(50), ms(40)), false, 0.03);
        ss("stream_stream_inner_asymmetric", "join", "Stream-stream inner join: right may be 20 before to 80 after left, grace 30.",
            "JoinWindows.of_time_difference_and_grace(50, 30).before(20).after(80)", JoinWindows.ofTimeDifferenceAndGrace(ms(50), ms(30)).before(ms(20)).after(ms(80)), false, 0.03);

        Oracle.Scenario s = sc("stream_stream_self_join_optimization_none",
            "A stream joined with itself, window +-30, grace 20, topology.optimization=none (two stores, two join processors).",
            """
            s = builder.stream("in", STR, STR)
            s.join(s, lambda a, b: a + "+" + b, JoinWindows.of_time_difference_and_grace(30, 20), StreamJoined.with_(STR, STR, STR)).to("out")
            """).time(20, 40, 200, 300);
        s.in("in", "string").uniq("V").keys("A", "B", "C").nullKey(0.05);
        s.out("out", "string", "string");
        s.dsl(b -> {
            KStream<String, String> in = b.stream("in", CS());
            in.join(in, (x, y) -> x + "+" + y, JoinWindows.ofTimeDifferenceAndGrace(ms(30), ms(20)), StreamJoined.with(STR, STR, STR)).to("out", PS());
        });
        more();
    }

    static void more() {
        ss("stream_stream_outer_asymmetric", "outer_join", "Stream-stream outer join: right may be 20 before to 80 after left, grace 30.",
            "JoinWindows.of_time_difference_and_grace(50, 30).before(20).after(80)",
            JoinWindows.ofTimeDifferenceAndGrace(ms(50), ms(30)).before(ms(20)).after(ms(80)), true, 0.04);
        ss("stream_stream_outer_negative_before", "outer_join", "Stream-stream outer join: right must be 10 to 90 after left, grace 15.",
            "JoinWindows.of_time_difference_and_grace(90, 15).before(-10)",
            JoinWindows.ofTimeDifferenceAndGrace(ms(90), ms(15)).before(ms(-10)), false, 0.03);
        ss("stream_stream_left_asymmetric", "left_join", "Stream-stream left join: right may be 80 before to 10 after left, no grace.",
            "JoinWindows.of_time_difference_with_no_grace(80).after(10)",
            JoinWindows.ofTimeDifferenceWithNoGrace(ms(80)).after(ms(10)), false, 0.03);

        Oracle.Scenario s = sc("stream_stream_left_rekeyed",
            "Both sides re-keyed before a left join with a name, window +-40, grace 20: two repartition topics. The left one keeps null keys.",
            """
            # letter(v) = "A" if v is None, None if n % 7 == 0, else "ABC"[n % 3], where n = int(v[1:])
            l = builder.stream("left", STR, STR).select_key(lambda k, v: letter(v))
            r = builder.stream("right", STR, STR).select_key(lambda k, v: letter(v))
            (l.left_join(r, lambda k, a, b: S(k) + ":" + S(a) + "+" + S(b), JoinWindows.of_time_difference_and_grace(40, 20),
                         StreamJoined.with_(STR, STR, STR).with_name("j")).to("out"))
            """).steps(60).time(20, 60, 250, 300).headers();
        s.in("left", "string").uniq("L").keys("X", "Y");
        s.in("right", "string").uniq("R").keys("X", "Y");
        s.out("out", "string", "string");
        s.dsl(b -> b.stream("left", CS()).selectKey((k, v) -> letter(v))
            .leftJoin(b.stream("right", CS()).selectKey((k, v) -> letter(v)), (k, x, y) -> k + ":" + x + "+" + y,
                JoinWindows.ofTimeDifferenceAndGrace(ms(40), ms(20)),
                StreamJoined.with(STR, STR, STR).withName("j")).to("out", PS()));

        s = sc("stream_stream_join_chain",
            "An outer join of two streams, an inner join of its result with a third, and a tumbling count of that.",
            """
            x, y, z = (builder.stream(t, STR, STR) for t in ("x", "y", "z"))
            w = JoinWindows.of_time_difference_and_grace(30, 10); joined = StreamJoined.with_(STR, STR, STR)
            first = x.outer_join(y, lambda a, b: S(a) + "+" + S(b), w, joined)
            first.to("first")
            second = first.join(z, lambda a, b: a + "*" + b, w, joined)
            second.to("second")
            (second.group_by_key(Grouped.with_(STR, STR)).windowed_by(TimeWindows.of_size_and_grace(100, 50))
              .count(Materialized.as_("counts")).to_stream().to("out"))
            """).steps(80).time(15, 40, 200, 250);
        for (String t : List.of("x", "y", "z")) s.in(t, "string").uniq(t.toUpperCase()).keys("A", "B");
        s.out("first", "string", "string").out("second", "string", "string").out("out", "windowed_string", "long", 100)
            .store("counts", "timestamped_window");
        s.dsl(b -> {
            JoinWindows w = JoinWindows.ofTimeDifferenceAndGrace(ms(30), ms(10));
            StreamJoined<String, String, String> sj = StreamJoined.with(STR, STR, STR);
            KStream<String, String> x = b.stream("x", CS()), y = b.stream("y", CS()), z = b.stream("z", CS());
            KStream<String, String> first = x.outerJoin(y, (p, q) -> p + "+" + q, w, sj);
            first.to("first", PS());
            KStream<String, String> second = first.join(z, (p, q) -> p + "*" + q, w, sj);
            second.to("second", PS());
            second.groupByKey(GS()).windowedBy(TimeWindows.ofSizeAndGrace(ms(100), ms(50)))
                .count(win("counts", LNG)).toStream().to("out", PW(100, LNG));
        });
    }
}
