import java.nio.file.*;
import java.time.Duration;
import java.util.function.Consumer;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.kstream.Suppressed.BufferConfig;

/** describe() texts of suppressed tables. The same topologies in Python: describe_suppress_cases.py in tests/unit. */
final class SuppressDescribes {
    static Path dir;
    static final ValueJoiner<String, String, String> J = (x, y) -> x;

    static void dsl(String name, Consumer<StreamsBuilder> build) throws Exception {
        StreamsBuilder builder = new StreamsBuilder();
        build.accept(builder);
        Files.writeString(dir.resolve(name + ".txt"), builder.build().describe().toString());
    }

    static Duration ms(long n) { return Duration.ofMillis(n); }
    static <K> Suppressed<K> soon() { return Suppressed.untilTimeLimit(ms(10), BufferConfig.maxRecords(1)); }

    static void add() throws Exception {
        dir = Describes.dir;
        dsl("windowed_suppress", b -> {
            b.<String, String>stream("in").groupByKey().windowedBy(TimeWindows.ofSizeAndGrace(ms(100), ms(10))).count()
                .suppress(Suppressed.untilWindowCloses(BufferConfig.unbounded())).toStream().to("out", Produced.with(WindowedSerdes.timeWindowedSerdeFrom(String.class, 100), null));
            b.<String, String>stream("in2").groupByKey().windowedBy(TimeWindows.ofSizeWithNoGrace(ms(100))).reduce((x, y) -> x, Named.as("red"), Materialized.as("rs"))
                .suppress(Suppressed.<Windowed>untilTimeLimit(ms(50), BufferConfig.maxRecords(10)).withName("sup")).toStream().to("out2", Produced.with(WindowedSerdes.timeWindowedSerdeFrom(String.class, 100), null));
        });
        dsl("suppress_chains", b -> {
            KTable<String, String> t = b.<String, String>table("in").filter((k, v) -> true).suppress(soon());
            t.mapValues(v -> v, Materialized.as("mv")).toStream().to("a");
            t.join(b.table("other"), J).toStream().to("b");
            b.<String, String>stream("s").join(t, J).to("c");
            t.groupBy(KeyValue::pair).count().toStream().to("d");
            t.suppress(SuppressDescribes.<String>soon().withName("again")).filter((k, v) -> true).leftJoin(t, J).toStream().to("e");
        });
    }
}
