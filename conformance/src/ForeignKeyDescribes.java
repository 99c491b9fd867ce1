import java.nio.file.*;
import java.util.Optional;
import java.util.Set;
import java.util.function.*;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.processor.*;

/** describe() texts of foreign-key joins. The same topologies in Python: describe_foreign_key_cases.py in tests/unit. */
final class ForeignKeyDescribes {
    static Path dir;
    static final ValueJoiner<String, String, String> J = (x, y) -> x;
    static final Function<String, String> FK = v -> v;

    static <K, V, X extends StateStore> Materialized<K, V, X> as(String name) { return Materialized.as(name); }

    static void dsl(String name, Consumer<StreamsBuilder> build) throws Exception {
        StreamsBuilder builder = new StreamsBuilder();
        build.accept(builder);
        Files.writeString(dir.resolve(name + ".txt"), builder.build().describe().toString());
    }

    static void add() throws Exception {
        dir = Describes.dir;
        dsl("foreign_key_joins", b -> {
            KTable<String, String> ta = b.table("a"), tb = b.table("b");
            ta.join(tb, FK, J).toStream().to("i");
            ta.leftJoin(tb, FK, J, TableJoined.as("fkn"), as("fks")).toStream().to("l");
        });
        dsl("foreign_key_chains", b -> {
            KTable<String, String> ta = b.table("a"), tb = b.table("b", as("bs")), tc = b.table("c");
            KTable<String, String> ab = ta.join(tb, FK, J);
            ab.leftJoin(tc, FK, J, as("abc")).toStream().to("abc");
            ab.filter((k, v) -> true).mapValues(v -> v).join(tc, FK, J, TableJoined.as("mapped")).toStream().to("m");
            tc.join(ab, FK, J).toStream().to("back");
        });
        dsl("foreign_key_self", b -> {
            KTable<String, String> ta = b.table("a");
            ta.join(ta, FK, J).toStream().to("self");
            ta.leftJoin(ta.filter((k, v) -> true), FK, J, TableJoined.as("again")).toStream().to("again");
        });
        dsl("foreign_key_result", b -> {
            KTable<String, String> ta = b.table("a"), tb = b.table("b");
            KTable<String, String> j = ta.leftJoin(tb, FK, J);
            j.groupBy(KeyValue::pair).count().toStream().to("counts");
            j.join(ta, J).toStream().to("joined");
            j.filter((k, v) -> true, as("fs")).toStream().to("filtered");
            b.<String, String>stream("s").join(j, J).to("looked-up");
            j.outerJoin(ta.join(tb, FK, J, as("js")), J, Named.as("two")).toStream().to("two");
        });
        dsl("foreign_key_rekeyed", b -> {
            KTable<String, String> ta = b.<String, String>stream("a").selectKey((k, v) -> v).toTable();
            KTable<String, String> tb = b.<String, String>stream("b").groupBy((k, v) -> v).reduce((x, y) -> x);
            ta.join(tb, FK, J, TableJoined.as("one")).toStream().to("one");
            tb.leftJoin(ta, (k, v) -> k, J, as("two")).toStream().to("two");
            KTable<String, String> tc = tb.groupBy(KeyValue::pair, Grouped.as("g")).reduce((x, y) -> x, (x, y) -> x);
            tc.leftJoin(ta.mapValues(v -> v), FK, J).toStream().to("three");
        });
        dsl("foreign_key_partitioners", b -> {
            StreamPartitioner<String, Void> p = (t, k, v, n) -> Optional.of(Set.of(0));
            KTable<String, String> ta = b.table("a"), tb = b.table("b");
            ta.join(tb, FK, J, TableJoined.with(p, p)).toStream().to("i");
            ta.leftJoin(tb, FK, J, TableJoined.with(p, p).withName("fkn")).toStream().to("l");
        });
        dsl("foreign_key_of_joins", b -> {
            KTable<String, String> ta = b.table("a"), tb = b.table("b"), tc = b.table("c");
            KTable<String, String> ab = ta.join(tb, J), bc = tb.mapValues(v -> v).leftJoin(tc, J, as("bc"));
            ab.join(bc, FK, J).toStream().to("i");
            bc.leftJoin(ab, FK, J).toStream(Named.as("named")).to("l");
            ab.join(tc, FK, J, TableJoined.as("x")).join(ta, FK, J, TableJoined.as("y")).toStream().to("xy");
        });
    }
}
