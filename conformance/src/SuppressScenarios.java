import java.util.Map;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.kstream.Suppressed.BufferConfig;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Record;

/** More scenarios of suppressed tables: every window, limits by records and bytes, what comes before and behind. */
class SuppressScenarios extends Scenarios {
    static final ValueJoiner<Object, Object, String> PLUS = (x, y) -> S(x) + "+" + S(y);

    static void add() {
        windows();
        limits();
        behind();
    }

    static void windows() {
        Oracle.Scenario s = sc("suppress_window_close_session",
            "Sessions with gap 40 and grace 20, suppress until window closes: at end + gap + grace. Tombstones of merged sessions are dropped.",
            """
            (builder.stream("in", STR, STR).group_by_key().windowed_by(SessionWindows.of_inactivity_gap_and_grace(40, 20))
             .count(Materialized.as_("counts")).suppress(Suppressed.until_window_closes(BufferConfig.unbounded())).to_stream().to("out"))
            """).headers();
        s.in("in", "string").keys("A", "B", "C");
        s.out("out", "session_windowed_string", "long").store("counts", "session");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(SessionWindows.ofInactivityGapAndGrace(ms(40), ms(20))).count(ses("counts", LNG))
            .suppress(Suppressed.untilWindowCloses(BufferConfig.unbounded())).toStream().to("out", PSE(LNG)));

        s = sc("suppress_window_close_sliding",
            "Sliding windows, difference 30, grace 20: mapped, suppressed until the window closes (at end + grace), filtered.",
            """
            (builder.stream("in", STR, STR).group_by_key().windowed_by(SlidingWindows.of_time_difference_and_grace(30, 20))
             .reduce(lambda a, b: a + b, Materialized.as_("red", STR, STR)).map_values(lambda v: None if len(v) == 4 else v + "!")
             .suppress(Suppressed.until_window_closes(BufferConfig.unbounded())).filter(lambda w, v: "a" in v).to_stream().to("out"))
            """).time(15, 40, 120, 200);
        s.in("in", "string").keys("A", "B", "C");
        s.out("out", "windowed_string", "string", 30).store("red", "timestamped_window");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(ms(30), ms(20)))
            .reduce((x, y) -> x + y, win("red", STR)).mapValues(v -> v.length() == 4 ? null : v + "!", Materialized.with(null, STR))
            .suppress(Suppressed.untilWindowCloses(BufferConfig.unbounded())).filter((w, v) -> v.contains("a")).toStream().to("out", PW(30, STR)));

        s = sc("suppress_window_close_group_by",
            "Hopping windows (size 60, advance 20, grace 30): a filter in front of the suppress until window closes, and behind it a grouping by window start. A strict buffer that never gets full.",
            """
            final = (builder.stream("in", STR, LONG).group_by_key().windowed_by(TimeWindows.of_size_and_grace(60, 30).advance_by(20))
                     .reduce(lambda a, b: a + (b or 0), Materialized.as_("red", STR, LONG)).filter(lambda w, v: v % 3 != 0)
                     .suppress(Suppressed.until_window_closes(BufferConfig.max_records(1000).with_max_bytes(100000).shut_down_when_full()).with_name("calm")))
            final.to_stream().to("out")
            final.group_by(lambda w, v: (str(w.window.start % 100), v), Grouped.with_(STR, LONG)).reduce(add, subtract, Materialized.as_("sums", STR, LONG)).to_stream().to("sums-out")
            """).time(20, 40, 150, 200);
        s.in("in", "long").keys("A", "B", "C");
        s.out("out", "windowed_string", "long", 60).out("sums-out", "string", "long").store("red", "timestamped_window").store("sums", "timestamped_kv");
        s.dsl(b -> {
            KTable<Windowed<String>, Long> t = b.stream("in", CL()).groupByKey().windowedBy(TimeWindows.ofSizeAndGrace(ms(60), ms(30)).advanceBy(ms(20)))
                .reduce((x, y) -> x + (y == null ? 0 : y), win("red", LNG)).filter((w, v) -> v % 3 != 0)
                .suppress(Suppressed.untilWindowCloses(BufferConfig.maxRecords(1000).withMaxBytes(100000).shutDownWhenFull()).withName("calm"));
            t.toStream().to("out", PW(60, LNG));
            t.groupBy((w, v) -> KeyValue.pair(S(w.window().start() % 100), v), GL()).reduce(Long::sum, (x, y) -> x - y, kv("sums", LNG)).toStream().to("sums-out", PL());
        });
    }

    static void limits() {
        Oracle.Scenario s = sc("suppress_time_limit_max_bytes",
            "A table, suppressed until time limit 150 with at most 250 bytes, emit early when full. Values and headers of different length; an update that grows can push others out.",
            """
            (builder.table("in", STR, STR).map_values(lambda v: v * int(v[1:]) + "é", Materialized.with_(STR, STR))
             .suppress(Suppressed.until_time_limit(150, BufferConfig.max_bytes(250))).to_stream().to("out"))
            """).headers();
        s.in("in", "string").nullVal(0.15).keys("A", "BB", "CCCC", "D", "EEE", "F");
        s.out("out", "string", "string");
        s.dsl(b -> b.table("in", CS()).mapValues(v -> v.repeat(Integer.parseInt(v.substring(1))) + "é", Materialized.with(STR, STR))
            .suppress(Suppressed.untilTimeLimit(ms(150), BufferConfig.maxBytes(250))).toStream().to("out", PS()));

        s = sc("suppress_time_limit_chain",
            "Two in a row: until time limit 0 (nothing waits, but for what is late) and then, on a windowed table, until time limit 80 with at most 4 records and 500 bytes. Tombstones of merged sessions are sent on.",
            """
            (builder.stream("in", STR, STR).group_by_key().windowed_by(SessionWindows.of_inactivity_gap_and_grace(30, 100)).count(Materialized.as_("counts"))
             .suppress(Suppressed.until_time_limit(0, BufferConfig.unbounded()).with_name("first"))
             .suppress(Suppressed.until_time_limit(80, BufferConfig.max_records(4).with_max_bytes(500)).with_name("second"))
             .to_stream().to("out"))
            """).headers();
        s.in("in", "string").keys("A", "B", "C", "D");
        s.out("out", "session_windowed_string", "long").store("counts", "session");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(SessionWindows.ofInactivityGapAndGrace(ms(30), ms(100))).count(ses("counts", LNG))
            .suppress(Suppressed.<Windowed>untilTimeLimit(ms(0), BufferConfig.unbounded()).withName("first"))
            .suppress(Suppressed.<Windowed>untilTimeLimit(ms(80), BufferConfig.maxRecords(4).withMaxBytes(500)).withName("second"))
            .toStream().to("out", PSE(LNG)));

        s = sc("suppress_buffer_settings",
            "What a buffer's settings are changed to is what counts: a limit of records that is another one, bounds that are taken away again, settings for the changelog.",
            """
            t = builder.table("in", STR, LONG)
            t.suppress(Suppressed.until_time_limit(60, BufferConfig.max_records(2).with_max_records(4)).with_name("four")).to_stream().to("four-out")
            t.suppress(Suppressed.until_time_limit(40, BufferConfig.max_records(2).with_no_bound().with_logging_enabled({"segment.ms": "60000"})).with_name("unbound")).to_stream().to("unbound-out")
            """).headers();
        s.in("in", "long").nullVal(0.15).keys("A", "B", "C", "D", "E", "F");
        s.out("four-out", "string", "long").out("unbound-out", "string", "long");
        s.dsl(b -> {
            KTable<String, Long> t = b.table("in", CL());
            t.suppress(Suppressed.<String>untilTimeLimit(ms(60), BufferConfig.maxRecords(2).withMaxRecords(4)).withName("four"))
                .toStream().to("four-out", PL());
            t.suppress(Suppressed.<String>untilTimeLimit(ms(40), BufferConfig.maxRecords(2).withNoBound().withLoggingEnabled(Map.of("segment.ms", "60000"))).withName("unbound"))
                .toStream().to("unbound-out", PL());
        });

        s = sc("suppress_full_continue",
            "A strict buffer of 3 records that gets full, under a processing handler that goes on: the record stays in the buffer, and a dead letter is written.",
            """
            (builder.table("in", STR, LONG).suppress(Suppressed.until_time_limit(60, BufferConfig.max_records(3).shut_down_when_full())).to_stream().to("out"))
            """).conf("processing.exception.handler", "org.apache.kafka.streams.errors.LogAndContinueProcessingExceptionHandler")
                .conf("errors.dead.letter.queue.topic.name", "dead");
        s.in("in", "long").keys("A", "B", "C", "D", "E", "F");
        s.out("out", "string", "long").out("dead", "string", "long");
        s.dsl(b -> b.table("in", CL()).suppress(Suppressed.untilTimeLimit(ms(60), BufferConfig.maxRecords(3).shutDownWhenFull())).toStream().to("out", PL()));
    }

    static void behind() {
        Oracle.Scenario s = sc("suppress_group_by",
            "A filter without a store, suppressed, grouped: the old value that is sent on is that of the update before, whether it was ever sent on or not. Filters before and behind.",
            """
            t = builder.table("in", STR, LONG).filter(lambda k, v: v % 4 != 0).suppress(Suppressed.until_time_limit(70, BufferConfig.max_records(4)))
            t.to_stream().to("out")
            t.filter(lambda k, v: v % 2 == 0).to_stream().to("even")
            t.group_by(lambda k, v: ("g" + str(v % 2), v), Grouped.with_(STR, LONG)).aggregate(lambda: "", lambda k, v, a: tail(a + "+" + str(v)), lambda k, v, a: tail(a + "-" + str(v)), Materialized.as_("agg", STR, STR)).to_stream().to("agg-out")
            """);
        s.in("in", "long").nullVal(0.15).keys("A", "B", "C", "D", "E", "F");
        s.out("out", "string", "long").out("even", "string", "long").out("agg-out", "string", "string").store("agg", "timestamped_kv");
        s.dsl(b -> {
            KTable<String, Long> t = b.table("in", CL()).filter((k, v) -> v % 4 != 0).suppress(Suppressed.untilTimeLimit(ms(70), BufferConfig.maxRecords(4)));
            t.toStream().to("out", PL());
            t.filter((k, v) -> v % 2 == 0).toStream().to("even", PL());
            t.groupBy((k, v) -> KeyValue.pair("g" + Math.floorMod(v, 2), v), GL())
                .aggregate(() -> "", (k, v, a) -> tail(a + "+" + v), (k, v, a) -> tail(a + "-" + v), kv("agg", STR)).toStream().to("agg-out", PS());
        });

        s = sc("suppress_joins",
            "A suppressed table is joined with a table, with itself mapped, and with a stream: who looks a row up sees it as it was before the updates that wait, and without its timestamp.",
            """
            t = builder.table("in", STR, STR).suppress(Suppressed.until_time_limit(60, BufferConfig.max_records(3)))
            o = builder.table("other", STR, STR)
            t.left_join(o, lambda x, y: S(x) + "+" + S(y), Materialized.as_("left", STR, STR)).to_stream().to("left-out")
            t.outer_join(t.map_values(lambda v: v.upper()), lambda x, y: S(x) + "+" + S(y)).to_stream().to("self-out")
            builder.stream("s", STR, STR).left_join(t, lambda x, y: S(x) + "+" + S(y)).to("stream-out")
            """).steps(70);
        s.in("in", "string").nullVal(0.1).keys("A", "B", "C", "D").weight(2);
        s.in("other", "string").nullVal(0.1).keys("A", "B", "C", "D");
        s.in("s", "string").keys("A", "B", "C", "D");
        for (String o : new String[] {"left-out", "self-out", "stream-out"}) s.out(o, "string", "string");
        s.store("left", "timestamped_kv");
        s.dsl(b -> {
            KTable<String, String> t = b.table("in", CS()).suppress(Suppressed.untilTimeLimit(ms(60), BufferConfig.maxRecords(3)));
            KTable<String, String> o = b.table("other", CS());
            t.leftJoin(o, PLUS, kv("left", STR)).toStream().to("left-out", PS());
            t.outerJoin(t.mapValues(v -> v.toUpperCase()), PLUS).toStream().to("self-out", PS());
            b.stream("s", CS()).leftJoin(t, (x, y) -> S(x) + "+" + S(y), Joined.with(STR, STR, STR)).to("stream-out", PS());
        });

        s = sc("suppress_context",
            "Behind a suppress, and a repartition in front of it, a processor sees where the record that waited came from, and its headers and timestamp; the limit of bytes counts the name of the topic.",
            """
            def process(r):
                m = ctx.record_metadata
                forward(r.with_value(S(r.value) + "/" + m.topic + "-" + str(m.partition) + "@" + str(m.offset)))
            (builder.stream("in", STR, STR).group_by(lambda k, v: v[0], Grouped.with_("by-letter", STR, STR)).count(Materialized.as_("counts"))
             .suppress(Suppressed.until_time_limit(50, BufferConfig.max_bytes(220))).to_stream().process(P).to("out"))
            """).headers();
        s.in("in", "string").keys("A", "B", "C").nullVal(0);
        s.out("out", "string", "string").store("counts", "timestamped_kv");
        s.dsl(b -> b.stream("in", CS()).groupBy((k, v) -> v.substring(0, 1), Grouped.with("by-letter", STR, STR)).count(kv("counts", LNG))
            .suppress(Suppressed.untilTimeLimit(ms(50), BufferConfig.maxBytes(220))).toStream()
            .process(() -> new ContextualProcessor<String, Long, String, String>() {
                public void process(Record<String, Long> r) {
                    var m = context().recordMetadata().get();
                    context().forward(r.withValue(r.value() + "/" + m.topic() + "-" + m.partition() + "@" + m.offset()));
                }
            }).to("out", PS()));
    }
}
