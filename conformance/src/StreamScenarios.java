import java.util.List;
import org.apache.kafka.streams.kstream.*;

/** More of stream-stream joins, sliding windows, cogroups and final results; called by Scenarios. */
final class StreamScenarios {
    static String letter(String v) {
        if (v == null) return "A";
        int n = Integer.parseInt(v.substring(1));
        return n % 7 == 0 ? null : "ABC".substring(n % 3, n % 3 + 1);
    }

    static void add() {
        joins();
        windows();
        cogroups();
        finals();
    }

    static void joins() {
        Scenarios.ss("stream_stream_outer_asymmetric", "outer_join", "Stream-stream outer join: right may be 20 before to 80 after left, grace 30.",
            "JoinWindows.of_time_difference_and_grace(50, 30).before(20).after(80)",
            JoinWindows.ofTimeDifferenceAndGrace(Scenarios.ms(50), Scenarios.ms(30)).before(Scenarios.ms(20)).after(Scenarios.ms(80)), true, 0.04);
        Scenarios.ss("stream_stream_outer_negative_before", "outer_join", "Stream-stream outer join: right must be 10 to 90 after left, grace 15.",
            "JoinWindows.of_time_difference_and_grace(90, 15).before(-10)",
            JoinWindows.ofTimeDifferenceAndGrace(Scenarios.ms(90), Scenarios.ms(15)).before(Scenarios.ms(-10)), false, 0.03);
        Scenarios.ss("stream_stream_left_asymmetric", "left_join", "Stream-stream left join: right may be 80 before to 10 after left, no grace.",
            "JoinWindows.of_time_difference_with_no_grace(80).after(10)",
            JoinWindows.ofTimeDifferenceWithNoGrace(Scenarios.ms(80)).after(Scenarios.ms(10)), false, 0.03);

        Oracle.Scenario s = Scenarios.sc("stream_stream_left_rekeyed",
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
        s.dsl(b -> b.stream("left", Scenarios.CS()).selectKey((k, v) -> letter(v))
            .leftJoin(b.stream("right", Scenarios.CS()).selectKey((k, v) -> letter(v)), (k, x, y) -> k + ":" + x + "+" + y,
                JoinWindows.ofTimeDifferenceAndGrace(Scenarios.ms(40), Scenarios.ms(20)),
                StreamJoined.with(Scenarios.STR, Scenarios.STR, Scenarios.STR).withName("j")).to("out", Scenarios.PS()));

        s = Scenarios.sc("stream_stream_join_chain",
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
            JoinWindows w = JoinWindows.ofTimeDifferenceAndGrace(Scenarios.ms(30), Scenarios.ms(10));
            StreamJoined<String, String, String> sj = StreamJoined.with(Scenarios.STR, Scenarios.STR, Scenarios.STR);
            KStream<String, String> x = b.stream("x", Scenarios.CS()), y = b.stream("y", Scenarios.CS()), z = b.stream("z", Scenarios.CS());
            KStream<String, String> first = x.outerJoin(y, (p, q) -> p + "+" + q, w, sj);
            first.to("first", Scenarios.PS());
            KStream<String, String> second = first.join(z, (p, q) -> p + "*" + q, w, sj);
            second.to("second", Scenarios.PS());
            second.groupByKey(Scenarios.GS()).windowedBy(TimeWindows.ofSizeAndGrace(Scenarios.ms(100), Scenarios.ms(50)))
                .count(Scenarios.win("counts", Scenarios.LNG)).toStream().to("out", Scenarios.PW(100, Scenarios.LNG));
        });
    }

    static void windows() {
        Oracle.Scenario s = Scenarios.sc("sliding_count_early",
            "Sliding windows, time difference 300, grace 100, with many records earlier than 300: these share the window [0, 300].",
            """
            (builder.stream("in", STR, STR).group_by_key().windowed_by(SlidingWindows.of_time_difference_and_grace(300, 100))
             .count(Materialized.as_("counts")).to_stream().to("out"))
            """).time(15, 80, 200, 60).steps(60).headers();
        s.in("in", "string").keys("A", "B").nullKey(0.04);
        s.out("out", "windowed_string", "long", 300).store("counts", "timestamped_window");
        s.dsl(b -> b.stream("in", Scenarios.CS()).groupByKey().windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(Scenarios.ms(300), Scenarios.ms(100)))
            .count(Scenarios.win("counts", Scenarios.LNG)).toStream().to("out", Scenarios.PW(300, Scenarios.LNG)));

        s = Scenarios.sc("sliding_reduce_rekeyed",
            "Sliding windows, time difference 20, grace 60, behind a repartition; reduce by concatenation.",
            """
            (builder.stream("in", STR, STR).group_by(lambda k, v: letter(v), Grouped.with_(STR, STR))
             .windowed_by(SlidingWindows.of_time_difference_and_grace(20, 60))
             .reduce(lambda a, b: a + b, Materialized.as_("red", STR, STR)).to_stream().to("out"))
            # letter as in stream_stream_left_rekeyed
            """).time(6, 30, 100, 90).steps(60);
        s.in("in", "string").uniq("v").keys("X", "Y");
        s.out("out", "windowed_string", "string", 20).store("red", "timestamped_window");
        s.dsl(b -> b.stream("in", Scenarios.CS()).groupBy((k, v) -> letter(v), Scenarios.GS())
            .windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(Scenarios.ms(20), Scenarios.ms(60)))
            .reduce((x, y) -> x + y, Scenarios.win("red", Scenarios.STR)).toStream().to("out", Scenarios.PW(20, Scenarios.STR)));
    }

    static final String AB = """
            a = builder.stream("a", STR, STR).group_by_key(Grouped.with_(STR, STR))
            b = builder.stream("b", STR, LONG).group_by_key(Grouped.with_(STR, LONG))
            c = a.cogroup(lambda k, v, g: g + S(v)).cogroup(b, lambda k, v, g: g + "<" + S(v) + ">")
            """;

    static CogroupedKStream<String, String> ab(org.apache.kafka.streams.StreamsBuilder b) {
        return b.stream("a", Scenarios.CS()).groupByKey(Scenarios.GS()).<String>cogroup((k, v, g) -> g + v)
            .cogroup(b.stream("b", Scenarios.CL()).groupByKey(Scenarios.GL()), (k, v, g) -> g + "<" + v + ">");
    }

    static void inputs(Oracle.Scenario s) {
        s.in("a", "string").keys("A", "B", "C").nullKey(0.04);
        s.in("b", "long").keys("A", "B", "C").nullKey(0.04);
    }

    static void cogroups() {
        Oracle.Scenario s = Scenarios.sc("cogroup_session", "cogroup in sessions, gap 30, grace 40.", AB + """
            (c.windowed_by(SessionWindows.of_inactivity_gap_and_grace(30, 40))
              .aggregate(lambda: "", lambda k, x, y: x + "|" + y, Materialized.as_("agg", STR, STR)).to_stream().to("out"))
            """).steps(60);
        inputs(s);
        s.out("out", "session_windowed_string", "string").store("agg", "session");
        s.dsl(b -> ab(b).windowedBy(SessionWindows.ofInactivityGapAndGrace(Scenarios.ms(30), Scenarios.ms(40)))
            .aggregate(() -> "", (k, x, y) -> x + "|" + y, Scenarios.ses("agg", Scenarios.STR)).toStream().to("out", Scenarios.PSE(Scenarios.STR)));

        s = Scenarios.sc("cogroup_sliding", "cogroup in sliding windows, time difference 40, grace 30.", AB + """
            (c.windowed_by(SlidingWindows.of_time_difference_and_grace(40, 30))
              .aggregate(lambda: "", Materialized.as_("agg", STR, STR)).to_stream().to("out"))
            """).steps(60);
        inputs(s);
        s.out("out", "windowed_string", "string", 40).store("agg", "timestamped_window");
        s.dsl(b -> ab(b).windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(Scenarios.ms(40), Scenarios.ms(30)))
            .aggregate(() -> "", Scenarios.win("agg", Scenarios.STR)).toStream().to("out", Scenarios.PW(40, Scenarios.STR)));

        s = Scenarios.sc("cogroup_rekeyed", "cogroup of a re-keyed stream and a plain one, twice from the same cogroup: hopping windows and no windows.", """
            a = builder.stream("a", STR, STR).group_by(lambda k, v: letter(v), Grouped.with_(STR, STR))   # letter as in stream_stream_left_rekeyed
            b = builder.stream("b", STR, STR).group_by_key(Grouped.with_(STR, STR))
            c = a.cogroup(lambda k, v, g: tail(g + S(v))).cogroup(b, lambda k, v, g: tail(g + "<" + S(v) + ">"))   # tail(s) = the last 24 characters of s
            c.aggregate(lambda: "", Materialized.as_("agg", STR, STR)).to_stream().to("out")
            (c.windowed_by(TimeWindows.of_size_and_grace(60, 20).advance_by(30))
              .aggregate(lambda: "", Materialized.as_("hops", STR, STR)).to_stream().to("hopping"))
            """).steps(60).headers();
        s.in("a", "string").uniq("a").keys("X", "Y");
        s.in("b", "string").uniq("b").keys("A", "B", "C");
        s.out("out", "string", "string").out("hopping", "windowed_string", "string", 60).store("agg", "timestamped_kv").store("hops", "timestamped_window");
        s.dsl(b -> {
            CogroupedKStream<String, String> c = b.stream("a", Scenarios.CS()).groupBy((k, v) -> letter(v), Scenarios.GS())
                .<String>cogroup((k, v, g) -> Scenarios.tail(g + v))
                .cogroup(b.stream("b", Scenarios.CS()).groupByKey(Scenarios.GS()), (k, v, g) -> Scenarios.tail(g + "<" + v + ">"));
            c.aggregate(() -> "", Scenarios.kv("agg", Scenarios.STR)).toStream().to("out", Scenarios.PS());
            c.windowedBy(TimeWindows.ofSizeAndGrace(Scenarios.ms(60), Scenarios.ms(20)).advanceBy(Scenarios.ms(30)))
                .aggregate(() -> "", Scenarios.win("hops", Scenarios.STR)).toStream().to("hopping", Scenarios.PW(60, Scenarios.STR));
        });
    }

    static void finals() {
        Oracle.Scenario s = Scenarios.sc("emit_final_session",
            "Sessions, gap 30, grace 20, emit on window close: stream time > end + gap + grace. Long retention.",
            """
            (builder.stream("in", STR, STR).group_by_key()
             .windowed_by(SessionWindows.of_inactivity_gap_and_grace(30, 20)).emit_strategy(EmitStrategy.on_window_close())
             .aggregate(lambda: "", lambda k, v, a: a + S(v), lambda k, x, y: x + "|" + y, Materialized.as_("agg", STR, STR).with_retention(100000))
             .to_stream().to("out"))
            """).time(15, 40, 200, 150).steps(70).headers();
        s.in("in", "string").keys("A", "B", "C").nullKey(0.04);
        s.out("out", "session_windowed_string", "string").store("agg", "session");
        s.dsl(b -> b.stream("in", Scenarios.CS()).groupByKey().windowedBy(SessionWindows.ofInactivityGapAndGrace(Scenarios.ms(30), Scenarios.ms(20)))
            .emitStrategy(EmitStrategy.onWindowClose())
            .aggregate(() -> "", (k, v, a) -> a + v, (k, x, y) -> x + "|" + y, Scenarios.ses("agg", Scenarios.STR).withRetention(Scenarios.ms(100000)))
            .toStream().to("out", Scenarios.PSE(Scenarios.STR)));

        s = Scenarios.sc("emit_final_default_retention",
            "Emit on window close with the default retention, where a jump of time loses final results: tumbling 50 and sliding 20, grace 10.",
            """
            g = builder.stream("in", STR, STR).group_by_key()
            (g.windowed_by(TimeWindows.of_size_and_grace(50, 10)).emit_strategy(EmitStrategy.on_window_close())
              .count(Materialized.as_("tumbling")).to_stream().to("tumbling-out"))
            (g.windowed_by(SlidingWindows.of_time_difference_and_grace(20, 10)).emit_strategy(EmitStrategy.on_window_close())
              .count(Materialized.as_("sliding")).to_stream().to("sliding-out"))
            """).time(12, 30, 150, 400).steps(60);
        s.in("in", "string").keys("A", "B", "C");
        s.out("tumbling-out", "windowed_string", "long", 50).out("sliding-out", "windowed_string", "long", 20)
            .store("tumbling", "timestamped_window").store("sliding", "timestamped_window");
        s.dsl(b -> {
            KGroupedStream<String, String> g = b.stream("in", Scenarios.CS()).groupByKey();
            g.windowedBy(TimeWindows.ofSizeAndGrace(Scenarios.ms(50), Scenarios.ms(10))).emitStrategy(EmitStrategy.onWindowClose())
                .count(Scenarios.win("tumbling", Scenarios.LNG)).toStream().to("tumbling-out", Scenarios.PW(50, Scenarios.LNG));
            g.windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(Scenarios.ms(20), Scenarios.ms(10))).emitStrategy(EmitStrategy.onWindowClose())
                .count(Scenarios.win("sliding", Scenarios.LNG)).toStream().to("sliding-out", Scenarios.PW(20, Scenarios.LNG));
        });
    }
}
