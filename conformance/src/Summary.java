import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.*;

/** Counts what was recorded, by family and by scenario. */
final class Summary {
    private final StringBuilder details = new StringBuilder();
    private final Map<String, Integer> families = new LinkedHashMap<>();
    private String family;
    private int scenarios, runs, steps, outputs, rows;
    int described, failures;

    void family(String name) {
        family = name;
    }

    void add(Oracle.Scenario s, List<Map<String, Object>> all, String notes) {
        int n = 0, o = 0, r = 0;
        Map<String, Integer> perTopic = new LinkedHashMap<>();
        for (String t : s.out.keySet()) perTopic.put(t, 0);
        for (Map<String, Object> run : all) {
            n += ((List<?>) run.get("steps")).size();
            for (Object step : (List<?>) run.get("outputs"))
                for (var e : ((Map<?, ?>) step).entrySet()) perTopic.merge((String) e.getKey(), ((List<?>) e.getValue()).size(), Integer::sum);
            for (Object x : ((Map<?, ?>) run.get("stores")).values()) r += ((List<?>) x).size();
        }
        for (int x : perTopic.values()) o += x;
        details.append(String.format("%-44s steps %4d outputs %5d store rows %4d %s%s%n", s.name, n, o, r, perTopic, notes));
        families.merge(family, 1, Integer::sum);
        scenarios++;
        runs += all.size();
        steps += n;
        outputs += o;
        rows += r;
    }

    void failed(Oracle.Scenario s, Exception e) {
        StringWriter trace = new StringWriter();
        e.printStackTrace(new PrintWriter(trace));
        details.append("FAILED ").append(s.name).append(": ").append(trace);
        failures++;
    }

    String text() {
        StringBuilder b = new StringBuilder(String.format("%d scenarios, %d runs, %d steps, %d output records, %d store rows%n", scenarios, runs, steps, outputs, rows));
        b.append(String.format("%d describe() texts of scenarios, %d of topologies on their own%n", scenarios, described));
        if (failures > 0) b.append(failures).append(" FAILED\n");
        families.forEach((name, n) -> b.append(String.format("%n%-12s %d", name, n)));
        return b.append("\n\n").append(details).toString();
    }
}
