import java.util.List;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.processor.ProcessorContext;
import org.apache.kafka.streams.state.KeyValueStore;

/** More scenarios of tables: with and without stores, grouped, joined in chains, made of streams and windows. */
class TableScenarios extends Scenarios {
    static final ValueJoiner<Object, Object, String> PLUS = (x, y) -> S(x) + "+" + S(y);

    static void add() {
        sources();
        rows();
        groups();
        chains();
        streams();
        windows();
        transformers();
    }

    static void sources() {
        Oracle.Scenario s = sc("table_filter_alone",
            "A source table whose only child is an unmaterialized filter: nothing downstream needs old values.",
            """
            builder.table("in", STR, LONG).filter(lambda k, v: v % 2 == 0).to_stream().to("out")
            """);
        s.in("in", "long").nullVal(0.2).nullKey(0.05).keys("A", "B", "C", "D");
        s.out("out", "string", "long");
        s.dsl(b -> b.table("in", CL()).filter((k, v) -> v % 2 == 0).toStream().to("out", PL()));

        s = sc("table_map_values",
            "KTable mapValues, not materialized and materialized, with a mapper that may return null; toStream with a key mapper.",
            """
            t = builder.table("in", STR, LONG, Materialized.as_("t"))
            t.map_values(lambda v: None if v == 0 else "v" + str(v)).to_stream().to("plain")
            m = t.map_values_with_key(lambda k, v: None if v == 0 else k + str(v), Materialized.as_("m", STR, STR))
            m.to_stream().to("mat")
            m.to_stream(lambda k, v: S(v) + "!").to("rekeyed")
            # the mapper is never called with None: a tombstone is passed through as a tombstone
            """).headers();
        s.in("in", "long").nullVal(0.2).keys("A", "B", "C", "D");
        s.out("plain", "string", "string").out("mat", "string", "string").out("rekeyed", "string", "string");
        s.store("t", "timestamped_kv").store("m", "timestamped_kv");
        s.dsl(b -> {
            KTable<String, Long> t = b.table("in", CL(), kv("t", LNG));
            t.mapValues(v -> v == 0 ? null : "v" + v).toStream().to("plain", PS());
            KTable<String, String> m = t.mapValues((k, v) -> v == 0 ? null : k + v, kv("m", STR));
            m.toStream().to("mat", PS());
            m.toStream((k, v) -> S(v) + "!").to("rekeyed", PS());
        });

        s = sc("table_group_by_count",
            "KTable groupBy the letter of the value, count. A change of group subtracts from the old group first, then adds to the new one.",
            """
            (builder.table("in", STR, STR, Materialized.as_("t"))
             .group_by(lambda k, v: (None if v[0] == "x" else v[0], v), Grouped.with_(STR, STR))
             .count(Materialized.as_("counts")).to_stream().to("out"))
            """).steps(60).headers();
        s.in("in", "string").nullVal(0.2).nullKey(0.03);
        s.out("out", "string", "long").store("counts", "timestamped_kv").store("t", "timestamped_kv");
        s.dsl(b -> b.table("in", CS(), kv("t", STR)).groupBy((k, v) -> KeyValue.pair(v.charAt(0) == 'x' ? null : v.substring(0, 1), v), GS())
            .count(kv("counts", LNG)).toStream().to("out", PL()));

        s = sc("table_group_by_reduce",
            "KTable groupBy, reduce with adder and subtractor (sum of values per group v mod 3, python floor modulo).",
            """
            (builder.table("in", STR, LONG, Materialized.as_("t"))
             .group_by(lambda k, v: ("g" + str(v % 3), v), Grouped.with_(STR, LONG))
             .reduce(lambda a, v: a + v, lambda a, v: a - v, Materialized.as_("red", STR, LONG))
             .to_stream().to("out"))
            """).steps(60);
        s.in("in", "long").nullVal(0.2);
        s.out("out", "string", "long").store("red", "timestamped_kv");
        s.dsl(b -> b.table("in", CL(), kv("t", LNG)).groupBy((k, v) -> KeyValue.pair("g" + Math.floorMod(v, 3), v), GL())
            .reduce(Long::sum, (a, v) -> a - v, kv("red", LNG)).toStream().to("out", PL()));

        s = sc("versioned_table_out_of_order",
            "A versioned table (history retention 150) with out-of-order and too late records: downstream group-by ignores out-of-order changes; records older than the retention are not stored.",
            """
            t = builder.table("in", STR, STR, Materialized.as_(Stores.persistent_versioned_key_value_store("t", history_retention=150)))
            t.to_stream().to("all")
            t.filter(lambda k, v: v[0] != "x").to_stream().to("filtered")
            t.group_by(lambda k, v: (v[0], v), Grouped.with_(STR, STR)).count(Materialized.as_("n")).to_stream().to("counts")
            """).steps(70).time(25, 80, 400, 300);
        s.in("in", "string").nullVal(0.15).keys("A", "B", "C");
        s.out("all", "string", "string").out("filtered", "string", "string").out("counts", "string", "long").store("t", "versioned").store("n", "timestamped_kv");
        s.dsl(b -> {
            KTable<String, String> t = b.table("in", CS(), versioned("t", 150, STR));
            t.toStream().to("all", PS());
            t.filter((k, v) -> v.charAt(0) != 'x').toStream().to("filtered", PS());
            t.groupBy((k, v) -> KeyValue.pair(v.substring(0, 1), v), GS()).count(kv("n", LNG)).toStream().to("counts", PL());
        });
    }

    static void rows() {
        Oracle.Scenario s = sc("table_filter_order_of_calls",
            "Filters before and after the table is asked for old values: the first sends a tombstone for every rejected record, the last only where there was a row; one with a store of its own.",
            """
            even = lambda k, v: v % 2 == 0
            t = builder.table("in", STR, LONG)
            t.filter(even).to_stream().to("before")
            t.filter(even, Materialized.as_("f", STR, LONG)).to_stream().to("kept")
            t.group_by(lambda k, v: ("g" + str(v % 3), v), Grouped.with_(STR, LONG)).count(Materialized.as_("n")).to_stream().to("counts")
            t.filter_not(even).to_stream().to("after")
            t.filter_not(even, Materialized.as_("fn", STR, LONG)).to_stream().to("kept-after")
            """).headers();
        s.in("in", "long").nullVal(0.2).nullKey(0.03).keys("A", "B", "C", "D");
        for (String o : List.of("before", "kept", "counts", "after", "kept-after")) s.out(o, "string", "long");
        s.store("f", "timestamped_kv").store("n", "timestamped_kv").store("fn", "timestamped_kv");
        s.dsl(b -> {
            Predicate<String, Long> even = (k, v) -> v % 2 == 0;
            KTable<String, Long> t = b.table("in", CL());
            t.filter(even).toStream().to("before", PL());
            t.filter(even, kv("f", LNG)).toStream().to("kept", PL());
            t.groupBy((k, v) -> KeyValue.pair("g" + Math.floorMod(v, 3), v), GL()).count(kv("n", LNG)).toStream().to("counts", PL());
            t.filterNot(even).toStream().to("after", PL());
            t.filterNot(even, kv("fn", LNG)).toStream().to("kept-after", PL());
        });

        s = sc("table_values_chain",
            "Filters and map_values one after another, some with stores, grouped at the end: old values go through all of them.",
            """
            f = builder.table("in", STR, LONG).filter(lambda k, v: v % 4 != 0)
            m = f.map_values(lambda v: None if v == 1 else v * 10, Materialized.as_("m", STR, LONG))
            x = m.filter(lambda k, v: v % 3 != 0).map_values_with_key(lambda k, v: v + len(k))
            x.to_stream().to("out")
            x.group_by(lambda k, v: ("g" + str(v % 2), v), Grouped.with_(STR, LONG)).reduce(add, subtract, Materialized.as_("sum", STR, LONG)).to_stream().to("sums")
            x.filter(lambda k, v: v > 50, Materialized.as_("large", STR, LONG)).to_stream().to("large-out")
            """).headers();
        s.in("in", "long").nullVal(0.2).keys("A", "BB", "C");
        s.out("out", "string", "long").out("sums", "string", "long").out("large-out", "string", "long");
        s.store("m", "timestamped_kv").store("sum", "timestamped_kv").store("large", "timestamped_kv");
        s.dsl(b -> {
            KTable<String, Long> m = b.table("in", CL()).filter((k, v) -> v % 4 != 0).mapValues(v -> v == 1 ? null : v * 10, kv("m", LNG));
            KTable<String, Long> x = m.filter((k, v) -> v % 3 != 0).mapValues((k, v) -> v + k.length());
            x.toStream().to("out", PL());
            x.groupBy((k, v) -> KeyValue.pair("g" + Math.floorMod(v, 2), v), GL()).reduce(Long::sum, (a, v) -> a - v, kv("sum", LNG)).toStream().to("sums", PL());
            x.filter((k, v) -> v > 50, kv("large", LNG)).toStream().to("large-out", PL());
        });
    }

    static void groups() {
        Oracle.Scenario s = sc("table_group_by_aggregate",
            "KTable groupBy, aggregate with a subtractor that deletes an empty group (null) and an adder that may delete too; the result is grouped again.",
            """
            def pair(k, v): return (None if v % 7 == 0 else "g" + str(v % 3), None if v % 5 == 0 else v)
            def add(k, v, a): return None if v % 11 == 0 else a + "," + str(v)
            def sub(k, v, a): x = a.replace("," + str(v), "", 1); return None if x == k[0] else x   # first occurrence
            t = builder.table("in", STR, LONG, Materialized.as_("t"))
            a = t.group_by(pair, Grouped.with_(STR, LONG)).aggregate(lambda: "g", add, sub, Materialized.as_("agg", STR, STR))
            a.to_stream().to("out")
            a.group_by(lambda k, v: ("n" + str(len(v) % 2), v), Grouped.with_(STR, STR)).count(Materialized.as_("n")).to_stream().to("counts")
            """).headers();
        s.in("in", "long").nullVal(0.2).nullKey(0.03);
        s.out("out", "string", "string").out("counts", "string", "long").store("agg", "timestamped_kv").store("n", "timestamped_kv").store("t", "timestamped_kv");
        s.dsl(b -> {
            KTable<String, String> a = b.table("in", CL(), kv("t", LNG))
                .groupBy((k, v) -> KeyValue.pair(v % 7 == 0 ? null : "g" + Math.floorMod(v, 3), v % 5 == 0 ? null : v), GL())
                .aggregate(() -> "g", (k, v, x) -> v % 11 == 0 ? null : x + "," + v, (k, v, x) -> {
                    String rest = x.replaceFirst(java.util.regex.Pattern.quote("," + v), "");
                    return rest.equals(k.substring(0, 1)) ? null : rest;
                }, kv("agg", STR));
            a.toStream().to("out", PS());
            a.groupBy((k, v) -> KeyValue.pair("n" + v.length() % 2, v), GS()).count(kv("n", LNG)).toStream().to("counts", PL());
        });
    }

    static void threeInputs(Oracle.Scenario s) {
        s.in("left", "string").uniq("L").nullVal(0.25).nullKey(0.02).keys("A", "B", "C");
        s.in("right", "string").uniq("R").nullVal(0.25).keys("A", "B", "C");
        s.in("third", "string").uniq("T").nullVal(0.25).keys("A", "B", "C");
    }

    static void chains() {
        for (String k : List.of("join", "left_join", "outer_join")) {
            String n = k.equals("join") ? "inner" : k.equals("left_join") ? "left" : "outer";
            Oracle.Scenario s = sc("table_table_chain_" + n,
                "Three tables joined (" + n + "), none of them with a store of its own name; the result is grouped, so old values are worked out along the chain.",
                """
                l, r, t = builder.table("left", STR, STR), builder.table("right", STR, STR), builder.table("third", STR, STR)
                lr = l.%1$s(r, PLUS)
                lrt = lr.%1$s(t.map_values(lambda v: None if v[-1] == "3" else v + "!"), PLUS)
                lrt.to_stream().to("out")
                lrt.group_by(lambda k, v: (str(len(v)), v), Grouped.with_(STR, STR)).count(Materialized.as_("n")).to_stream().to("counts")
                t.%1$s(lr.filter(lambda k, v: v[-1] != "4"), PLUS, Materialized.as_("back", STR, STR)).to_stream().to("back-out")
                # PLUS = lambda a, b: S(a) + "+" + S(b)
                """.formatted(k)).steps(60).headers();
            threeInputs(s);
            s.out("out", "string", "string").out("counts", "string", "long").out("back-out", "string", "string");
            s.store("n", "timestamped_kv").store("back", "timestamped_kv");
            s.dsl(b -> {
                KTable<String, String> l = b.table("left", CS()), r = b.table("right", CS()), t = b.table("third", CS());
                KTable<String, String> lr = joined(n, l, r, null);
                KTable<String, String> lrt = joined(n, lr, t.mapValues(v -> v.endsWith("3") ? null : v + "!"), null);
                lrt.toStream().to("out", PS());
                lrt.groupBy((key, v) -> KeyValue.pair(S(v.length()), v), GS()).count(kv("n", LNG)).toStream().to("counts", PL());
                joined(n, t, lr.filter((key, v) -> !v.endsWith("4")), "back").toStream().to("back-out", PS());
            });
        }

        Oracle.Scenario s = sc("table_table_null_results",
            "Left and outer joins whose joiners may return null, kept in stores and not; a left join of a table with itself.",
            """
            l, r = builder.table("left", STR, STR), builder.table("right", STR, STR)
            some = lambda a, b: None if b is not None and b[-1] == "1" else S(a) + "+" + S(b)
            l.left_join(r, some, Materialized.as_("j", STR, STR)).to_stream().to("out")
            l.outer_join(r, some).filter(lambda k, v: v[0] != "n").to_stream().to("outer")
            l.left_join(l, some).to_stream().to("self")
            """).steps(60).headers();
        s.in("left", "string").uniq("L").nullVal(0.25).keys("A", "B", "C");
        s.in("right", "string").uniq("R").nullVal(0.25).keys("A", "B", "C");
        s.out("out", "string", "string").out("outer", "string", "string").out("self", "string", "string").store("j", "timestamped_kv");
        s.dsl(b -> {
            KTable<String, String> l = b.table("left", CS()), r = b.table("right", CS());
            ValueJoiner<String, String, String> some = (x, y) -> y != null && y.endsWith("1") ? null : S(x) + "+" + S(y);
            l.leftJoin(r, some, kv("j", STR)).toStream().to("out", PS());
            l.outerJoin(r, some).filter((k, v) -> v.charAt(0) != 'n').toStream().to("outer", PS());
            l.leftJoin(l, some).toStream().to("self", PS());
        });
    }

    static KTable<String, String> joined(String kind, KTable<String, String> l, KTable<String, String> r, String store) {
        if (store == null) return switch (kind) {
            case "inner" -> l.join(r, PLUS);
            case "left" -> l.leftJoin(r, PLUS);
            default -> l.outerJoin(r, PLUS);
        };
        return switch (kind) {
            case "inner" -> l.join(r, PLUS, kv(store, STR));
            case "left" -> l.leftJoin(r, PLUS, kv(store, STR));
            default -> l.outerJoin(r, PLUS, kv(store, STR));
        };
    }

    static void streams() {
        Oracle.Scenario s = sc("to_table_rekeyed",
            "A stream with new keys as a table: repartitioned, null keys dropped, tombstones kept; filtered and grouped.",
            """
            t = builder.stream("in", STR, STR).select_key(lambda k, v: k if v is None else v[0]).to_table(Materialized.as_("t", STR, STR))
            t.to_stream().to("out")
            t.filter(lambda k, v: v[-1] > "4").to_stream().to("high")
            t.group_by(lambda k, v: (v[-1], v), Grouped.with_(STR, STR)).count(Materialized.as_("n")).to_stream().to("counts")
            """).headers();
        s.in("in", "string").nullVal(0.15).nullKey(0.1).keys("a", "b", "x");
        s.out("out", "string", "string").out("high", "string", "string").out("counts", "string", "long").store("t", "timestamped_kv").store("n", "timestamped_kv");
        s.dsl(b -> {
            KTable<String, String> t = b.stream("in", CS()).selectKey((k, v) -> v == null ? k : v.substring(0, 1)).toTable(kv("t", STR));
            t.toStream().to("out", PS());
            t.filter((k, v) -> v.charAt(v.length() - 1) > '4').toStream().to("high", PS());
            t.groupBy((k, v) -> KeyValue.pair(v.substring(v.length() - 1), v), GS()).count(kv("n", LNG)).toStream().to("counts", PL());
        });

        s = sc("stream_table_without_store",
            "A stream joined with tables that have no store: a filter's, a map_values' and a join's rows are worked out when they are asked for.",
            """
            t, u = builder.table("table", STR, STR), builder.stream("other", STR, STR).to_table()
            f = t.filter(lambda k, v: v[-1] != "2")
            s = builder.stream("stream", STR, STR)
            s.join(f.map_values(lambda v: v + "!"), PLUS).to("filtered")
            s.left_join(t.outer_join(u, PLUS), PLUS).to("joined")
            s.left_join(f.left_join(u, PLUS).map_values_with_key(lambda k, v: k + v), PLUS).to("mapped")
            """).steps(60).headers();
        s.in("stream", "string").uniq("S").nullVal(0.05).nullKey(0.05).weight(2).keys("A", "B", "C");
        s.in("table", "string").uniq("T").nullVal(0.2).keys("A", "B", "C");
        s.in("other", "string").uniq("U").nullVal(0.2).keys("A", "B", "C");
        s.out("filtered", "string", "string").out("joined", "string", "string").out("mapped", "string", "string");
        s.dsl(b -> {
            KTable<String, String> t = b.table("table", CS()), u = b.stream("other", CS()).toTable(), f = t.filter((k, v) -> !v.endsWith("2"));
            KStream<String, String> in = b.stream("stream", CS());
            in.join(f.mapValues(v -> v + "!"), PLUS).to("filtered", PS());
            in.leftJoin(t.outerJoin(u, PLUS), PLUS).to("joined", PS());
            in.leftJoin(f.leftJoin(u, PLUS).mapValues((k, v) -> k + v), PLUS).to("mapped", PS());
        });
    }

    static void windows() {
        Oracle.Scenario s = sc("table_of_windows",
            "Tables of windows and sessions filtered, joined and grouped: two tumbling counts joined by window, a session count filtered and summed by key.",
            """
            a, b = builder.stream("a", STR, STR).group_by_key(), builder.stream("b", STR, STR).group_by_key()
            windows = TimeWindows.of_size_and_grace(100, 30)
            x, y = a.windowed_by(windows).count(Materialized.as_("x")), b.windowed_by(windows).count(Materialized.as_("y"))
            x.outer_join(y, PLUS).to_stream().to("joined")
            x.filter(lambda wk, n: n > 1).join(y, PLUS).to_stream().to("many")
            s = a.windowed_by(SessionWindows.of_inactivity_gap_and_grace(40, 20)).count(Materialized.as_("s"))
            s.filter(lambda wk, n: n > 1).to_stream().to("sessions")
            s.group_by(lambda wk, n: (wk.key, n), Grouped.with_(STR, LONG)).reduce(add, subtract, Materialized.as_("sum", STR, LONG)).to_stream().to("sums")
            """).steps(70).headers();
        s.in("a", "string").keys("A", "B");
        s.in("b", "string").keys("A", "B");
        s.out("joined", "windowed_string", "string", 100).out("many", "windowed_string", "string", 100);
        s.out("sessions", "session_windowed_string", "long").out("sums", "string", "long");
        s.store("x", "timestamped_window").store("y", "timestamped_window").store("s", "session").store("sum", "timestamped_kv");
        s.dsl(b -> {
            KGroupedStream<String, String> a = b.stream("a", CS()).groupByKey(), c = b.stream("b", CS()).groupByKey();
            TimeWindows w = TimeWindows.ofSizeAndGrace(ms(100), ms(30));
            KTable<Windowed<String>, Long> x = a.windowedBy(w).count(win("x", LNG)), y = c.windowedBy(w).count(win("y", LNG));
            x.outerJoin(y, PLUS).toStream().to("joined", PW(100, STR));
            x.filter((wk, n) -> n > 1).join(y, PLUS).toStream().to("many", PW(100, STR));
            KTable<Windowed<String>, Long> t = a.windowedBy(SessionWindows.ofInactivityGapAndGrace(ms(40), ms(20))).count(ses("s", LNG));
            t.filter((wk, n) -> n > 1).toStream().to("sessions", PSE(LNG));
            t.groupBy((wk, n) -> KeyValue.pair(wk.key(), n), GL()).reduce(Long::sum, (p, q) -> p - q, kv("sum", LNG)).toStream().to("sums", PL());
        });
    }

    /** Numbers the calls for a key; a tombstone is passed on unless its number is a multiple of three. */
    static class Numbering implements ValueTransformerWithKey<String, Long, String> {
        private KeyValueStore<String, Long> seen;
        public void init(ProcessorContext c) { seen = c.getStateStore("seen"); }
        public String transform(String k, Long v) {
            Long before = seen.get(k);
            long n = before == null ? 1 : before + 1;
            seen.put(k, n);
            return v == null && n % 3 != 0 ? null : S(v) + "#" + n;
        }
        public void close() { }
    }

    static class Marking implements ValueTransformerWithKey<String, Long, String> {
        public void init(ProcessorContext c) { }
        public String transform(String k, Long v) { return v != null && v % 3 == 0 ? null : k + S(v); }
        public void close() { }
    }

    static void transformers() {
        Oracle.Scenario s = sc("table_transform_values",
            "KTable transformValues: with a store of the transformer's own, kept in a store, grouped with and without a store, and looked up by a stream; transformers see tombstones and absent rows.",
            """
            class Numbering:   # uses the store "seen" (STR -> LONG)
                def transform(k, v): n = (seen.get(k) or 0) + 1; seen.put(k, n); return None if v is None and n % 3 != 0 else S(v) + "#" + str(n)
            class Marking:
                def transform(k, v): return None if v is not None and v % 3 == 0 else k + S(v)
            builder.add_state_store(key_value_store("seen", STR, LONG))
            t = builder.table("in", STR, LONG)
            t.transform_values(Numbering, "seen").to_stream().to("numbered")
            m = t.transform_values(Marking, Materialized.as_("m", STR, STR))
            m.to_stream().to("kept")
            m.group_by(lambda k, v: (v[-1], v), Grouped.with_(STR, STR)).count(Materialized.as_("n")).to_stream().to("counts")
            p = t.transform_values(Marking)
            p.group_by(lambda k, v: (v[-1], v), Grouped.with_(STR, STR)).count(Materialized.as_("np")).to_stream().to("plain-counts")
            builder.stream("stream", STR, STR).left_join(p, PLUS).to("joined")
            """).steps(60).headers();
        s.in("in", "long").nullVal(0.2).nullKey(0.03).keys("A", "B", "C").weight(2);
        s.in("stream", "string").keys("A", "B", "C", "D");
        s.out("numbered", "string", "string").out("kept", "string", "string").out("counts", "string", "long").out("plain-counts", "string", "long").out("joined", "string", "string");
        s.store("seen", "kv").store("m", "timestamped_kv").store("n", "timestamped_kv").store("np", "timestamped_kv");
        s.dsl(b -> {
            b.addStateStore(kvStore("seen", LNG));
            KTable<String, Long> t = b.table("in", CL());
            t.transformValues(Numbering::new, "seen").toStream().to("numbered", PS());
            KTable<String, String> m = t.transformValues(Marking::new, kv("m", STR)), p = t.transformValues(Marking::new);
            m.toStream().to("kept", PS());
            m.groupBy((k, v) -> KeyValue.pair(v.substring(v.length() - 1), v), GS()).count(kv("n", LNG)).toStream().to("counts", PL());
            p.groupBy((k, v) -> KeyValue.pair(v.substring(v.length() - 1), v), GS()).count(kv("np", LNG)).toStream().to("plain-counts", PL());
            b.stream("stream", CS()).leftJoin(p, PLUS).to("joined", PS());
        });
    }
}
