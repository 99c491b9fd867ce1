import com.fasterxml.jackson.databind.JsonNode;

final class ProgramMore {
    static Program.Made make(Program p, JsonNode op) { throw new IllegalArgumentException(op.toString()); }
}
