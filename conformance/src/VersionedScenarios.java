import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.processor.ProcessorContext;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.*;

/** Versioned stores and tables: every join, aggregates, values, processors, expiry by segments. */
class VersionedScenarios extends Scenarios {
    static final ValueJoiner<Object, Object, String> PLUS = (x, y) -> S(x) + "+" + S(y);

    static <V> Materialized<String, V, KeyValueStore<Bytes, byte[]>> history(String n, long history, long segment, Serde<V> v) {
        return Materialized.<String, V>as(Stores.persistentVersionedKeyValueStore(n, ms(history), ms(segment)))
            .withKeySerde(STR).withValueSerde(v);
    }

    static void add() {
        joins();
        streamJoins();
        aggregates();
        values();
        processors();
    }

    static void joins() {
        Oracle.Scenario s = sc("versioned_table_joins",
            "A versioned table (history 150) joined with a plain one, from either side and with every kind of join: changes of the versioned side that are out of order have no result, those of the plain side do.",
            """
            v = builder.table("versioned", STR, STR, Materialized.as_(Stores.persistent_versioned_key_value_store("v", history_retention=150)))
            p = builder.table("plain", STR, STR, Materialized.as_("p"))
            plus = lambda a, b: S(a) + "+" + S(b)
            v.join(p, plus).to_stream().to("inner")
            v.left_join(p, plus).to_stream().to("left")
            v.outer_join(p, plus).to_stream().to("outer")
            p.left_join(v, plus).to_stream().to("right")
            """).steps(60).time(25, 80, 300, 200);
        s.in("versioned", "string").keys("A", "B").nullVal(0.2).uniq("v");
        s.in("plain", "string").keys("A", "B").nullVal(0.2).uniq("p");
        for (String topic : new String[] {"inner", "left", "outer", "right"}) s.out(topic, "string", "string");
        s.store("v", "versioned").store("p", "timestamped_kv");
        s.dsl(b -> {
            KTable<String, String> v = b.table("versioned", CS(), versioned("v", 150, STR));
            KTable<String, String> p = b.table("plain", CS(), kv("p", STR));
            v.join(p, PLUS).toStream().to("inner", PS());
            v.leftJoin(p, PLUS).toStream().to("left", PS());
            v.outerJoin(p, PLUS).toStream().to("outer", PS());
            p.leftJoin(v, PLUS).toStream().to("right", PS());
        });

        s = sc("versioned_join_kept",
            "Two versioned tables joined into a versioned store, whose rows are grouped (a change out of order is none), and into a plain one, whose rows are not versioned.",
            """
            a = builder.table("a", STR, STR, Materialized.as_(Stores.persistent_versioned_key_value_store("sa", history_retention=200)))
            b = builder.table("b", STR, STR, Materialized.as_(Stores.persistent_versioned_key_value_store("sb", history_retention=100)))
            plus = lambda x, y: S(x) + "+" + S(y)
            j = a.outer_join(b, plus, Materialized.as_(Stores.persistent_versioned_key_value_store("j", history_retention=120)))
            j.to_stream().to("joined")
            j.group_by(lambda k, v: (str(len(v)), v), Grouped.with_(STR, STR)).count(Materialized.as_("n")).to_stream().to("counts")
            p = a.join(b, plus, Materialized.as_("p"))
            p.group_by(lambda k, v: (str(len(v)), v), Grouped.with_(STR, STR)).count(Materialized.as_("m")).to_stream().to("plain")
            """).steps(60).time(25, 80, 300, 200);
        s.in("a", "string").keys("A", "B", "C").nullVal(0.15).uniq("a");
        s.in("b", "string").keys("A", "B", "C").nullVal(0.15).uniq("bb");
        s.out("joined", "string", "string").out("counts", "string", "long").out("plain", "string", "long");
        s.store("j", "versioned").store("n", "timestamped_kv").store("m", "timestamped_kv");
        s.dsl(b -> {
            KTable<String, String> x = b.table("a", CS(), versioned("sa", 200, STR)), y = b.table("b", CS(), versioned("sb", 100, STR));
            KTable<String, String> j = x.outerJoin(y, PLUS, versioned("j", 120, STR));
            j.toStream().to("joined", PS());
            j.groupBy((k, v) -> KeyValue.pair(String.valueOf(v.length()), v), GS()).count(kv("n", LNG)).toStream().to("counts", PL());
            x.join(y, PLUS, kv("p", STR)).groupBy((k, v) -> KeyValue.pair(String.valueOf(v.length()), v), GS()).count(kv("m", LNG))
                .toStream().to("plain", PL());
        });
    }

    static void streamJoins() {
        Oracle.Scenario s = sc("versioned_stream_join_views",
            "A stream joined with tables made of a versioned one that have no store of their own: filter and new values are looked up as of the record's time, a join of tables and a plain store as they are now.",
            """
            t = builder.table("table", STR, LONG, Materialized.as_(Stores.persistent_versioned_key_value_store("t", history_retention=300, segment_interval=40)))
            u = builder.table("other", STR, LONG, Materialized.as_(Stores.persistent_versioned_key_value_store("u", history_retention=100)))
            stream, plus = builder.stream("stream", STR, STR), lambda a, b: S(a) + "+" + S(b)
            stream.left_join(t.filter(lambda k, v: v % 2 == 0).map_values(lambda v: "m" + str(v)), plus).to("views")
            stream.left_join(t.transform_values(lambda k, v: S(k) + ":" + S(v)), plus).to("transformed")
            stream.left_join(t.join(u, lambda a, b: a * 100 + b), plus).to("joined")
            stream.left_join(t.map_values(lambda v: v + 1, Materialized.as_("plain")), plus).to("plain")
            stream.left_join(t.map_values(lambda v: v + 2, Materialized.as_(Stores.persistent_versioned_key_value_store("kept", history_retention=50))), plus).to("kept")
            """).steps(70).time(25, 100, 400, 200);
        s.in("stream", "string").keys("A", "B").uniq("s").weight(2);
        s.in("table", "long").keys("A", "B").nullVal(0.15).weight(2);
        s.in("other", "long").keys("A", "B").nullVal(0.15);
        for (String topic : new String[] {"views", "transformed", "joined", "plain", "kept"}) s.out(topic, "string", "string");
        s.store("t", "versioned").store("kept", "versioned").store("plain", "timestamped_kv");
        s.dsl(b -> {
            KTable<String, Long> t = b.table("table", CL(), history("t", 300, 40, LNG)), u = b.table("other", CL(), versioned("u", 100, LNG));
            KStream<String, String> stream = b.stream("stream", CS());
            stream.leftJoin(t.filter((k, v) -> v % 2 == 0).mapValues(v -> "m" + v), PLUS).to("views", PS());
            stream.leftJoin(t.transformValues(() -> new ValueTransformerWithKey<String, Long, String>() {
                @Override public void init(ProcessorContext context) { }
                @Override public String transform(String k, Long v) { return S(k) + ":" + S(v); }
                @Override public void close() { }
            }), PLUS).to("transformed", PS());
            stream.leftJoin(t.join(u, (x, y) -> x * 100 + y), PLUS).to("joined", PS());
            stream.leftJoin(t.mapValues(v -> v + 1, kv("plain", LNG)), PLUS).to("plain", PS());
            stream.leftJoin(t.mapValues(v -> v + 2, versioned("kept", 50, LNG)), PLUS).to("kept", PS());
        });

        s = sc("versioned_segments",
            "Stream-table left join with a table of few versions and short segments (history 60, segments of 7), made from a re-keyed stream: what was deleted, replaced and has expired, at the borders of segments.",
            """
            t = (builder.stream("table", STR, LONG).select_key(lambda k, v: "k" + str(0 if v is None else v % 2))
                 .to_table(Materialized.as_(Stores.persistent_versioned_key_value_store("t", history_retention=60, segment_interval=7))))
            builder.stream("stream", STR, STR).left_join(t, lambda a, b: S(a) + "+" + S(b)).to("out")
            t.to_stream().to("all")
            """).steps(90).time(7, 50, 90, 40);
        s.in("stream", "string").keys("k0", "k1").uniq("s");
        s.in("table", "long").keys("A").nullVal(0.3).weight(2);
        s.out("out", "string", "string").out("all", "string", "long").store("t", "versioned");
        s.dsl(b -> {
            KTable<String, Long> t = b.stream("table", CL()).selectKey((k, v) -> "k" + (v == null ? 0 : Math.floorMod(v, 2)))
                .toTable(history("t", 60, 7, LNG));
            b.stream("stream", CS()).leftJoin(t, PLUS).to("out", PS());
            t.toStream().to("all", PL());
        });
    }

    static void aggregates() {
        Oracle.Scenario s = sc("versioned_aggregates",
            "count, reduce and aggregate of a stream into versioned stores (history 100): a result that is older than the history, because another key has moved time on, is neither kept nor sent on. Grouped again, and asked as of a time by a join.",
            """
            g = builder.stream("in", STR, LONG).group_by_key(Grouped.with_(STR, LONG))
            versioned = lambda name: Materialized.as_(Stores.persistent_versioned_key_value_store(name, history_retention=100))
            c = g.count(versioned("c"))
            c.to_stream().to("counts")
            g.reduce(lambda a, b: a + b, versioned("r")).to_stream().to("sums")
            # a negative value deletes the row
            a = g.aggregate(lambda: "", lambda k, v, a: None if v < 0 else tail(a + str(v)), versioned("a"))
            a.filter(lambda k, v: len(v) % 2 == 0).to_stream().to("aggregates")
            c.group_by(lambda k, n: ("even" if n % 2 == 0 else "odd", n), Grouped.with_(STR, LONG)).reduce(lambda a, v: a + v, lambda a, v: a - v, Materialized.as_("by")).to_stream().to("parities")
            builder.stream("stream", STR, STR).join(c, lambda v, n: v + "@" + str(n)).to("joined")
            """).steps(60).time(25, 80, 300, 200);
        s.in("in", "long").keys("A", "B", "C").nullVal(0.1).weight(3);
        s.in("stream", "string").keys("A", "B", "C").uniq("s");
        s.out("counts", "string", "long").out("sums", "string", "long").out("aggregates", "string", "string");
        s.out("parities", "string", "long").out("joined", "string", "string");
        s.store("c", "versioned").store("r", "versioned").store("a", "versioned").store("by", "timestamped_kv");
        s.dsl(b -> {
            KGroupedStream<String, Long> g = b.stream("in", CL()).groupByKey(GL());
            KTable<String, Long> c = g.count(versioned("c", 100, LNG));
            c.toStream().to("counts", PL());
            g.reduce(Long::sum, versioned("r", 100, LNG)).toStream().to("sums", PL());
            g.aggregate(() -> "", (k, v, a) -> v < 0 ? null : tail(a + v), versioned("a", 100, STR))
                .filter((k, v) -> v.length() % 2 == 0).toStream().to("aggregates", PS());
            c.groupBy((k, n) -> KeyValue.pair(n % 2 == 0 ? "even" : "odd", n), GL()).reduce(Long::sum, (a, v) -> a - v, kv("by", LNG))
                .toStream().to("parities", PL());
            b.stream("stream", CS()).join(c, (v, n) -> v + "@" + n).to("joined", PS());
        });

        s = sc("versioned_groups",
            "A versioned table (history 200) grouped and aggregated into versioned stores (history 80), cogrouped streams likewise.",
            """
            versioned = lambda name, ms: Materialized.as_(Stores.persistent_versioned_key_value_store(name, history_retention=ms))
            g = builder.table("in", STR, LONG, versioned("t", 200)).group_by(lambda k, v: ("g" + str(v % 2), v), Grouped.with_(STR, LONG))
            g.count(versioned("n", 80)).to_stream().to("counts")
            g.reduce(lambda a, v: a + v, lambda a, v: a - v, versioned("red", 80)).to_stream().to("sums")
            g.aggregate(lambda: 0, lambda k, v, a: a + v * v, lambda k, v, a: a - v * v, versioned("agg", 80)).map_values(lambda v: v + 1).to_stream().to("squares")
            x, y = builder.stream("x", STR, STR).group_by_key(), builder.stream("y", STR, STR).group_by_key()
            x.cogroup(lambda k, v, a: tail(a + v)).cogroup(y, lambda k, v, a: tail(v + a)).aggregate(lambda: "", versioned("co", 80)).to_stream().to("cogrouped")
            """).steps(70).time(25, 80, 300, 200);
        s.in("in", "long").keys("A", "B", "C").nullVal(0.15).weight(2);
        s.in("x", "string").keys("A", "B").uniq("x");
        s.in("y", "string").keys("A", "B").uniq("y");
        s.out("counts", "string", "long").out("sums", "string", "long").out("squares", "string", "long").out("cogrouped", "string", "string");
        s.store("t", "versioned").store("n", "versioned").store("red", "versioned").store("agg", "versioned").store("co", "versioned");
        s.dsl(b -> {
            KGroupedTable<String, Long> g = b.table("in", CL(), versioned("t", 200, LNG))
                .groupBy((k, v) -> KeyValue.pair("g" + Math.floorMod(v, 2), v), GL());
            g.count(versioned("n", 80, LNG)).toStream().to("counts", PL());
            g.reduce(Long::sum, (a, v) -> a - v, versioned("red", 80, LNG)).toStream().to("sums", PL());
            g.aggregate(() -> 0L, (k, v, a) -> a + v * v, (k, v, a) -> a - v * v, versioned("agg", 80, LNG)).mapValues(v -> v + 1)
                .toStream().to("squares", PL());
            KGroupedStream<String, String> x = b.stream("x", CS()).groupByKey(GS()), y = b.stream("y", CS()).groupByKey(GS());
            x.<String>cogroup((k, v, a) -> tail(a + v)).cogroup(y, (k, v, a) -> tail(v + a)).aggregate(() -> "", versioned("co", 80, STR))
                .toStream().to("cogrouped", PS());
        });
    }

    static void values() {
        Oracle.Scenario s = sc("versioned_values",
            "Tables made of the rows of a versioned one: filters send on what is out of order and never hold a tombstone back; with a versioned store of their own they have its history, with a plain store they are not versioned, and settings without a name are neither a store nor versioned.",
            """
            versioned = lambda name, ms: Materialized.as_(Stores.persistent_versioned_key_value_store(name, history_retention=ms))
            t = builder.table("in", STR, LONG, versioned("t", 200))
            even = lambda k, v: v % 2 == 0
            t.filter(even).to_stream().to("filtered")
            t.filter_not(even, versioned("odd", 60)).to_stream().to("odd")
            t.filter(even, Materialized.as_("plain")).filter(lambda k, v: v > 2).to_stream().to("plain")
            t.map_values(lambda v: None if v == 0 else "m" + str(v), versioned("m", 100)).to_stream().to("mapped")
            group = lambda table, name, topic: table.group_by(lambda k, v: ("g", v), Grouped.with_(STR, LONG)).reduce(lambda a, v: a + v, lambda a, v: a - v, Materialized.as_(name)).to_stream().to(topic)
            group(t.filter(even), "r1", "g1")
            group(t.filter(even, Materialized.as_("p2")), "r2", "g2")
            group(t.filter(even, Materialized.with_(STR, LONG)), "r3", "g3")
            group(t.filter(even, versioned("v4", 60)), "r4", "g4")
            """).steps(60).time(25, 80, 300, 200);
        s.in("in", "long").keys("A", "B", "C").nullVal(0.15).nullKey(0.03);
        for (String topic : new String[] {"filtered", "odd", "plain", "g1", "g2", "g3", "g4"}) s.out(topic, "string", "long");
        s.out("mapped", "string", "string");
        s.store("t", "versioned").store("odd", "versioned").store("m", "versioned").store("v4", "versioned");
        s.store("plain", "timestamped_kv").store("r1", "timestamped_kv").store("r3", "timestamped_kv");
        s.dsl(b -> {
            KTable<String, Long> t = b.table("in", CL(), versioned("t", 200, LNG));
            Predicate<String, Long> even = (k, v) -> v % 2 == 0;
            t.filter(even).toStream().to("filtered", PL());
            t.filterNot(even, versioned("odd", 60, LNG)).toStream().to("odd", PL());
            t.filter(even, kv("plain", LNG)).filter((k, v) -> v > 2).toStream().to("plain", PL());
            t.mapValues(v -> v == 0 ? null : "m" + v, versioned("m", 100, STR)).toStream().to("mapped", PS());
            group(t.filter(even), "r1", "g1");
            group(t.filter(even, kv("p2", LNG)), "r2", "g2");
            group(t.filter(even, Materialized.with(STR, LNG)), "r3", "g3");
            group(t.filter(even, versioned("v4", 60, LNG)), "r4", "g4");
        });
    }

    static void group(KTable<String, Long> table, String store, String topic) {
        table.groupBy((k, v) -> KeyValue.pair("g", v), GL()).reduce(Long::sum, (a, v) -> a - v, kv(store, LNG)).toStream().to(topic, PL());
    }

    static void processors() {
        Oracle.Scenario s = sc("versioned_processor",
            "A processor over a versioned store (history 100, segments of 15): null deletes, a value above 6 deletes the version 30 ms before, others are put; it tells what it was answered, and what is valid now and 20 ms before the record.",
            """
            show = lambda r: "null" if r is None else str(r.value) + "@" + str(r.timestamp)
            def process(record):
                if record.value is None: answer = show(store.delete(record.key, record.timestamp))
                elif record.value > 6: answer = show(store.delete(record.key, max(0, record.timestamp - 30)))
                else: answer = "too late" if (to := store.put(record.key, record.value, record.timestamp)) == NOT_PUT else str(to)
                forward(record.with_value(answer + " " + show(store.get(record.key)) + " " + show(store.get(record.key, max(0, record.timestamp - 20)))))
            builder.add_state_store(Stores.versioned_key_value_store_builder(Stores.persistent_versioned_key_value_store("s", history_retention=100, segment_interval=15), STR, LONG))
            builder.stream("in", STR, LONG).process(process, "s").to("out")
            """).steps(80).time(20, 60, 200, 120);
        s.in("in", "long").keys("A", "B").nullVal(0.2);
        s.out("out", "string", "string").store("s", "versioned");
        s.dsl(b -> {
            b.addStateStore(Stores.versionedKeyValueStoreBuilder(
                Stores.persistentVersionedKeyValueStore("s", ms(100), ms(15)), STR, LNG));
            b.stream("in", CL()).process(() -> new ContextualProcessor<String, Long, String, String>() {
                String show(VersionedRecord<Long> r) { return r == null ? "null" : r.value() + "@" + r.timestamp(); }

                @Override
                public void process(Record<String, Long> record) {
                    VersionedKeyValueStore<String, Long> store = context().getStateStore("s");
                    String key = record.key(), answer;
                    if (record.value() == null) answer = show(store.delete(key, record.timestamp()));
                    else if (record.value() > 6) answer = show(store.delete(key, Math.max(0, record.timestamp() - 30)));
                    else {
                        long to = store.put(key, record.value(), record.timestamp());
                        answer = to == VersionedKeyValueStore.PUT_RETURN_CODE_NOT_PUT ? "too late" : String.valueOf(to);
                    }
                    context().forward(record.withValue(
                        answer + " " + show(store.get(key)) + " " + show(store.get(key, Math.max(0, record.timestamp() - 20)))));
                }
            }, "s").to("out", PS());
        });
    }
}
