import java.nio.charset.StandardCharsets;
import java.util.*;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.*;
import org.apache.kafka.streams.errors.*;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.processor.api.Record;

/** Handlers of the user's own for everything that can go wrong with a record, with dead letters of their own. */
public final class ErrorScenarios extends Scenarios {
    static void add() {
        Oracle.Scenario s = sc("errors_custom_dead_letters",
            "Three handlers that skip what cannot be read, processed or written, and write dead letters of their own: the record as it was in its topic (or in the repartition topic), with what the handler knows of the place as headers.",
            """
            # every handler: resume with DeadLetter("dead", context.source_raw_key, context.source_raw_value, context.timestamp,
            #   context.headers + [("node", context.processor_node_id), ("place", topic + "/" + partition + "/" + offset)])
            # TEXT is a serde of longs as decimal text; FUSSY another one that cannot write multiples of 5
            s = builder.stream("in", STR, LONG).map_values(lambda v: 997 // (0 if v is None else v % 4), Named.as_("divide"))
            s.to("all", Produced.with_(STR, FUSSY).with_name("write"))
            (s.group_by(lambda k, v: None if k is None else k + str(v % 3), Grouped.with_(STR, TEXT).with_name("by"))
              .aggregate(lambda: 0, lambda k, v, a: a + v // (1 if (a + v) % 4 else 0), Named.as_("add"), Materialized.as_("sums", STR, LONG))
              .to_stream().to("sums", Produced.with_(STR, FUSSY).with_name("write-sums")))
            """).headers().steps(60)
                .conf("deserialization.exception.handler", Reading.class.getName())
                .conf("processing.exception.handler", Processing.class.getName())
                .conf("production.exception.handler", Writing.class.getName());
        s.in("in", "string").nullKey(0.05).keys("A", "B").val((r, i) -> r.nextInt(4) == 0 ? "v" + r.nextInt(10) : "1234567" + r.nextInt(10));
        s.out("all", "string", "string").out("sums", "string", "string").out("dead", "string", "string").store("sums", "timestamped_kv");
        s.dsl(b -> {
            KStream<String, Long> in = b.stream("in", CL()).mapValues(v -> 997 / (v == null ? 0 : v % 4), Named.as("divide"));
            in.to("all", Produced.with(STR, new Text(true)).withName("write"));
            in.groupBy((k, v) -> k == null ? null : k + v % 3, Grouped.<String, Long>as("by").withKeySerde(STR).withValueSerde(new Text(false)))
                .aggregate(() -> 0L, (k, v, a) -> a + v / ((a + v) % 4 == 0 ? 0 : 1), Named.as("add"), kv("sums", LNG))
                .toStream().to("sums", Produced.with(STR, new Text(true)).withName("write-sums"));
        });
    }

    static final class Text extends Serdes.WrapperSerde<Long> {
        Text(boolean fussy) {
            super((topic, v) -> {
                if (fussy && v != null && v % 5 == 0) throw new SerializationException("a multiple of 5");
                return v == null ? null : String.valueOf(v).getBytes(StandardCharsets.UTF_8);
            }, (topic, b) -> Long.parseLong(new String(b, StandardCharsets.UTF_8)));
        }
    }

    static List<ProducerRecord<byte[], byte[]>> letter(ErrorHandlerContext c) {
        RecordHeaders h = new RecordHeaders(c.headers());
        h.add("node", c.processorNodeId().getBytes(StandardCharsets.UTF_8));
        h.add("place", (c.topic() + "/" + c.partition() + "/" + c.offset()).getBytes(StandardCharsets.UTF_8));
        return List.of(new ProducerRecord<>("dead", null, c.timestamp(), c.sourceRawKey(), c.sourceRawValue(), h));
    }

    public static final class Reading implements DeserializationExceptionHandler {
        @Override public Response handleError(ErrorHandlerContext c, ConsumerRecord<byte[], byte[]> r, Exception e) { return Response.resume(letter(c)); }
        @Override public void configure(Map<String, ?> m) { }
    }

    public static final class Processing implements ProcessingExceptionHandler {
        @Override public Response handleError(ErrorHandlerContext c, Record<?, ?> r, Exception e) { return Response.resume(letter(c)); }
        @Override public void configure(Map<String, ?> m) { }
    }

    public static final class Writing implements ProductionExceptionHandler {
        @Override public Response handleSerializationError(ErrorHandlerContext c, ProducerRecord r, Exception e, SerializationExceptionOrigin o) { return Response.resume(letter(c)); }
        @Override public void configure(Map<String, ?> m) { }
    }
}
