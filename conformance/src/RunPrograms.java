import com.fasterxml.jackson.databind.JsonNode;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.*;
import java.util.*;

/** args: a file with one program per line, an output folder. Runs each, as the recorder does, and writes its case, or its error. */
public final class RunPrograms {
    public static void main(String[] a) throws Exception {
        Path out = Path.of(a[1]);
        Files.createDirectories(out);
        for (String line : Files.readAllLines(Path.of(a[0]))) {
            JsonNode program = Program.JSON.readTree(line);
            String name = program.get("name").asText();
            try {
                Oracle.Scenario s = Program.scenario(program);
                List<Map<String, Object>> runs = new ArrayList<>();
                for (long seed : new long[] {1, 2}) runs.add(Oracle.run(s, seed));
                Files.writeString(out.resolve(name + ".json"), CaseFile.render(s, runs, Map.of()));
            } catch (Throwable e) {
                StringWriter trace = new StringWriter();
                e.printStackTrace(new PrintWriter(trace));
                Files.writeString(out.resolve(name + ".error"), trace.toString());
            }
        }
        System.exit(0);
    }
}
