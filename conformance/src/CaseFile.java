import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;

import java.util.*;

/**
 * Writes a case: the specification, then one line per step. Records are arrays:
 * [topic, key, value, timestamp, header name, header text, ...]; a windowed key is [key, start, end].
 */
final class CaseFile {
    private static final ObjectMapper JSON = new ObjectMapper();

    static String json(Object o) {
        try { return JSON.writeValueAsString(o); } catch (JsonProcessingException e) { throw new IllegalStateException(e); }
    }

    static String render(Oracle.Scenario s, List<Map<String, Object>> runs, Map<String, Object> variants) {
        StringBuilder b = new StringBuilder("{\n");
        field(b, "scenario", s.name);
        field(b, "kafka_version", "4.3.1");
        field(b, "description", s.prose);
        lines(b.append("\"topology\":"), List.of(s.pseudo.split("\n")), ",\n");
        lines(b.append("\"describe\":"), List.of(s.topology().describe().toString().split("\n", -1)), ",\n");
        field(b, "config", s.config);
        field(b, "initial_wall_clock_ms", 0);
        if (s.commitEvery > 1) field(b, "commit_every", s.commitEvery);
        Map<String, Object> ins = new LinkedHashMap<>();
        s.in.values().forEach(i -> ins.put(i.topic, Oracle.ordered("key", "string", "value", i.vkind)));
        field(b, "input_topics", ins);
        Map<String, Object> outs = new LinkedHashMap<>();
        s.out.forEach((t, o) -> {
            Map<String, Object> m = Oracle.ordered("key", o.kkind(), "value", o.vkind());
            if (o.kkind().equals("windowed_string")) m.put("window_size", o.windowSize());
            outs.put(t, m);
        });
        field(b, "output_topics", outs);
        field(b, "stores", s.stores);
        field(b, "has_headers", s.headers);
        field(b, "variants", variants);
        b.append("\"runs\":[\n");
        for (int i = 0; i < runs.size(); i++) {
            run(b, runs.get(i));
            b.append(i + 1 < runs.size() ? ",\n" : "\n");
        }
        return b.append("]}\n").toString();
    }

    @SuppressWarnings("unchecked")
    private static void run(StringBuilder b, Map<String, Object> run) {
        b.append("{\"seed\":").append(run.get("seed")).append(",\"steps\":");
        List<Map<String, Object>> steps = (List<Map<String, Object>>) run.get("steps");
        List<Map<String, List<Map<String, Object>>>> outputs = (List<Map<String, List<Map<String, Object>>>>) run.get("outputs");
        List<Object> all = new ArrayList<>();
        for (int n = 0; n < steps.size(); n++) {
            Map<String, Object> in = steps.get(n);
            List<Object> step = new ArrayList<>();
            step.add(in.containsKey("topic") ? record((String) in.get("topic"), in) : in.get("ms"));
            outputs.get(n).forEach((topic, records) -> records.forEach(r -> step.add(record(topic, r))));
            all.add(step);
        }
        lines(b, all, ",\n");
        b.append("\"stores\":{");
        String next = "\n";
        for (var store : ((Map<String, List<Map<String, Object>>>) run.get("stores")).entrySet()) {
            List<Object> rows = new ArrayList<>();
            store.getValue().forEach(r -> rows.add(row(r)));
            b.append(next).append(json(store.getKey())).append(":").append(json(rows));
            next = ",\n";
        }
        b.append("}}");
    }

    @SuppressWarnings("unchecked")
    private static List<Object> record(String topic, Map<String, Object> r) {
        List<Object> flat = new ArrayList<>();
        flat.add(topic);
        flat.add(key(r.get("key")));
        flat.add(r.get("value"));
        flat.add(r.get("timestamp"));
        for (List<Object> header : (List<List<Object>>) r.getOrDefault("headers", List.of())) flat.addAll(header);
        return flat;
    }

    @SuppressWarnings("unchecked")
    private static Object key(Object k) {
        return k instanceof Map ? List.copyOf(((Map<String, Object>) k).values()) : k;
    }

    /** All that a row has, but for `found`: what is not found has nothing more. */
    private static List<Object> row(Map<String, Object> r) {
        List<Object> flat = new ArrayList<>();
        r.forEach((name, value) -> { if (!name.equals("found")) flat.add(value); });
        return flat;
    }

    private static void field(StringBuilder b, String name, Object value) {
        b.append(json(name)).append(":").append(json(value)).append(",\n");
    }

    private static void lines(StringBuilder b, List<?> items, String after) {
        b.append("[\n");
        for (int i = 0; i < items.size(); i++) b.append(json(items.get(i))).append(i + 1 < items.size() ? ",\n" : "\n");
        b.append("]").append(after);
    }
}
