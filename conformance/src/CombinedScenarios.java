import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.*;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.*;

import java.time.Instant;
import java.util.List;
import java.util.regex.Pattern;

/** What users build of several operators. */
final class CombinedScenarios extends Scenarios {
    static void add() {
        windows();
        joins();
        sources();
        processors();
    }

    static void windows() {
        Oracle.Scenario s = sc("unlimited_windows",
            "One window that never ends, from the epoch and from 100 on: counts (null values too) and a reduce. Its end is the greatest long.",
            """
            g = builder.stream("in", STR, STR).group_by_key()
            g.windowed_by(UnlimitedWindows.of()).count(Materialized.as_("all")).to_stream().to("all-out")
            (g.windowed_by(UnlimitedWindows.of().start_on(100)).reduce(lambda a, b: (a + S(b))[-12:], Materialized.as_("late")).to_stream().to("late-out"))
            """).headers();
        s.in("in", "string").keys("A", "B").nullVal(0.1).nullKey(0.04);
        s.out("all-out", "windowed_string", "long", Long.MAX_VALUE).out("late-out", "windowed_string", "string", Long.MAX_VALUE);
        s.store("all", "timestamped_window").store("late", "timestamped_window");
        s.dsl(b -> {
            KGroupedStream<String, String> g = b.stream("in", CS()).groupByKey();
            g.windowedBy(UnlimitedWindows.of()).count(win("all", LNG)).toStream().to("all-out", PW(Long.MAX_VALUE, LNG));
            g.windowedBy(UnlimitedWindows.of().startOn(Instant.ofEpochMilli(100)))
                .reduce((x, y) -> { String z = x + y; return z.length() <= 12 ? z : z.substring(z.length() - 12); }, win("late", STR)).toStream().to("late-out", PW(Long.MAX_VALUE, STR));
        });

        s = sc("windows_of_windows",
            "Tumbling counts, re-keyed by their window's start, in hopping windows again; then final results of these, as a table that a stream looks into.",
            """
            counts = builder.stream("in", STR, STR).group_by_key().windowed_by(TimeWindows.of_size_and_grace(20, 10)).count(Materialized.as_("first"))
            again = (counts.to_stream().select_key(lambda w, n: "w" + str(w.window.start // 20 % 3)).map_values(lambda n: S(n))
                     .group_by_key(Grouped.with_(STR, STR)).windowed_by(TimeWindows.of_size_and_grace(60, 10).advance_by(30)))
            again.aggregate(lambda: "", lambda k, v, a: (a + v)[-12:], Materialized.as_("second", STR, STR)).to_stream().to("again")
            final = again.emit_strategy(EmitStrategy.on_window_close()).count(Materialized.as_("third").with_retention(100000))
            table = final.to_stream().select_key(lambda w, n: w.key).to_table(Materialized.as_("latest", STR, LONG))
            builder.stream("asks", STR, STR).left_join(table, lambda a, b: S(a) + ":" + S(b), Joined.with_(STR, STR, LONG)).to("answers")
            """).headers().steps(60).time(12, 30, 120, 80);
        s.in("in", "string").keys("A", "B").weight(3);
        s.in("asks", "string").keys("w0", "w1", "w2", "w3");
        s.out("again", "windowed_string", "string", 60).out("answers", "string", "string");
        s.store("first", "timestamped_window").store("second", "timestamped_window").store("third", "timestamped_window").store("latest", "timestamped_kv");
        s.dsl(b -> {
            KTable<Windowed<String>, Long> counts = b.stream("in", CS()).groupByKey().windowedBy(TimeWindows.ofSizeAndGrace(ms(20), ms(10))).count(win("first", LNG));
            TimeWindowedKStream<String, String> again = counts.toStream().selectKey((w, n) -> "w" + w.window().start() / 20 % 3).mapValues(n -> S(n))
                .groupByKey(GS()).windowedBy(TimeWindows.ofSizeAndGrace(ms(60), ms(10)).advanceBy(ms(30)));
            again.aggregate(() -> "", (k, v, a) -> { String z = a + v; return z.length() <= 12 ? z : z.substring(z.length() - 12); }, win("second", STR)).toStream().to("again", PW(60, STR));
            KTable<Windowed<String>, Long> last = again.emitStrategy(EmitStrategy.onWindowClose()).count(win("third", LNG).withRetention(ms(100000)));
            KTable<String, Long> table = last.toStream().selectKey((w, n) -> w.key()).toTable(kv("latest", LNG));
            b.stream("asks", CS()).leftJoin(table, (x, y) -> S(x) + ":" + S(y), Joined.with(STR, STR, LNG)).to("answers", PS());
        });

        s = sc("sessions_of_joined",
            "Two streams joined (left), their pairs in sessions; the sessions as a table: filtered, grouped by length, and suppressed for a time.",
            """
            l, r = builder.stream("left", STR, STR), builder.stream("right", STR, STR)
            j = l.left_join(r, lambda a, b: S(a) + S(b), JoinWindows.of_time_difference_and_grace(15, 5), StreamJoined.with_(STR, STR, STR))
            t = (j.group_by_key(Grouped.with_(STR, STR)).windowed_by(SessionWindows.of_inactivity_gap_and_grace(25, 10))
                  .aggregate(lambda: 0, lambda k, v, n: n + 1, lambda k, a, b: a + b, Materialized.as_("n", STR, LONG)))
            t.filter(lambda w, n: n > 1).to_stream().to("many")
            t.group_by(lambda w, n: (str(w.window.end - w.window.start > 20), n), Grouped.with_(STR, LONG)).aggregate(lambda: 0, add, subtract, Materialized.as_("sums", STR, LONG)).to_stream().to("sums-out")
            """).headers().steps(60).time(12, 30, 120, 80);
        s.in("left", "string").keys("A", "B").uniq("L").nullKey(0.04);
        s.in("right", "string").keys("A", "B").uniq("R");
        s.out("many", "session_windowed_string", "long").out("sums-out", "string", "long").store("n", "session").store("sums", "timestamped_kv");
        s.dsl(b -> {
            KStream<String, String> l = b.stream("left", CS()), r = b.stream("right", CS());
            KTable<Windowed<String>, Long> t = l.leftJoin(r, (x, y) -> S(x) + S(y), JoinWindows.ofTimeDifferenceAndGrace(ms(15), ms(5)), StreamJoined.with(STR, STR, STR))
                .groupByKey(GS()).windowedBy(SessionWindows.ofInactivityGapAndGrace(ms(25), ms(10))).aggregate(() -> 0L, (k, v, n) -> n + 1, (k, x, y) -> x + y, ses("n", LNG));
            t.filter((w, n) -> n > 1).toStream().to("many", PSE(LNG));
            t.groupBy((w, n) -> KeyValue.pair(w.window().end() - w.window().start() > 20 ? "True" : "False", n), GL())
                .aggregate(() -> 0L, (k, v, a) -> a + v, (k, v, a) -> a - v, kv("sums", LNG)).toStream().to("sums-out", PL());
        });
    }

    static void joins() {
        Oracle.Scenario s = sc("left_joins_in_a_row",
            "A stream enriched three times by left joins: from a table, from a table that was a stream, from a global table; joiners meet nulls, and one gives null, which the next join drops after it has asked for a key.",
            """
            t = builder.table("table", STR, STR)
            u = builder.stream("updates", STR, STR).filter(lambda k, v: v is None or v[0] != "x").to_table(Materialized.as_("u", STR, STR))
            g = builder.global_table("global", STR, STR, Materialized.as_("g", STR, STR))
            a = builder.stream("in", STR, STR).left_join(t, lambda x, y: S(x) + "+" + S(y))
            a.to("first")
            b = a.left_join(u, lambda x, y: None if y is not None and y[1] == "1" else x + "*" + S(y))
            b.to("second")
            b.left_join(g, lambda k, v: v and v[:2], lambda x, y: x + "/" + S(y)).to("third")
            """).headers().steps(60);
        s.in("in", "string").keys("A", "B", "C").weight(3).nullKey(0.05);
        s.in("table", "string").keys("A", "B").nullVal(0.2);
        s.in("updates", "string").keys("B", "C").nullVal(0.2).weight(2);
        s.in("global", "string").keys("a1", "a2", "b3", "b4", "c5", "c6", "x7", "x8").nullVal(0.1);
        s.out("first", "string", "string").out("second", "string", "string").out("third", "string", "string").store("u", "timestamped_kv").store("g", "timestamped_kv");
        s.dsl(b -> {
            KTable<String, String> t = b.table("table", CS());
            KTable<String, String> u = b.stream("updates", CS()).filter((k, v) -> v == null || v.charAt(0) != 'x').toTable(kv("u", STR));
            GlobalKTable<String, String> g = b.globalTable("global", CS(), kv("g", STR));
            KStream<String, String> a = b.stream("in", CS()).leftJoin(t, (x, y) -> S(x) + "+" + S(y));
            a.to("first", PS());
            KStream<String, String> c = a.leftJoin(u, (x, y) -> y != null && y.charAt(1) == '1' ? null : x + "*" + S(y));
            c.to("second", PS());
            c.leftJoin(g, (k, v) -> v == null ? null : v.substring(0, 2), (x, y) -> x + "/" + S(y)).to("third", PS());
        });

        s = sc("cogroup_grouped_again",
            "A cogroup of two streams as a table: grouped again (with the values that went before), joined with another table, and filtered.",
            """
            a, b = (builder.stream(t, STR, STR).group_by_key(Grouped.with_(STR, STR)) for t in "ab")
            c = a.cogroup(lambda k, v, g: (g + v)[-4:]).cogroup(b, lambda k, v, g: None if v[0] == "x" else (g + v[0])[-4:]).aggregate(lambda: "", Materialized.as_("c", STR, STR))
            c.to_stream().to("rows")
            c.group_by(lambda k, v: (v[-1:], v), Grouped.with_(STR, STR)).aggregate(lambda: "", lambda k, v, g: (g + "+" + v)[-20:], lambda k, v, g: (g + "-" + v)[-20:], Materialized.as_("again", STR, STR)).to_stream().to("again-out")
            c.outer_join(builder.table("t", STR, STR), lambda x, y: S(x) + "|" + S(y)).filter(lambda k, v: v[-1] != "4").to_stream().to("joined")
            """).headers().steps(60);
        for (String t : List.of("a", "b", "t")) s.in(t, "string").keys("A", "B", "C").nullKey(0.03).nullVal(0.12);
        s.out("rows", "string", "string").out("again-out", "string", "string").out("joined", "string", "string").store("c", "timestamped_kv").store("again", "timestamped_kv");
        s.dsl(b -> {
            KGroupedStream<String, String> x = b.stream("a", CS()).groupByKey(GS()), y = b.stream("b", CS()).groupByKey(GS());
            KTable<String, String> c = x.<String>cogroup((k, v, g) -> last(g + v, 4)).cogroup(y, (k, v, g) -> v.charAt(0) == 'x' ? null : last(g + v.charAt(0), 4))
                .aggregate(() -> "", kv("c", STR));
            c.toStream().to("rows", PS());
            c.groupBy((k, v) -> KeyValue.pair(last(v, 1), v), GS()).aggregate(() -> "", (k, v, g) -> last(g + "+" + v, 20), (k, v, g) -> last(g + "-" + v, 20), kv("again", STR))
                .toStream().to("again-out", PS());
            c.outerJoin(b.table("t", CS()), (p, q) -> S(p) + "|" + S(q)).filter((k, v) -> !v.endsWith("4")).toStream().to("joined", PS());
        });
    }

    static String last(String s, int n) { return s.length() <= n ? s : s.substring(s.length() - n); }

    static void sources() {
        Oracle.Scenario s = sc("sources_of_many_topics",
            "A stream of two topics, one of all topics that match a pattern, and one of a topic that is read twice; merged, split, repartitioned with a name and a number of partitions, and merged again.",
            """
            a = builder.stream(["a", "b"], STR, STR); p = builder.stream(re.compile("p-.*"), STR, STR); c, d = builder.stream("c", STR, STR), builder.stream("c", STR, STR)
            m = a.merge(p).merge(c.map_values(lambda v: S(v) + "!"))
            br = m.split(Named.as_("by-")).branch(lambda k, v: k is None, Branched.as_("none")).branch(lambda k, v: v is not None and v[0] == "a", Branched.as_("a")).default_branch(Branched.as_("rest"))
            r = br["by-a"].select_key(lambda k, v: v[-1]).repartition(Repartitioned.with_(STR, STR).with_name("again").with_number_of_partitions(3))
            r.merge(br["by-rest"]).to("out")
            br["by-none"].foreach(lambda k, v: None)
            d.peek(lambda k, v: None).filter_not(lambda k, v: v is None).to("twice")
            """).headers().steps(50);
        for (String t : List.of("a", "b", "p-1", "p-2", "c")) s.in(t, "string").keys("A", "B").nullKey(0.1).nullVal(0.1);
        s.out("out", "string", "string").out("twice", "string", "string");
        s.dsl(b -> {
            KStream<String, String> a = b.stream(List.of("a", "b"), CS()), p = b.stream(Pattern.compile("p-.*"), CS()), c = b.stream("c", CS()), d = b.stream("c", CS());
            var br = a.merge(p).merge(c.mapValues(v -> S(v) + "!")).split(Named.as("by-")).branch((k, v) -> k == null, Branched.as("none"))
                .branch((k, v) -> v != null && v.charAt(0) == 'a', Branched.as("a")).defaultBranch(Branched.as("rest"));
            KStream<String, String> r = br.get("by-a").selectKey((k, v) -> last(v, 1)).repartition(Repartitioned.with(STR, STR).withName("again").withNumberOfPartitions(3));
            r.merge(br.get("by-rest")).to("out", PS());
            br.get("by-none").foreach((k, v) -> { });
            d.peek((k, v) -> { }).filterNot((k, v) -> v == null).to("twice", PS());
        });
    }

    /** Forwards to "even" or "odd" by the length of what it has of a key, and by stream time tells both. */
    static final class Sorting extends ContextualProcessor<String, String, String, String> {
        private KeyValueStore<String, String> seen;
        private KeyValueStore<String, Long> counts;
        public void init(ProcessorContext<String, String> c) {
            super.init(c);
            seen = c.getStateStore("seen");
            counts = c.getStateStore("counts");
            c.schedule(ms(60), PunctuationType.STREAM_TIME, t -> {
                try (var it = counts.all()) { it.forEachRemaining(x -> context().forward(new Record<>(x.key, "total" + x.value, t))); }
            });
        }
        public void process(Record<String, String> r) {
            if (r.key() == null || r.value() == null) return;
            String now = last(S(seen.get(r.key())) + r.value(), 9);
            seen.put(r.key(), now);
            counts.put(r.key(), counts.get(r.key()) == null ? 1 : counts.get(r.key()) + 1);
            context().forward(r.withValue(now), now.length() % 2 == 0 ? "even" : "odd");
        }
    }

    /** Marks what it gets, counts in the store that it shares with the other, and by the wall clock tells the store. */
    static final class Marking extends ContextualProcessor<String, String, String, String> {
        private final String mark;
        private KeyValueStore<String, Long> shared;
        Marking(String mark) { this.mark = mark; }
        public void init(ProcessorContext<String, String> c) {
            super.init(c);
            shared = c.getStateStore("shared");
            if (mark.equals("o")) c.schedule(ms(80), PunctuationType.WALL_CLOCK_TIME, t -> {
                try (var it = shared.all()) { it.forEachRemaining(x -> context().forward(new Record<>(x.key, "clock" + x.value, t))); }
            });
        }
        public void process(Record<String, String> r) {
            long n = shared.get(mark) == null ? 1 : shared.get(mark) + 1;
            shared.put(mark, n);
            context().forward(r.withValue(mark + n + r.value()).withTimestamp(r.timestamp() + n % 3));
        }
    }

    static void processors() {
        Oracle.Scenario s = sc("processors_in_a_row",
            "A processor with two stores that forwards to one child by name (in punctuations to all), its children share a third store, one of them tells it by the wall clock; sinks of one and of both.",
            """
            class Sorting:   # stores seen, counts; every 60 ms of stream time forwards (key, "total" + count) of counts to all children
                def process(r):   # nothing for a null key or value
                    now = (S(seen.get(r.key)) + r.value)[-9:]; seen.put(r.key, now); counts[r.key] += 1
                    forward(r.with_value(now), "even" if len(now) % 2 == 0 else "odd")
            class Marking:   # mark "e" or "o"; store shared; "o" forwards (key, "clock" + count) of shared every 80 ms of wall clock
                def process(r): n = shared[mark] + 1; shared[mark] = n; forward(r.with_value(mark + str(n) + r.value).with_timestamp(r.timestamp + n % 3))
            topology.add_source("source", "in").add_processor("sorting", Sorting, "source").add_processor("even", Marking("e"), "sorting").add_processor("odd", Marking("o"), "sorting")
            topology.add_state_store(seen, "sorting").add_state_store(counts, "sorting").add_state_store(shared, "even", "odd")
            topology.add_sink("all", "all-out", "even", "odd").add_sink("only", "odd-out", "odd")
            """).headers().wall(0.2, 120).steps(60);
        s.in("in", "string").keys("A", "B", "C").nullKey(0.05);
        s.out("all-out", "string", "string").out("odd-out", "string", "string").store("seen", "kv").store("counts", "kv").store("shared", "kv");
        s.papi(t -> t.addSource("source", STR.deserializer(), STR.deserializer(), "in").addProcessor("sorting", Sorting::new, "source")
            .addProcessor("even", () -> new Marking("e"), "sorting").addProcessor("odd", () -> new Marking("o"), "sorting")
            .addStateStore(kvStore("seen", STR), "sorting").addStateStore(kvStore("counts", LNG), "sorting").addStateStore(kvStore("shared", LNG), "even", "odd")
            .addSink("all", "all-out", STR.serializer(), STR.serializer(), "even", "odd").addSink("only", "odd-out", STR.serializer(), STR.serializer(), "odd"));
    }
}
