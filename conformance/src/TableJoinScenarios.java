import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.state.*;

import java.util.*;
import java.util.stream.*;

/** Joins with tables and global tables. */
final class TableJoinScenarios extends Scenarios {
    static void add() {
        Oracle.Scenario s;
        for (String k : List.of("join", "left_join")) {
            String n = k.equals("join") ? "inner" : "left";
            boolean inner = n.equals("inner");
            s = sc("stream_table_" + n, "Stream-table " + n + " join with key in the joiner; table tombstones, null keys and null values on the stream. Stream records with a null value are dropped; with a null key they are " + (inner ? "dropped." : "kept (joined with null)."),
                """
                t = builder.table("table", STR, STR, Materialized.as_("t"))
                (builder.stream("stream", STR, STR)
                 .%s(t, lambda k, a, b: S(k) + ":" + S(a) + "+" + S(b)).to("out"))      # joiner with key
                """.formatted(k)).headers().steps(60);
            s.in("stream", "string").uniq("s").nullKey(0.06).weight(3);
            s.in("table", "string").uniq("t").nullKey(0.05).nullVal(0.25).weight(2);
            s.out("out", "string", "string").store("t", "timestamped_kv");
            s.dsl(b -> {
                KTable<String, String> t = b.table("table", CS(), kv("t", STR));
                ValueJoinerWithKey<String, String, String, String> j = (key, x, y) -> S(key) + ":" + S(x) + "+" + S(y);
                KStream<String, String> st = b.stream("stream", CS());
                (inner ? st.join(t, j) : st.leftJoin(t, j)).to("out", PS());
            });
        }

        s = sc("stream_table_inner_rekeyed",
            "Stream re-keyed by the letter of the value (null for x-values; so repartitioned), then inner join with a table keyed by letter. Null keys are dropped.",
            """
            t = builder.table("table", STR, LONG, Materialized.as_("t"))
            (builder.stream("stream", STR, STR)
             .select_key(lambda k, v: None if v is None or v[0] == "x" else v[0])
             .join(t, lambda a, b: S(a) + "+" + S(b), Joined.with_(STR, STR, LONG).with_name("j")).to("out"))
            """).headers();
        s.in("stream", "string").nullKey(0.06).weight(3);
        s.in("table", "long").keys("a", "b", "c").nullVal(0.25).weight(2);
        s.out("out", "string", "string").store("t", "timestamped_kv");
        s.dsl(b -> {
            KTable<String, Long> t = b.table("table", CL(), kv("t", LNG));
            b.stream("stream", CS()).selectKey((k, v) -> v == null || v.charAt(0) == 'x' ? null : v.substring(0, 1))
                .join(t, (x, y) -> S(x) + "+" + S(y), Joined.with(STR, STR, LNG, "j")).to("out", PS());
        });

        s = sc("stream_table_versioned_inner",
            "Stream-table inner join with a versioned table (history retention 200): the stream record sees the table as of its own timestamp. Table records may come late.",
            """
            t = builder.table("table", STR, STR, Materialized.as_(Stores.persistent_versioned_key_value_store("t", history_retention=200)))
            builder.stream("stream", STR, STR).join(t, lambda a, b: S(a) + "+" + S(b)).to("out")
            """).steps(70).time(25, 100, 400, 300);
        s.in("stream", "string").uniq("s").keys("A", "B", "C");
        s.in("table", "string").uniq("t").keys("A", "B", "C").nullVal(0.2);
        s.out("out", "string", "string").store("t", "versioned");
        s.dsl(b -> {
            KTable<String, String> t = b.table("table", CS(), versioned("t", 200, STR));
            b.stream("stream", CS()).join(t, (x, y) -> S(x) + "+" + S(y)).to("out", PS());
        });

        s = sc("stream_table_grace_inner",
            "Stream-table inner join with a versioned table (history retention 300) and a join grace period of 60: stream records wait in a buffer until stream time of the STREAM side (table records do not count) reaches their timestamp + grace; the output keeps the headers of the buffered record; late records beyond grace join at once.",
            """
            t = builder.table("table", STR, STR, Materialized.as_(Stores.persistent_versioned_key_value_store("t", history_retention=300)))
            (builder.stream("stream", STR, STR)
             .join(t, lambda a, b: S(a) + "+" + S(b), Joined.with_(STR, STR, STR).with_name("j").with_grace_period(60)).to("out"))
            """).headers().steps(70).time(25, 70, 200, 300);
        s.in("stream", "string").uniq("s").keys("A", "B", "C").nullKey(0.04);
        s.in("table", "string").uniq("t").keys("A", "B", "C").nullVal(0.2);
        s.out("out", "string", "string").store("t", "versioned");
        s.dsl(b -> {
            KTable<String, String> t = b.table("table", CS(), versioned("t", 300, STR));
            b.stream("stream", CS()).join(t, (x, y) -> S(x) + "+" + S(y), Joined.with(STR, STR, STR, "j", ms(60))).to("out", PS());
        });

        s = sc("stream_globaltable_inner",
            "Stream-globaltable inner join; the mapper takes the letter of the stream value as key (null for x-values and null values). Joiner with key gets the STREAM key.",
            """
            g = builder.global_table("global", STR, STR, Materialized.as_("g"))
            def mapper(k, v): return None if v is None or v[0] == "x" else v[0]
            builder.stream("stream", STR, STR).join(g, mapper, lambda k, a, b: S(k) + ":" + S(a) + "+" + S(b)).to("out")
            """).headers().steps(70);
        s.in("stream", "string").nullKey(0.08).nullVal(0.08).weight(3);
        s.in("global", "string").uniq("g").keys("a", "b", "c").nullVal(0.15).weight(2);
        s.out("out", "string", "string").store("g", "timestamped_kv");
        s.dsl(b -> {
            GlobalKTable<String, String> g = b.globalTable("global", CS(), kv("g", STR));
            KeyValueMapper<String, String, String> m = (key, v) -> v == null || v.charAt(0) == 'x' ? null : v.substring(0, 1);
            ValueJoinerWithKey<String, String, String, String> j = (key, x, y) -> S(key) + ":" + S(x) + "+" + S(y);
            b.stream("stream", CS()).join(g, m, j).to("out", PS());
        });

        s = sc("stream_globaltable_left",
            "As stream_globaltable_inner, but a left join: a record whose mapped key is null is kept, with no table value. Null stream values are dropped.",
            """
            g = builder.global_table("global", STR, STR, Materialized.as_("g"))
            def mapper(k, v): return None if v is None or v[0] == "x" else v[0]
            builder.stream("stream", STR, STR).left_join(g, mapper, lambda k, a, b: S(k) + ":" + S(a) + "+" + S(b)).to("out")
            """).headers().steps(70).like("stream_globaltable_inner");
        s.in("stream", "string").nullKey(0.08).nullVal(0.08).weight(3);
        s.in("global", "string").uniq("g").keys("a", "b", "c").nullVal(0.15).weight(2);
        s.out("out", "string", "string").store("g", "timestamped_kv");
        s.dsl(b -> {
            GlobalKTable<String, String> g = b.globalTable("global", CS(), kv("g", STR));
            KeyValueMapper<String, String, String> m = (key, v) -> v == null || v.charAt(0) == 'x' ? null : v.substring(0, 1);
            ValueJoinerWithKey<String, String, String, String> j = (key, x, y) -> S(key) + ":" + S(x) + "+" + S(y);
            b.stream("stream", CS()).leftJoin(g, m, j).to("out", PS());
        });

        s = sc("stream_globaltable_left_rekeyed",
            "A stream re-keyed by the letter of its value (null for x-values), then a left join with a global table by that key: no repartition, null keys are kept. A count by the new key follows, which repartitions and drops them.",
            """
            g = builder.global_table("global", STR, LONG, Materialized.as_("g"))
            j = (builder.stream("stream", STR, STR)
                 .select_key(lambda k, v: None if v is None or v[0] == "x" else v[0])
                 .left_join(g, lambda k, v: k, lambda a, b: S(a) + "+" + S(b)))
            j.to("out")
            j.group_by_key(Grouped.with_(STR, STR)).count(Materialized.as_("n")).to_stream().to("counts")
            """).headers().steps(70);
        s.in("stream", "string").nullKey(0.08).nullVal(0.08).weight(3);
        s.in("global", "long").keys("a", "b", "c").nullVal(0.2).weight(2);
        s.out("out", "string", "string").out("counts", "string", "long").store("g", "timestamped_kv").store("n", "timestamped_kv");
        s.dsl(b -> {
            GlobalKTable<String, Long> g = b.globalTable("global", CL(), kv("g", LNG));
            KStream<String, String> j = b.stream("stream", CS()).selectKey((k, v) -> v == null || v.charAt(0) == 'x' ? null : v.substring(0, 1))
                .leftJoin(g, (k, v) -> k, (x, y) -> S(x) + "+" + S(y));
            j.to("out", PS());
            j.groupByKey(GS()).count(kv("n", LNG)).toStream().to("counts", PL());
        });

        s = sc("stream_table_left_rekeyed",
            "As stream_table_inner_rekeyed, but a left join: null keys go through the repartition topic and come out with no table value.",
            """
            t = builder.table("table", STR, LONG, Materialized.as_("t"))
            (builder.stream("stream", STR, STR)
             .select_key(lambda k, v: None if v is None or v[0] == "x" else v[0])
             .left_join(t, lambda a, b: S(a) + "+" + S(b), Joined.with_(STR, STR, LONG).with_name("j")).to("out"))
            """).headers().like("stream_table_inner_rekeyed");
        s.in("stream", "string").nullKey(0.06).weight(3);
        s.in("table", "long").keys("a", "b", "c").nullVal(0.25).weight(2);
        s.out("out", "string", "string").store("t", "timestamped_kv");
        s.dsl(b -> {
            KTable<String, Long> t = b.table("table", CL(), kv("t", LNG));
            b.stream("stream", CS()).selectKey((k, v) -> v == null || v.charAt(0) == 'x' ? null : v.substring(0, 1))
                .leftJoin(t, (x, y) -> S(x) + "+" + S(y), Joined.with(STR, STR, LNG, "j")).to("out", PS());
        });

        s = sc("foreign_key_inner",
            "Foreign-key inner join of tables. Left value is <fk>|<n>, fk is p0..p3 or - (then the extractor gives null). Right is keyed p0..p3. Tombstones on both sides.",
            """
            l = builder.table("left", STR, STR, Materialized.as_("l"))
            r = builder.table("right", STR, STR, Materialized.as_("r"))
            def fk(v): x = v.split("|")[0]; return None if x == "-" else x
            j = l.join(r, fk, lambda a, b: S(a) + "+" + S(b), Materialized.as_("j", STR, STR))
            j.to_stream().to("out")
            """).headers().steps(70);
        s.in("left", "string").nullVal(0.15).weight(3).val((r, i) -> (r.nextInt(8) == 0 ? "-" : "p" + r.nextInt(4)) + "|" + i);
        s.in("right", "string").uniq("R").keys("p0", "p1", "p2", "p3").nullVal(0.2).weight(2);
        s.out("out", "string", "string").store("l", "timestamped_kv").store("r", "timestamped_kv").store("j", "timestamped_kv");
        s.dsl(b -> {
            KTable<String, String> l = b.table("left", CS(), kv("l", STR)), r = b.table("right", CS(), kv("r", STR));
            java.util.function.Function<String, String> fk = v -> v.startsWith("-") ? null : v.substring(0, v.indexOf('|'));
            l.join(r, fk, (x, y) -> S(x) + "+" + S(y), kv("j", STR)).toStream().to("out", PS());
        });

        for (String k : List.of("join", "left_join", "outer_join")) {
            String n = k.equals("join") ? "inner" : k.equals("left_join") ? "left" : "outer";
            s = sc("table_table_" + n, "Table-table " + n + " join with tombstones and out-of-order records; the result is materialized.",
                """
                l = builder.table("left", STR, STR, Materialized.as_("l"))
                r = builder.table("right", STR, STR, Materialized.as_("r"))
                l.%s(r, lambda a, b: S(a) + "+" + S(b), Materialized.as_("j", STR, STR)).to_stream().to("out")
                """.formatted(k)).steps(60).headers();
            tableInputs(s);
            s.store("j", "timestamped_kv");
            s.dsl(b -> {
                KTable<String, String> l = b.table("left", CS(), kv("l", STR)), r = b.table("right", CS(), kv("r", STR));
                ValueJoiner<String, String, String> j = (x, y) -> S(x) + "+" + S(y);
                (switch (n) {
                    case "inner" -> l.join(r, j, kv("j", STR));
                    case "left" -> l.leftJoin(r, j, kv("j", STR));
                    default -> l.outerJoin(r, j, kv("j", STR));
                }).toStream().to("out", PS());
            });
        }

        s = sc("table_table_inner_not_materialized",
            "As table_table_inner, same inputs, but the result is not materialized.",
            """
            l = builder.table("left", STR, STR, Materialized.as_("l"))
            r = builder.table("right", STR, STR, Materialized.as_("r"))
            l.join(r, lambda a, b: S(a) + "+" + S(b)).to_stream().to("out")
            """).steps(60).like("table_table_inner").headers();
        tableInputs(s);
        s.dsl(b -> {
            KTable<String, String> l = b.table("left", CS(), kv("l", STR)), r = b.table("right", CS(), kv("r", STR));
            l.join(r, (x, y) -> S(x) + "+" + S(y)).toStream().to("out", PS());
        });
    }

    static void tableInputs(Oracle.Scenario s) {
        s.in("left", "string").uniq("L").nullVal(0.25).nullKey(0.03).keys("A", "B", "C", "D");
        s.in("right", "string").uniq("R").nullVal(0.25).nullKey(0.03).keys("A", "B", "C", "D");
        s.out("out", "string", "string").store("l", "timestamped_kv").store("r", "timestamped_kv");
    }
}
