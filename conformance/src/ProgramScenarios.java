import java.io.IOException;
import java.nio.file.*;

/** Topologies that are written as data: one per line of programs.jsonl, in the working directory. */
final class ProgramScenarios extends Scenarios {
    static void add() throws IOException {
        for (String line : Files.readAllLines(Path.of("programs.jsonl"))) L.add(Program.scenario(Program.JSON.readTree(line)));
    }
}
