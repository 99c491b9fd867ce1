import org.apache.kafka.streams.kstream.*;

/** Results when a window closes, and suppress. */
final class FinalScenarios extends Scenarios {
    static void add() {
        Oracle.Scenario s = sc("emit_final_tumbling",
            "Tumbling 100, grace 20, emit strategy on window close: only final results, emitted when stream time of the processor reaches window end + grace.",
            """
            (builder.stream("in", STR, STR).group_by_key()
             .windowed_by(TimeWindows.of_size_and_grace(100, 20)).emit_strategy(EmitStrategy.on_window_close())
             .count(Materialized.as_("counts").with_retention(100000)).to_stream().to("out"))
            """).time(30, 60, 300, 400).steps(70).headers();
        s.in("in", "string").nullKey(0.04);
        s.out("out", "windowed_string", "long", 100).store("counts", "timestamped_window");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(TimeWindows.ofSizeAndGrace(ms(100), ms(20))).emitStrategy(EmitStrategy.onWindowClose())
            .count(win("counts", LNG).withRetention(ms(100000))).toStream().to("out", PW(100, LNG)));

        s = sc("emit_final_hopping",
            "Hopping size 100 advance 40, grace 30, emit on window close, aggregate by concatenation.",
            """
            (builder.stream("in", STR, STR).group_by_key()
             .windowed_by(TimeWindows.of_size_and_grace(100, 30).advance_by(40)).emit_strategy(EmitStrategy.on_window_close())
             .aggregate(lambda: "", lambda k, v, a: a + S(v), Materialized.as_("agg", STR, STR).with_retention(100000)).to_stream().to("out"))
            """).time(30, 60, 300, 400).steps(60);
        s.in("in", "string").keys("A", "B", "C", "D");
        s.out("out", "windowed_string", "string", 100).store("agg", "timestamped_window");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(TimeWindows.ofSizeAndGrace(ms(100), ms(30)).advanceBy(ms(40))).emitStrategy(EmitStrategy.onWindowClose())
            .aggregate(() -> "", (k, v, a) -> a + v, win("agg", STR).withRetention(ms(100000))).toStream().to("out", PW(100, STR)));

        s = sc("emit_final_sliding",
            "Sliding windows, time difference 50, grace 30, emit on window close (stream time > end + grace, as the end is inclusive), aggregate by concatenation.",
            """
            (builder.stream("in", STR, STR).group_by_key()
             .windowed_by(SlidingWindows.of_time_difference_and_grace(50, 30)).emit_strategy(EmitStrategy.on_window_close())
             .aggregate(lambda: "", lambda k, v, a: a + S(v), Materialized.as_("agg", STR, STR).with_retention(100000)).to_stream().to("out"))
            """).time(20, 50, 200, 250).steps(60);
        s.in("in", "string").keys("A", "B", "C");
        s.out("out", "windowed_string", "string", 50).store("agg", "timestamped_window");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(ms(50), ms(30))).emitStrategy(EmitStrategy.onWindowClose())
            .aggregate(() -> "", (k, v, a) -> a + v, win("agg", STR).withRetention(ms(100000))).toStream().to("out", PW(50, STR)));

        s = sc("suppress_window_close_tumbling",
            "Tumbling 100, grace 30, count, suppress until window closes (unbounded buffer). Headers and timestamp of the output are those of the buffered record, not of the one that triggers the emission.",
            """
            (builder.stream("in", STR, STR).group_by_key()
             .windowed_by(TimeWindows.of_size_and_grace(100, 30)).count(Materialized.as_("counts"))
             .suppress(Suppressed.until_window_closes(BufferConfig.unbounded()))
             .to_stream().to("out"))
            """).time(30, 60, 300, 400).steps(70).headers();
        s.in("in", "string");
        s.out("out", "windowed_string", "long", 100).store("counts", "timestamped_window");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(TimeWindows.ofSizeAndGrace(ms(100), ms(30))).count(win("counts", LNG))
            .suppress(Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded())).toStream().to("out", PW(100, LNG)));

        s = sc("suppress_time_limit_unbounded",
            "Count, suppress until time limit 60 with an unbounded buffer. Time is the stream time seen by the suppress processor.",
            """
            (builder.stream("in", STR, STR).group_by_key().count(Materialized.as_("counts"))
             .suppress(Suppressed.until_time_limit(60, BufferConfig.unbounded()))
             .to_stream().to("out"))
            """).steps(70).headers();
        s.in("in", "string").keys("A", "B", "C", "D", "E", "F");
        s.out("out", "string", "long").store("counts", "timestamped_kv");
        s.dsl(b -> b.stream("in", CS()).groupByKey().count(kv("counts", LNG))
            .suppress(Suppressed.untilTimeLimit(ms(60), Suppressed.BufferConfig.unbounded())).toStream().to("out", PL()));

        s = sc("suppress_time_limit_max_records",
            "Count, suppress until time limit 100 with at most 3 buffered records, emit early when full (the entries with the smallest time leave first).",
            """
            (builder.stream("in", STR, STR).group_by_key().count(Materialized.as_("counts"))
             .suppress(Suppressed.until_time_limit(100, BufferConfig.max_records(3).emit_early_when_full()))
             .to_stream().to("out"))
            """).steps(70);
        s.in("in", "string").keys("A", "B", "C", "D", "E", "F");
        s.out("out", "string", "long").store("counts", "timestamped_kv");
        s.dsl(b -> b.stream("in", CS()).groupByKey().count(kv("counts", LNG))
            .suppress(Suppressed.untilTimeLimit(ms(100), Suppressed.BufferConfig.maxRecords(3).emitEarlyWhenFull())).toStream().to("out", PL()));
        sessions();
    }

    static void sessions() {
        Oracle.Scenario s = sc("emit_final_session",
            "Sessions, gap 30, grace 20, emit on window close: stream time > end + gap + grace. Long retention.",
            """
            (builder.stream("in", STR, STR).group_by_key()
             .windowed_by(SessionWindows.of_inactivity_gap_and_grace(30, 20)).emit_strategy(EmitStrategy.on_window_close())
             .aggregate(lambda: "", lambda k, v, a: a + S(v), lambda k, x, y: x + "|" + y, Materialized.as_("agg", STR, STR).with_retention(100000))
             .to_stream().to("out"))
            """).time(15, 40, 200, 150).steps(70).headers();
        s.in("in", "string").keys("A", "B", "C").nullKey(0.04);
        s.out("out", "session_windowed_string", "string").store("agg", "session");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(SessionWindows.ofInactivityGapAndGrace(ms(30), ms(20)))
            .emitStrategy(EmitStrategy.onWindowClose())
            .aggregate(() -> "", (k, v, a) -> a + v, (k, x, y) -> x + "|" + y, ses("agg", STR).withRetention(ms(100000)))
            .toStream().to("out", PSE(STR)));

        s = sc("emit_final_default_retention",
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
            KGroupedStream<String, String> g = b.stream("in", CS()).groupByKey();
            g.windowedBy(TimeWindows.ofSizeAndGrace(ms(50), ms(10))).emitStrategy(EmitStrategy.onWindowClose())
                .count(win("tumbling", LNG)).toStream().to("tumbling-out", PW(50, LNG));
            g.windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(ms(20), ms(10))).emitStrategy(EmitStrategy.onWindowClose())
                .count(win("sliding", LNG)).toStream().to("sliding-out", PW(20, LNG));
        });

        s = sc("emit_final_no_grace",
            "Emit on window close without grace and with the default retention: tumbling 20, hopping 30 by 10, sliding 15, sessions with a gap of 10. A window must outlive the first record after it.",
            """
            g = builder.stream("in", STR, STR).group_by_key()
            for each of TimeWindows.of_size_with_no_grace(20), TimeWindows.of_size_with_no_grace(30).advance_by(10),
                        SlidingWindows.of_time_difference_with_no_grace(15), SessionWindows.of_inactivity_gap_with_no_grace(10):
                g.windowed_by(it).emit_strategy(EmitStrategy.on_window_close()).count(Materialized.as_(...)).to_stream().to(...)
            # stores and topics: tumbling, hopping, sliding, session; the topics with -out
            """).time(8, 15, 60, 45).steps(60).headers();
        s.in("in", "string").keys("A", "B", "C");
        s.out("tumbling-out", "windowed_string", "long", 20).out("hopping-out", "windowed_string", "long", 30)
            .out("sliding-out", "windowed_string", "long", 15).out("session-out", "session_windowed_string", "long")
            .store("tumbling", "timestamped_window").store("hopping", "timestamped_window").store("sliding", "timestamped_window").store("session", "session");
        s.dsl(b -> {
            KGroupedStream<String, String> g = b.stream("in", CS()).groupByKey();
            g.windowedBy(TimeWindows.ofSizeWithNoGrace(ms(20))).emitStrategy(EmitStrategy.onWindowClose()).count(win("tumbling", LNG)).toStream().to("tumbling-out", PW(20, LNG));
            g.windowedBy(TimeWindows.ofSizeWithNoGrace(ms(30)).advanceBy(ms(10))).emitStrategy(EmitStrategy.onWindowClose()).count(win("hopping", LNG)).toStream().to("hopping-out", PW(30, LNG));
            g.windowedBy(SlidingWindows.ofTimeDifferenceWithNoGrace(ms(15))).emitStrategy(EmitStrategy.onWindowClose()).count(win("sliding", LNG)).toStream().to("sliding-out", PW(15, LNG));
            g.windowedBy(SessionWindows.ofInactivityGapWithNoGrace(ms(10))).emitStrategy(EmitStrategy.onWindowClose()).count(ses("session", LNG)).toStream().to("session-out", PSE(LNG));
        });
    }
}
