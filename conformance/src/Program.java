import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.kafka.common.serialization.*;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;

import java.util.*;

/** A topology that is written as data: a list of operations, each on the results of earlier ones. */
@SuppressWarnings({"unchecked", "rawtypes"})
final class Program {
    static final ObjectMapper JSON = new ObjectMapper();

    /** What an operation made, and the kinds of its keys and values. A kind is "string", "long", "session" or the size of time windows. */
    record Made(Object handle, String key, String value) {
        KStream<Object, Object> stream() { return (KStream<Object, Object>) handle; }
        KTable<Object, Object> table() { return (KTable<Object, Object>) handle; }
    }

    private final JsonNode program;
    private final Map<String, Made> made = new HashMap<>();
    private StreamsBuilder builder;
    private Oracle.Scenario scenario;

    private Program(JsonNode program) { this.program = program; }

    static Oracle.Scenario scenario(JsonNode program) {
        StringBuilder lines = new StringBuilder();
        program.get("ops").forEach(op -> lines.append(op).append("\n"));
        Oracle.Scenario s = new Oracle.Scenario(program.get("name").asText(), "A topology that is written as data.", lines.toString());
        program.get("inputs").fields().forEachRemaining(in ->
            s.in(in.getKey(), in.getValue().asText()).keys("A", "B", "C").nullKey(0.05).nullVal(0.12));
        JsonNode time = program.get("time");
        s.time(time.get(0).asInt(), time.get(1).asInt(), time.get(2).asInt(), time.get(3).asInt()).steps(program.get("steps").asInt());
        if (program.get("headers").asBoolean()) s.headers();
        if (program.get("wall").asInt() > 0) s.wall(0.15, program.get("wall").asInt());
        if (program.has("config")) program.get("config").fields().forEachRemaining(e -> s.conf(e.getKey(), e.getValue().asText()));
        if (program.has("optimization")) s.conf("topology.optimization", program.get("optimization").asText());
        s.dsl(b -> new Program(program).build(b, s));
        s.topology();
        return s;
    }

    private void build(StreamsBuilder b, Oracle.Scenario s) {
        builder = b;
        scenario = s;
        for (JsonNode op : program.get("ops")) {
            Made result = make(op);
            if (op.has("id")) made.put(op.get("id").asText(), result);
        }
    }

    // ---------------------------------------------------------------- arguments
    private static String str(JsonNode op, String name) { return op.hasNonNull(name) ? op.get(name).asText() : null; }
    private static long num(JsonNode op, String name) { return op.get(name).asLong(); }
    private Made in(JsonNode op, int n) { return made.get(op.get("in").isArray() ? op.get("in").get(n).asText() : op.get("in").asText()); }
    private static Named named(JsonNode op) { return op.hasNonNull("name") ? Named.as(str(op, "name")) : null; }

    static Serde<Object> serde(String kind) {
        return (Serde) switch (kind) {
            case "string" -> Serdes.String();
            case "long" -> Serdes.Long();
            case "session" -> WindowedSerdes.sessionWindowedSerdeFrom(String.class);
            default -> WindowedSerdes.timeWindowedSerdeFrom(String.class, Long.parseLong(kind));
        };
    }

    private Materialized store(JsonNode op, String key, String value, String kind) {
        Materialized m;
        if (op.hasNonNull("store")) {
            m = Materialized.as(str(op, "store"));
            scenario.store(str(op, "store"), kind);
        } else m = Materialized.with(null, null);
        if (op.hasNonNull("retention")) m.withRetention(Scenarios.ms(num(op, "retention")));
        return m.withKeySerde(serde(key)).withValueSerde(serde(value));
    }

    private Materialized kv(JsonNode op, String key, String value) { return store(op, key, value, "timestamped_kv"); }

    // ---------------------------------------------------------------- operations
    private Made make(JsonNode op) {
        String fn = str(op, "fn");
        return switch (str(op, "op")) {
            case "stream" -> {
                List<String> topics = new ArrayList<>();
                op.get("topics").forEach(t -> topics.add(t.asText()));
                String kind = program.get("inputs").get(topics.get(0)).asText();
                yield new Made(builder.stream(topics, Consumed.with(serde("string"), serde(kind))), "string", kind);
            }
            case "table" -> {
                String kind = program.get("inputs").get(str(op, "topic")).asText();
                Consumed c = Consumed.with(serde("string"), serde(kind));
                if (op.has("history")) {
                    scenario.store(str(op, "store"), "versioned");
                    yield new Made(builder.table(str(op, "topic"), c, Scenarios.versioned(str(op, "store"), num(op, "history"), (Serde) serde(kind))), "string", kind);
                }
                yield new Made(op.hasNonNull("store") ? builder.table(str(op, "topic"), c, kv(op, "string", kind)) : builder.table(str(op, "topic"), c), "string", kind);
            }
            case "global_table" -> {
                String kind = program.get("inputs").get(str(op, "topic")).asText();
                Consumed c = Consumed.with(serde("string"), serde(kind));
                yield new Made(op.hasNonNull("store") ? builder.globalTable(str(op, "topic"), c, kv(op, "string", kind)) : builder.globalTable(str(op, "topic"), c), "string", kind);
            }
            case "filter" -> same(op, in(op, 0).stream().filter((k, v) -> ProgramFunctions.test(fn, k, v)));
            case "filter_not" -> same(op, in(op, 0).stream().filterNot((k, v) -> ProgramFunctions.test(fn, k, v)));
            case "map_values" -> new Made(in(op, 0).stream().mapValues((k, v) -> ProgramFunctions.value(fn, k, v)), in(op, 0).key, fn.equals("length") ? "long" : "string");
            case "flat_map_values" -> new Made(in(op, 0).stream().flatMapValues(v -> ProgramFunctions.values(v)), in(op, 0).key, "string");
            case "select_key" -> new Made(in(op, 0).stream().selectKey((k, v) -> ProgramFunctions.key(fn, k, v)), "string", in(op, 0).value);
            case "map" -> new Made(in(op, 0).stream().map((k, v) -> KeyValue.pair(ProgramFunctions.key(fn, k, v), ProgramFunctions.value("mark", k, v))), "string", "string");
            case "flat_map" -> new Made(in(op, 0).stream().flatMap((k, v) -> ProgramFunctions.pairs(k, v)), "string", "string");
            case "peek" -> same(op, in(op, 0).stream().peek((k, v) -> { }));
            case "merge" -> same(op, in(op, 0).stream().merge(in(op, 1).stream()));
            case "split" -> split(op);
            case "repartition" -> {
                Repartitioned r = Repartitioned.with(serde(in(op, 0).key), serde(in(op, 0).value));
                if (op.hasNonNull("name")) r = r.withName(str(op, "name"));
                yield same(op, in(op, 0).stream().repartition(r));
            }
            case "to_table" -> same(op, in(op, 0).stream().toTable(kv(op, in(op, 0).key, in(op, 0).value)));
            case "to" -> {
                Made m = in(op, 0);
                boolean windowed = !m.key.equals("string") && !m.key.equals("session");
                scenario.out(str(op, "topic"), m.key.equals("string") ? "string" : windowed ? "windowed_string" : "session_windowed_string", m.value, windowed ? Long.parseLong(m.key) : 0);
                m.stream().to(str(op, "topic"), Produced.with(serde(m.key), serde(m.value)));
                yield null;
            }
            case "aggregate" -> aggregate(op);
            case "cogroup" -> cogroup(op);
            case "stream_join" -> streamJoin(op);
            case "table_lookup" -> lookup(op);
            case "global_lookup" -> globalLookup(op);
            case "table_filter" -> {
                KTable t = in(op, 0).table();
                Predicate p = (k, v) -> ProgramFunctions.test(fn, k, v);
                yield same(op, op.hasNonNull("store") ? t.filter(p, kv(op, in(op, 0).key, in(op, 0).value)) : t.filter(p));
            }
            case "table_filter_not" -> {
                KTable t = in(op, 0).table();
                Predicate p = (k, v) -> ProgramFunctions.test(fn, k, v);
                yield same(op, op.hasNonNull("store") ? t.filterNot(p, kv(op, in(op, 0).key, in(op, 0).value)) : t.filterNot(p));
            }
            case "table_map_values" -> {
                KTable t = in(op, 0).table();
                ValueMapperWithKey f = (k, v) -> ProgramFunctions.value(fn, k, v);
                String kind = fn.equals("length") ? "long" : "string";
                yield new Made(op.hasNonNull("store") ? t.mapValues(f, kv(op, in(op, 0).key, kind)) : t.mapValues(f), in(op, 0).key, kind);
            }
            case "to_stream" -> fn == null ? same(op, in(op, 0).table().toStream())
                : new Made(in(op, 0).table().toStream((k, v) -> ProgramFunctions.key(fn, k, v)), "string", in(op, 0).value);
            case "table_join" -> tableJoin(op);
            case "table_group" -> tableGroup(op);
            default -> ProgramMore.make(this, op);
        };
    }

    Made same(JsonNode op, Object handle) { return new Made(handle, in(op, 0).key, in(op, 0).value); }
    Made input(JsonNode op, int n) { return in(op, n); }
    StreamsBuilder builder() { return builder; }
    Oracle.Scenario scenario() { return scenario; }
    Materialized table(JsonNode op, String key, String value) { return kv(op, key, value); }
    String kind(String topic) { return program.get("inputs").get(topic).asText(); }

    private Made split(JsonNode op) {
        BranchedKStream<Object, Object> b = in(op, 0).stream().split(Named.as(str(op, "prefix")));
        int n = 0;
        for (JsonNode f : op.get("fns")) b = b.branch((k, v) -> ProgramFunctions.test(f.asText(), k, v), Branched.as("b" + n++));
        Map<String, KStream<Object, Object>> all = op.get("rest").asBoolean() ? b.defaultBranch(Branched.as("rest")) : b.noDefaultBranch();
        for (JsonNode id : op.get("ids")) {
            String branch = id.asText().endsWith("rest") ? "rest" : "b" + id.asText().substring(id.asText().length() - 1);
            made.put(id.asText(), same(op, all.get(str(op, "prefix") + branch)));
        }
        return null;
    }

    private KGroupedStream<Object, Object> grouped(Made m, String by) {
        return by == null ? m.stream().groupByKey(Grouped.with(serde(m.key), serde(m.value)))
            : m.stream().groupBy((k, v) -> ProgramFunctions.key(by, k, v), Grouped.with((Serde) serde("string"), serde(m.value)));
    }

    private Made aggregate(JsonNode op) {
        Made m = in(op, 0);
        KGroupedStream<Object, Object> g = grouped(m, str(op, "by"));
        String how = str(op, "how"), key = str(op, "by") == null ? m.key : "string";
        String value = how.equals("count") ? "long" : how.startsWith("reduce") ? m.value : "string";
        boolean nulls = how.endsWith("_null");
        Reducer<Object> reducer = (x, y) -> ProgramFunctions.reduce(nulls, x, y);
        Initializer<Object> init = () -> "";
        Aggregator<Object, Object, Object> agg = (k, v, a) -> ProgramFunctions.aggregate(nulls, v, a);
        Merger<Object, Object> merge = (k, x, y) -> ProgramFunctions.tail(ProgramFunctions.text(x) + "|" + ProgramFunctions.text(y));
        boolean close = op.path("close").asBoolean(), bare = !op.hasNonNull("store") && !op.hasNonNull("retention");
        if (!op.hasNonNull("windows")) {
            Materialized mat = kv(op, key, value);
            KTable t = how.equals("count") ? (bare ? g.count() : g.count(mat)) : how.startsWith("reduce") ? g.reduce(reducer, mat) : g.aggregate(init, agg, mat);
            return new Made(t, key, value);
        }
        JsonNode w = op.get("windows");
        if (w.get(0).asText().equals("session")) {
            Materialized mat = store(op, key, value, "session");
            SessionWindowedKStream<Object, Object> s = g.windowedBy(SessionWindows.ofInactivityGapAndGrace(Scenarios.ms(w.get(1).asLong()), Scenarios.ms(w.get(2).asLong())));
            if (close) s = s.emitStrategy(EmitStrategy.onWindowClose());
            KTable t = how.equals("count") ? (bare ? s.count() : s.count(mat)) : how.startsWith("reduce") ? s.reduce(reducer, mat) : s.aggregate(init, agg, merge, mat);
            return new Made(t, "session", value);
        }
        Materialized mat = store(op, key, value, "timestamped_window");
        TimeWindowedKStream<Object, Object> s = w.get(0).asText().equals("sliding")
            ? g.windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(Scenarios.ms(w.get(1).asLong()), Scenarios.ms(w.get(2).asLong())))
            : g.windowedBy(time(w));
        if (close) s = s.emitStrategy(EmitStrategy.onWindowClose());
        KTable t = how.equals("count") ? (bare ? s.count() : s.count(mat)) : how.startsWith("reduce") ? s.reduce(reducer, mat) : s.aggregate(init, agg, mat);
        return new Made(t, w.get(1).asText(), value);
    }

    private static TimeWindows time(JsonNode w) {
        return TimeWindows.ofSizeAndGrace(Scenarios.ms(w.get(1).asLong()), Scenarios.ms(w.get(3).asLong())).advanceBy(Scenarios.ms(w.get(2).asLong()));
    }

    private Made cogroup(JsonNode op) {
        Aggregator<Object, Object, Object> agg = (k, v, a) -> ProgramFunctions.aggregate(false, v, a);
        Aggregator<Object, Object, Object> other = (k, v, a) -> ProgramFunctions.aggregate(true, v, a);
        CogroupedKStream<Object, Object> c = null;
        for (int i = 0; i < op.get("in").size(); i++) {
            KGroupedStream<Object, Object> g = grouped(in(op, i), op.get("by").get(i).isNull() ? null : op.get("by").get(i).asText());
            c = c == null ? g.cogroup(agg) : c.cogroup(g, other);
        }
        Initializer<Object> init = () -> "";
        if (!op.hasNonNull("windows")) return new Made(c.aggregate(init, kv(op, "string", "string")), "string", "string");
        JsonNode w = op.get("windows");
        switch (w.get(0).asText()) {
            case "session": {
                Merger<Object, Object> merge = (k, x, y) -> ProgramFunctions.tail(ProgramFunctions.text(x) + "|" + ProgramFunctions.text(y));
                return new Made(c.windowedBy(SessionWindows.ofInactivityGapAndGrace(Scenarios.ms(w.get(1).asLong()), Scenarios.ms(w.get(2).asLong())))
                    .aggregate(init, merge, store(op, "string", "string", "session")), "session", "string");
            }
            case "sliding":
                return new Made(c.windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(Scenarios.ms(w.get(1).asLong()), Scenarios.ms(w.get(2).asLong())))
                    .aggregate(init, store(op, "string", "string", "timestamped_window")), w.get(1).asText(), "string");
            default:
                return new Made(c.windowedBy(time(w)).aggregate(init, store(op, "string", "string", "timestamped_window")), w.get(1).asText(), "string");
        }
    }

    private Made streamJoin(JsonNode op) {
        Made l = in(op, 0), r = in(op, 1);
        JoinWindows w = JoinWindows.ofTimeDifferenceAndGrace(Scenarios.ms(Math.max(num(op, "before"), num(op, "after"))), Scenarios.ms(num(op, "grace")))
            .before(Scenarios.ms(num(op, "before"))).after(Scenarios.ms(num(op, "after")));
        StreamJoined sj = StreamJoined.with(serde(l.key), serde(l.value), serde(r.value));
        if (op.hasNonNull("name")) sj = sj.withName(str(op, "name"));
        String fn = str(op, "fn");
        ValueJoinerWithKey<Object, Object, Object, Object> j = (k, a, b) -> ProgramFunctions.join(fn, k, a, b);
        return new Made(switch (str(op, "kind")) {
            case "inner" -> l.stream().join(r.stream(), j, w, sj);
            case "left" -> l.stream().leftJoin(r.stream(), j, w, sj);
            default -> l.stream().outerJoin(r.stream(), j, w, sj);
        }, l.key, "string");
    }

    private Made lookup(JsonNode op) {
        Made l = in(op, 0), r = in(op, 1);
        String fn = str(op, "fn");
        ValueJoinerWithKey<Object, Object, Object, Object> j = (k, a, b) -> ProgramFunctions.join(fn, k, a, b);
        Joined joined = Joined.with(serde(l.key), serde(l.value), serde(r.value));
        if (op.hasNonNull("name")) joined = joined.withName(str(op, "name"));
        if (op.hasNonNull("grace")) joined = joined.withGracePeriod(Scenarios.ms(num(op, "grace")));
        return new Made(str(op, "kind").equals("inner") ? l.stream().join(r.table(), j, joined) : l.stream().leftJoin(r.table(), j, joined), l.key, "string");
    }

    private Made globalLookup(JsonNode op) {
        Made l = in(op, 0);
        GlobalKTable<Object, Object> g = (GlobalKTable<Object, Object>) in(op, 1).handle;
        String fn = str(op, "fn"), on = str(op, "on");
        KeyValueMapper<Object, Object, Object> mapper = (k, v) -> ProgramFunctions.key(on, k, v);
        ValueJoinerWithKey<Object, Object, Object, Object> j = (k, a, b) -> ProgramFunctions.join(fn, k, a, b);
        return new Made(str(op, "kind").equals("inner") ? l.stream().join(g, mapper, j) : l.stream().leftJoin(g, mapper, j), l.key, "string");
    }

    private Made tableJoin(JsonNode op) {
        Made l = in(op, 0), r = in(op, 1);
        String fn = str(op, "fn");
        ValueJoiner<Object, Object, Object> j = (a, b) -> ProgramFunctions.join(fn, null, a, b);
        KTable<Object, Object> a = l.table(), b = r.table();
        boolean kept = op.hasNonNull("store");
        Materialized m = kept ? kv(op, l.key, "string") : null;
        return new Made(switch (str(op, "kind")) {
            case "inner" -> kept ? a.join(b, j, m) : a.join(b, j);
            case "left" -> kept ? a.leftJoin(b, j, m) : a.leftJoin(b, j);
            default -> kept ? a.outerJoin(b, j, m) : a.outerJoin(b, j);
        }, l.key, "string");
    }

    private Made tableGroup(JsonNode op) {
        Made m = in(op, 0);
        String by = str(op, "by"), how = str(op, "how");
        KGroupedTable<Object, Object> g = m.table().groupBy((k, v) -> KeyValue.pair(ProgramFunctions.key(by, k, v), v), Grouped.with(serde("string"), serde(m.value)));
        String value = how.equals("count") ? "long" : how.equals("reduce") ? m.value : "string";
        Materialized mat = kv(op, "string", value);
        boolean bare = !op.hasNonNull("store");
        return new Made(switch (how) {
            case "count" -> (bare ? g.count() : g.count(mat));
            case "reduce" -> g.reduce((x, y) -> ProgramFunctions.reduce(false, x, y), (x, y) -> ProgramFunctions.subtract(x, y), mat);
            default -> {
                Initializer<Object> init = () -> "";
                Aggregator<Object, Object, Object> add = (k, v, a) -> ProgramFunctions.aggregate(false, v, a);
                Aggregator<Object, Object, Object> subtract = (k, v, a) -> ProgramFunctions.tail(ProgramFunctions.text(a) + "-" + ProgramFunctions.text(v));
                yield g.aggregate(init, add, subtract, mat);
            }
        }, "string", value);
    }
}
