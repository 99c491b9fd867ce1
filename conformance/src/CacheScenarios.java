import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.*;
import org.apache.kafka.common.serialization.*;

/** The record cache, with several records in one commit: what is forwarded at a flush, in which order, and what is not. */
final class CacheScenarios extends Scenarios {
    static void add() {
        aggregates();
        windows();
        tables();
        stores();
    }

    static Oracle.Scenario cached(String name, int commitEvery, int bytes, String prose, String pseudo) {
        return sc(name, prose, pseudo).conf("statestore.cache.max.bytes", bytes).commitEvery(commitEvery).steps(48);
    }

    static void aggregates() {
        Oracle.Scenario s = cached("cache_aggregates", 6, 10485760,
            "Six records per commit: the last value per key, in the order of the last update, with the record's headers; a reduce that deletes; one aggregate without a cache.",
            """
            g = builder.stream("in", STR, LONG).group_by_key()
            g.count(Materialized.as_("counts")).to_stream().to("out")
            g.reduce(lambda a, b: None if b <= 0 else a * 2 + b, Materialized.as_("red")).to_stream().to("reduced")
            g.aggregate(lambda: "", lambda k, v, a: (a + "," + str(v))[-20:], Materialized.as_("all", STR, STR).with_caching_disabled()).to_stream().to("every")
            """).headers();
        s.in("in", "long").nullKey(0.05).keys("A", "B", "C", "D");
        s.out("out", "string", "long").out("reduced", "string", "long").out("every", "string", "string");
        s.store("counts", "timestamped_kv").store("red", "timestamped_kv").store("all", "timestamped_kv");
        s.dsl(b -> {
            KGroupedStream<String, Long> g = b.stream("in", CL()).groupByKey();
            g.count(kv("counts", LNG)).toStream().to("out", PL());
            g.reduce((x, y) -> y <= 0 ? null : x * 2 + y, kv("red", LNG)).toStream().to("reduced", PL());
            g.aggregate(() -> "", (k, v, a) -> {
                String all = a + "," + v;
                return all.substring(Math.max(0, all.length() - 20));
            }, kv("all", STR).withCachingDisabled()).toStream().to("every", PS());
        });

        s = cached("cache_full", 12, 420,
            "A cache of 420 bytes, shared by two stores, and twelve records per commit: what was not used for longest is evicted, and flushes all of its store.",
            """
            g = builder.stream("in", STR, STR).group_by_key()
            g.count(Materialized.as_("counts")).to_stream().to("out")
            g.reduce(lambda a, b: a[0] + b, Materialized.as_("red")).to_stream().to("reduced")
            """).headers();
        s.in("in", "string").keys("A", "B", "C", "D", "E", "F", "G");
        s.out("out", "string", "long").out("reduced", "string", "string").store("counts", "timestamped_kv").store("red", "timestamped_kv");
        s.dsl(b -> {
            KGroupedStream<String, String> g = b.stream("in", CS()).groupByKey();
            g.count(kv("counts", LNG)).toStream().to("out", PL());
            g.reduce((x, y) -> x.charAt(0) + y, kv("red", STR)).toStream().to("reduced", PS());
        });
    }

    static void windows() {
        Oracle.Scenario s = cached("cache_windows", 6, 10485760,
            "Hopping and session windows, six records per commit: sessions that were merged before anybody heard of them leave no tombstone.",
            """
            g = builder.stream("in", STR, STR).group_by_key()
            (g.windowed_by(TimeWindows.of_size_and_grace(100, 50).advance_by(40))
              .count(Materialized.as_("hops").with_retention(100000)).to_stream().to("hopping"))
            (g.windowed_by(SessionWindows.of_inactivity_gap_and_grace(30, 200))
              .count(Materialized.as_("visits").with_retention(100000)).to_stream().to("sessions"))
            """).time(25, 60, 200, 150).headers();
        s.in("in", "string").keys("A", "B", "C");
        s.out("hopping", "windowed_string", "long", 100).out("sessions", "session_windowed_string", "long");
        s.store("hops", "timestamped_window").store("visits", "session");
        s.dsl(b -> {
            KGroupedStream<String, String> g = b.stream("in", CS()).groupByKey();
            g.windowedBy(TimeWindows.ofSizeAndGrace(ms(100), ms(50)).advanceBy(ms(40))).count(win("hops", LNG).withRetention(ms(100000)))
                .toStream().to("hopping", PW(100, LNG));
            g.windowedBy(SessionWindows.ofInactivityGapAndGrace(ms(30), ms(200))).count(ses("visits", LNG).withRetention(ms(100000)))
                .toStream().to("sessions", PSE(LNG));
        });

        s = cached("cache_sliding", 5, 10485760,
            "Sliding windows, five records per commit; and final results of tumbling windows, which a cache does not change but for what the store's retention would have hidden.",
            """
            g = builder.stream("in", STR, STR).group_by_key()
            (g.windowed_by(SlidingWindows.of_time_difference_and_grace(60, 80))
              .reduce(lambda a, b: (a + b)[-12:], Materialized.as_("near").with_retention(100000)).to_stream().to("sliding"))
            (g.windowed_by(TimeWindows.of_size_and_grace(50, 20)).emit_strategy(EmitStrategy.on_window_close())
              .count(Materialized.as_("ended")).to_stream().to("final"))
            """).time(25, 60, 200, 150).headers();
        s.in("in", "string").keys("A", "B");
        s.out("sliding", "windowed_string", "string", 60).out("final", "windowed_string", "long", 50);
        s.store("near", "timestamped_window");
        s.dsl(b -> {
            KGroupedStream<String, String> g = b.stream("in", CS()).groupByKey();
            g.windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(ms(60), ms(80))).reduce((x, y) -> {
                String both = x + y;
                return both.substring(Math.max(0, both.length() - 12));
            }, win("near", STR).withRetention(ms(100000))).toStream().to("sliding", PW(60, STR));
            g.windowedBy(TimeWindows.ofSizeAndGrace(ms(50), ms(20))).emitStrategy(EmitStrategy.onWindowClose()).count(win("ended", LNG))
                .toStream().to("final", PW(50, LNG));
        });
    }

    static void tables() {
        Oracle.Scenario s = cached("cache_tables", 5, 10485760,
            "Tables, joined and grouped, five records per commit: old values are those of the flush before; deleting what was never flushed goes unheard; stores are flushed in the order of the topology.",
            """
            a = builder.table("a", STR, LONG, Materialized.as_("ta"))
            b = builder.table("b", STR, LONG, Materialized.as_("tb"))
            j = a.outer_join(b, lambda x, y: S(x) + "+" + S(y), Materialized.as_("j", STR, STR))
            j.to_stream().to("joined")
            a.filter(lambda k, v: v % 2 == 0, Materialized.as_("even")).to_stream().to("evens")
            a.map_values(lambda v: None if v == 1 else "v" + str(v), Materialized.as_("m", STR, STR)).to_stream().to("mapped")
            a.group_by(lambda k, v: ("g" + str(v % 2), v), Grouped.with_(STR, LONG)).reduce(add, subtract, Materialized.as_("sum", STR, LONG)).to_stream().to("sums")
            """).headers();
        s.in("a", "long").nullVal(0.25).nullKey(0.04).keys("A", "B", "C").weight(2);
        s.in("b", "long").nullVal(0.25).keys("A", "B", "C");
        s.out("joined", "string", "string").out("evens", "string", "long").out("mapped", "string", "string").out("sums", "string", "long");
        for (String store : List.of("ta", "tb", "j", "even", "m", "sum")) s.store(store, "timestamped_kv");
        s.dsl(b -> {
            KTable<String, Long> x = b.table("a", CL(), kv("ta", LNG));
            KTable<String, Long> y = b.table("b", CL(), kv("tb", LNG));
            x.outerJoin(y, (l, r) -> S(l) + "+" + S(r), kv("j", STR)).toStream().to("joined", PS());
            x.filter((k, v) -> v % 2 == 0, kv("even", LNG)).toStream().to("evens", PL());
            x.mapValues(v -> v == 1 ? null : "v" + v, kv("m", STR)).toStream().to("mapped", PS());
            x.groupBy((k, v) -> KeyValue.pair("g" + Math.floorMod(v, 2), v), GL()).reduce(Long::sum, (l, r) -> l - r, kv("sum", LNG)).toStream().to("sums", PL());
        });
    }

    static void stores() {
        Oracle.Scenario s = cached("cache_processor_stores", 7, 10485760,
            "A processor whose stores are cached: reads, ranges and fetches see what was not flushed yet. Nothing is forwarded at a flush.",
            """
            # stores: kv = key_value_store("kv", STR, STR).with_caching_enabled(), win = window_store("win", STR, STR, retention 100000, size 10).with_caching_enabled(),
            #         ses = session_store("ses", STR, STR, retention 100000).with_caching_enabled()
            def process(r):
                if r.key is None: return
                kv.put(r.key, r.value); win.put(r.key, r.value, r.timestamp)
                ses.put(Windowed(r.key, SessionWindow(r.timestamp // 2, r.timestamp)), r.value)
                if r.value is not None and r.value.startswith("x"): kv.delete("A")
                forward(r.with_value(" ".join([S(kv.get("B")), join(kv.range("A", "C")), join(kv.all()), join(kv.prefix_scan("D")),
                    join(win.fetch(r.key, r.timestamp - 40, r.timestamp)), join(win.fetch_all(r.timestamp - 20, r.timestamp + 20)),
                    join(ses.find_sessions(r.key, r.timestamp - 30, r.timestamp))])))
            # join: values, comma-separated
            """).time(10, 30, 60, 60);
        s.in("in", "string").nullVal(0.15).nullKey(0.03).keys("A", "B", "C", "D", "D1");
        s.out("out", "string", "string").store("kv", "kv").store("win", "window").store("ses", "session");
        s.papi(t -> {
            t.addSource("source", new StringDeserializer(), new StringDeserializer(), "in");
            t.addProcessor("read", Reads::new, "source");
            t.addStateStore(kvStore("kv", STR).withCachingEnabled(), "read");
            t.addStateStore(winStore("win", STR, 100000, 10, false).withCachingEnabled(), "read");
            t.addStateStore(sesStore("ses", STR, 100000).withCachingEnabled(), "read");
            t.addSink("sink", "out", new StringSerializer(), new StringSerializer(), "read");
        });
    }

    static final class Reads extends ContextualProcessor<String, String, String, String> {
        @Override public void process(Record<String, String> r) {
            if (r.key() == null) return;
            KeyValueStore<String, String> kv = context().getStateStore("kv");
            WindowStore<String, String> win = context().getStateStore("win");
            SessionStore<String, String> ses = context().getStateStore("ses");
            long t = r.timestamp();
            kv.put(r.key(), r.value());
            win.put(r.key(), r.value(), t);
            ses.put(new Windowed<>(r.key(), new org.apache.kafka.streams.kstream.internals.SessionWindow(t / 2, t)), r.value());
            if (r.value() != null && r.value().startsWith("x")) kv.delete("A");
            context().forward(r.withValue(String.join(" ", S(kv.get("B")), join(kv.range("A", "C")), join(kv.all()),
                join(kv.prefixScan("D", new StringSerializer())), join(win.fetch(r.key(), t - 40, t)), join(win.fetchAll(t - 20, t + 20)),
                join(ses.findSessions(r.key(), t - 30, t)))));
        }
        static String join(KeyValueIterator<?, String> it) {
            List<String> values = new ArrayList<>();
            try (it) { it.forEachRemaining(x -> values.add(x.value)); }
            return String.join(",", values);
        }
    }
}
