import com.fasterxml.jackson.databind.JsonNode;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.*;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.*;

import java.util.*;
import java.util.function.BiFunction;

/** The operations of a program that need more than a call: suppress, foreign keys, and processors with stores. */
@SuppressWarnings({"unchecked", "rawtypes"})
final class ProgramMore {
    static Program.Made make(Program p, JsonNode op) {
        return switch (op.get("op").asText()) {
            case "suppress" -> suppress(p, op);
            case "foreign_join" -> foreignJoin(p, op);
            case "process" -> process(p, op);
            case "process_values" -> processValues(p, op);
            default -> throw new IllegalArgumentException(op.toString());
        };
    }

    private static Program.Made suppress(Program p, JsonNode op) {
        KTable<Object, Object> t = p.input(op, 0).table();
        int most = op.path("most").asInt();
        if (!op.has("wait")) return p.same(op, t.suppress((Suppressed) Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded())));
        Suppressed.BufferConfig buffer = most == 0 ? Suppressed.BufferConfig.unbounded() : Suppressed.BufferConfig.maxRecords(most).emitEarlyWhenFull();
        return p.same(op, t.suppress(Suppressed.untilTimeLimit(Scenarios.ms(op.get("wait").asLong()), buffer)));
    }

    private static Program.Made foreignJoin(Program p, JsonNode op) {
        Program.Made l = p.input(op, 0), r = p.input(op, 1);
        String fn = op.get("fn").asText(), on = op.get("on").asText();
        BiFunction<Object, Object, Object> key = (k, v) -> ProgramFunctions.key(on, k, v);
        ValueJoiner<Object, Object, Object> j = (a, b) -> ProgramFunctions.join(fn, null, a, b);
        // The inner workings of the join need serdes for both rows, and take them from here or from the tables.
        Materialized m = p.table(op, l.key(), "string");
        KTable<Object, Object> made = op.get("kind").asText().equals("inner") ? l.table().join(r.table(), key, j, m) : l.table().leftJoin(r.table(), key, j, m);
        return new Program.Made(made, l.key(), "string");
    }

    private static StoreBuilder<KeyValueStore<Object, Object>> counts(Program p, JsonNode op) {
        String name = op.get("store").asText();
        p.scenario().store(name, "kv");
        return (StoreBuilder) Stores.keyValueStoreBuilder(Scenarios.mem() ? Stores.inMemoryKeyValueStore(name) : Stores.persistentKeyValueStore(name), Serdes.String(), Serdes.Long());
    }

    private static Program.Made process(Program p, JsonNode op) {
        p.builder().addStateStore(counts(p, op));
        String name = op.get("store").asText();
        JsonNode every = op.get("every");
        return new Program.Made(p.input(op, 0).stream().process(() -> new Processor<Object, Object, Object, Object>() {
            private ProcessorContext<Object, Object> context;
            private KeyValueStore<Object, Long> counts;
            public void init(ProcessorContext<Object, Object> c) {
                context = c;
                counts = c.getStateStore(name);
                if (every == null) return;
                PunctuationType type = every.get(0).asText().equals("stream") ? PunctuationType.STREAM_TIME : PunctuationType.WALL_CLOCK_TIME;
                c.schedule(Scenarios.ms(every.get(1).asLong()), type, this::tick);
            }
            private void tick(long time) {
                List<Object> done = new ArrayList<>();
                try (var all = counts.all()) {
                    all.forEachRemaining(row -> {
                        context.forward(new Record<>(row.key, "tick" + row.value, time));
                        if (row.value % 3 == 0) done.add(row.key);
                    });
                }
                done.forEach(counts::delete);
            }
            public void process(Record<Object, Object> r) {
                if (r.key() == null) {
                    context.forward(r.withValue("nobody"));
                    return;
                }
                Long before = counts.get(r.key());
                long n = before == null ? 1 : before + 1;
                counts.put(r.key(), n);
                context.forward(r.withKey((Object) ProgramFunctions.key("letter", r.key(), r.value())).withValue(ProgramFunctions.tail(n + "/" + ProgramFunctions.text(r.value()))));
            }
        }, name), "string", "string");
    }

    private static Program.Made processValues(Program p, JsonNode op) {
        p.builder().addStateStore(counts(p, op));
        String name = op.get("store").asText();
        return new Program.Made(p.input(op, 0).stream().processValues(() -> new FixedKeyProcessor<Object, Object, Object>() {
            private FixedKeyProcessorContext<Object, Object> context;
            private KeyValueStore<Object, Long> counts;
            public void init(FixedKeyProcessorContext<Object, Object> c) {
                context = c;
                counts = c.getStateStore(name);
            }
            public void process(FixedKeyRecord<Object, Object> r) {
                String key = ProgramFunctions.text(r.value()).substring(0, Math.min(1, ProgramFunctions.text(r.value()).length()));
                Long before = counts.get(key);
                counts.put(key, before == null ? 1L : before + 1);
                if (before != null) context.forward(r.withValue(ProgramFunctions.tail(before + "%" + ProgramFunctions.text(r.value()))));
            }
        }, name), p.input(op, 0).key(), "string");
    }
}
