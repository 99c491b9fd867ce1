import java.util.List;
import java.util.Random;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.*;

/** Foreign-key joins: left and inner, in chains, of a table with itself, of tables made of streams, and what comes after them. */
class ForeignKeyScenarios extends Scenarios {
    static final ValueJoiner<Object, Object, String> PLUS = (x, y) -> S(x) + "+" + S(y);
    static final Function<String, String> FK = v -> v.startsWith("-") ? null : v.substring(0, v.indexOf('|'));
    static final String DEF = "def fk(v): x = v.split(\"|\")[0]; return None if x == \"-\" else x\n";

    /** Values are <foreign key>|<number>. */
    static Object row(Random r, int i) { return (r.nextInt(7) == 0 ? "-" : "p" + r.nextInt(4)) + "|" + i; }

    static void add() {
        Oracle.Scenario s = sc("foreign_key_left",
            "Foreign-key left join, materialized, and the same not materialized with a joiner that gives null now and then. Null foreign keys, tombstones on both sides.",
            DEF + """
            l = builder.table("left", STR, STR)
            r = builder.table("right", STR, STR)
            l.left_join(r, fk, lambda a, b: S(a) + "+" + S(b), Materialized.as_("j", STR, STR)).to_stream().to("out")
            l.left_join(r, fk, lambda a, b: None if b is None or b[-1] == "3" else a + "*" + b, TableJoined.as_("some")).to_stream().to("some")
            """).headers().steps(60);
        s.in("left", "string").nullVal(0.15).nullKey(0.03).weight(3).keys("A", "B", "C", "DD").val(ForeignKeyScenarios::row);
        s.in("right", "string").uniq("R").keys("p0", "p1", "p2", "p3").nullVal(0.2).weight(2);
        s.out("out", "string", "string").out("some", "string", "string").store("j", "timestamped_kv");
        s.dsl(b -> {
            KTable<String, String> l = b.table("left", CS()), r = b.table("right", CS());
            l.leftJoin(r, FK, PLUS::apply, kv("j", STR)).toStream().to("out", PS());
            ValueJoiner<String, String, String> some = (x, y) -> y == null || y.endsWith("3") ? null : x + "*" + y;
            l.leftJoin(r, FK, some, TableJoined.as("some")).toStream().to("some", PS());
        });

        s = sc("foreign_key_chain",
            "A foreign-key join of a foreign-key join, inner then left and left then inner; the last result is joined back as the right side.",
            DEF + """
            plus = lambda a, b: S(a) + "+" + S(b)
            l = builder.table("left", STR, STR); r = builder.table("right", STR, STR); t = builder.table("third", STR, STR)
            lr = l.join(r, fk, plus)                                              # p1|5+p2|7
            lr.left_join(t, lambda v: fk(v.split("+")[1]), plus, Materialized.as_("lrt", STR, STR)).to_stream().to("lrt")
            rt = r.left_join(t, fk, plus, Materialized.as_("rt", STR, STR))
            l.join(rt, fk, plus).to_stream().to("l-rt")
            """).headers().steps(60);
        s.in("left", "string").nullVal(0.12).weight(3).keys("A", "B", "C").val(ForeignKeyScenarios::row);
        s.in("right", "string").nullVal(0.15).weight(2).keys("p0", "p1", "p2", "p3").val(ForeignKeyScenarios::row);
        s.in("third", "string").uniq("T").keys("p0", "p1", "p2", "p3").nullVal(0.2);
        s.out("lrt", "string", "string").out("l-rt", "string", "string").store("lrt", "timestamped_kv").store("rt", "timestamped_kv");
        s.dsl(b -> {
            KTable<String, String> l = b.table("left", CS()), r = b.table("right", CS()), t = b.table("third", CS());
            ValueJoiner<String, String, String> plus = PLUS::apply;
            Function<String, String> second = v -> FK.apply(v.substring(v.indexOf('+') + 1));
            l.join(r, FK, plus, TableJoined.with(null, null), Materialized.with(STR, STR))
                .leftJoin(t, second, plus, kv("lrt", STR)).toStream().to("lrt", PS());
            KTable<String, String> rt = r.leftJoin(t, FK, plus, kv("rt", STR));
            l.join(rt, FK, plus).toStream().to("l-rt", PS());
        });

        s = sc("foreign_key_result",
            "The result of a foreign-key join is grouped, filtered, joined with its own left table by key and looked up by a stream; it has no store of its own until one of them needs it.",
            DEF + """
            plus = lambda a, b: S(a) + "+" + S(b)
            l = builder.table("left", STR, STR); r = builder.table("right", STR, STR)
            j = l.left_join(r, fk, plus, Materialized.with_(STR, STR))
            j.filter(lambda k, v: v[-1] != "2").to_stream().to("filtered")
            j.group_by(lambda k, v: (v.split("+")[1], v), Grouped.with_(STR, STR)).count(Materialized.as_("n")).to_stream().to("counts")
            j.outer_join(l, plus).to_stream().to("joined")
            builder.stream("stream", STR, STR).left_join(j, plus).to("looked-up")
            """).headers().steps(60);
        s.in("left", "string").nullVal(0.15).weight(3).keys("A", "B", "C").val(ForeignKeyScenarios::row);
        s.in("right", "string").uniq("R").keys("p0", "p1", "p2", "p3").nullVal(0.2).weight(2);
        s.in("stream", "string").keys("A", "B", "C");
        s.out("filtered", "string", "string").out("counts", "string", "long").out("joined", "string", "string").out("looked-up", "string", "string").store("n", "timestamped_kv");
        s.dsl(b -> {
            KTable<String, String> l = b.table("left", CS()), r = b.table("right", CS());
            ValueJoiner<String, String, String> plus = PLUS::apply;
            KTable<String, String> j = l.leftJoin(r, FK, plus, Materialized.with(STR, STR));
            j.filter((k, v) -> !v.endsWith("2")).toStream().to("filtered", PS());
            j.groupBy((k, v) -> KeyValue.pair(v.split("\\+")[1], v), Grouped.with(STR, STR)).count(kv("n", LNG)).toStream().to("counts", PL());
            j.outerJoin(l, plus).toStream().to("joined", PS());
            b.stream("stream", CS()).leftJoin(j, plus).to("looked-up", PS());
        });

        s = sc("foreign_key_self",
            "A table joined with itself: a row names the row above it, perhaps itself; once more with the row two above.",
            DEF + """
            plus = lambda a, b: S(a) + "+" + S(b)
            t = builder.table("in", STR, STR)
            up = t.join(t, fk, plus)
            up.to_stream().to("up")
            t.left_join(up, fk, plus, TableJoined.as_("two"), Materialized.as_("two", STR, STR)).to_stream().to("two-up")
            """).headers().steps(60);
        s.in("in", "string").nullVal(0.12).keys("p0", "p1", "p2", "p3").val(ForeignKeyScenarios::row);
        s.out("up", "string", "string").out("two-up", "string", "string").store("two", "timestamped_kv");
        s.dsl(b -> {
            KTable<String, String> t = b.table("in", CS());
            ValueJoiner<String, String, String> plus = PLUS::apply;
            KTable<String, String> up = t.join(t, FK, plus, TableJoined.with(null, null), Materialized.with(STR, STR));
            up.toStream().to("up", PS());
            t.leftJoin(up, FK, plus, TableJoined.as("two"), kv("two", STR)).toStream().to("two-up", PS());
        });

        s = sc("foreign_key_rekeyed",
            "Both tables come from streams with new keys: one read as a table, one reduced. The foreign key is made of key and value.",
            """
            plus = lambda a, b: S(a) + "+" + S(b)
            l = builder.stream("left", STR, STR).select_key(lambda k, v: None if v is None else k + v[-1]).to_table(Materialized.as_("l", STR, STR))
            r = builder.stream("right", STR, STR).group_by(lambda k, v: k.lower() + v[-1], Grouped.with_(STR, STR)).reduce(lambda a, b: b if len(a) > 9 else a + b, Materialized.with_(STR, STR))
            l.join(r, lambda k, v: None if v[-1] == "7" else k.lower(), plus, TableJoined.as_("fk"), Materialized.as_("j", STR, STR)).to_stream().to("out")
            r.left_join(l, lambda k, v: k.upper(), plus).to_stream().to("back")
            """).headers().steps(60);
        s.in("left", "string").nullVal(0.05).keys("A", "B", "C");
        s.in("right", "string").nullVal(0).keys("A", "B", "C");
        s.out("out", "string", "string").out("back", "string", "string").store("l", "timestamped_kv").store("j", "timestamped_kv");
        s.dsl(b -> {
            ValueJoiner<String, String, String> plus = PLUS::apply;
            Function<String, String> last = v -> v.substring(v.length() - 1);
            KTable<String, String> l = b.stream("left", CS()).selectKey((k, v) -> v == null ? null : k + last.apply(v)).toTable(kv("l", STR));
            KTable<String, String> r = b.stream("right", CS()).groupBy((k, v) -> k.toLowerCase() + last.apply(v), Grouped.with(STR, STR))
                .reduce((x, y) -> x.length() > 9 ? y : x + y, Materialized.with(STR, STR));
            BiFunction<String, String, String> lower = (k, v) -> v.endsWith("7") ? null : k.toLowerCase(), upper = (k, v) -> k.toUpperCase();
            l.join(r, lower, plus, TableJoined.as("fk"), kv("j", STR)).toStream().to("out", PS());
            r.leftJoin(l, upper, plus).toStream().to("back", PS());
        });

        s = sc("foreign_key_without_stores",
            "Neither side has a store of its own: the left is mapped and filtered, the right is a join of two tables by key. Numbers as values, so that equal rows come again.",
            """
            mod = lambda v: "p" + str(v % 3)
            l = builder.table("left", STR, LONG).map_values(lambda v: None if v % 5 == 0 else v % 4).filter(lambda k, v: v != 2)
            r = builder.table("right", STR, LONG).outer_join(builder.table("other", STR, LONG), lambda a, b: S(a) + "&" + S(b))
            l.join(r, mod, lambda a, b: S(a) + "+" + S(b)).to_stream().to("l-r")
            l.left_join(r, mod, lambda a, b: S(a) + "+" + S(b)).to_stream().to("l-left-r")
            r.left_join(l, lambda v: v.split("&")[0], lambda a, b: S(a) + "+" + S(b)).to_stream().to("back")
            """).headers().steps(60);
        s.in("left", "long").nullVal(0.15).keys("A", "B", "1", "2").weight(2);
        s.in("right", "long").nullVal(0.2).keys("p0", "p1", "p2");
        s.in("other", "long").nullVal(0.2).keys("p0", "p1", "p2");
        for (String o : List.of("l-r", "l-left-r", "back")) s.out(o, "string", "string");
        s.dsl(b -> {
            KTable<String, Long> l = b.table("left", CL()).mapValues(v -> v % 5 == 0 ? null : Math.floorMod(v, 4L), Materialized.with(STR, LNG)).filter((k, v) -> v != 2);
            KTable<String, String> r = b.table("right", CL()).outerJoin(b.table("other", CL()), (x, y) -> S(x) + "&" + S(y));
            Function<Long, String> mod = v -> "p" + Math.floorMod(v, 3L);
            ValueJoiner<Long, String, String> plus = PLUS::apply;
            l.join(r, mod, plus).toStream().to("l-r", PS());
            l.leftJoin(r, mod, plus).toStream().to("l-left-r", PS());
            ValueJoiner<String, Long, String> back = PLUS::apply;
            r.leftJoin(l, (Function<String, String>) v -> v.split("&")[0], back).toStream().to("back", PS());
        });

        s = sc("foreign_key_versioned",
            "Foreign-key joins of versioned tables: changes out of order are not about the latest rows, so they are left out. A versioned left table with a plain right one, both versioned (the left without a store of its own), and a versioned result.",
            DEF + """
            plus = lambda a, b: S(a) + "+" + S(b)
            l = builder.table("left", STR, STR, Materialized.as_(Stores.persistent_versioned_key_value_store("l", history_retention=300)))
            r = builder.table("right", STR, STR, Materialized.as_(Stores.persistent_versioned_key_value_store("r", history_retention=300)))
            p = builder.table("plain", STR, STR)
            l.left_join(p, fk, plus, Materialized.as_("lp", STR, STR)).to_stream().to("l-p")
            f = l.filter(lambda k, v: v[-1] != "5")
            f.join(r, fk, plus, Materialized.as_(Stores.persistent_versioned_key_value_store("fr", history_retention=300))).to_stream().to("f-r")
            p.left_join(r, fk, plus).to_stream().to("p-r")
            """).steps(70).time(30, 90, 500, 200);
        s.in("left", "string").nullVal(0.15).weight(2).keys("A", "B", "C").val(ForeignKeyScenarios::row);
        s.in("right", "string").uniq("R").keys("p0", "p1", "p2", "p3").nullVal(0.2);
        s.in("plain", "string").keys("p0", "p1", "p2", "p3").nullVal(0.2).val(ForeignKeyScenarios::row);
        s.out("l-p", "string", "string").out("f-r", "string", "string").out("p-r", "string", "string");
        s.store("lp", "timestamped_kv").store("l", "versioned").store("fr", "versioned");
        s.dsl(b -> {
            KTable<String, String> l = b.table("left", CS(), versioned("l", 300, STR)), r = b.table("right", CS(), versioned("r", 300, STR)), p = b.table("plain", CS());
            ValueJoiner<String, String, String> plus = PLUS::apply;
            l.leftJoin(p, FK, plus, kv("lp", STR)).toStream().to("l-p", PS());
            l.filter((k, v) -> !v.endsWith("5")).join(r, FK, plus, versioned("fr", 300, STR)).toStream().to("f-r", PS());
            p.leftJoin(r, FK, plus).toStream().to("p-r", PS());
        });
    }
}
