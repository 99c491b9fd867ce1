import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.Stores;

/** The topologies of benchmarks/driver.py in the Java test driver: DriverApp workload records-file state-folder. */
public class DriverApp {
    static final ObjectMapper JSON = new ObjectMapper();

    public static class Order {
        public String order_id;
        public String customer;
        public double amount;
        public String status;
        public long ts;
    }

    static final Serde<Order> ORDER = Serdes.serdeFrom(
        (topic, order) -> write(order),
        (Deserializer<Order>) (topic, bytes) -> read(bytes));

    static byte[] write(Order order) {
        try {
            return order == null ? null : JSON.writeValueAsBytes(order);
        } catch (Exception e) {
            throw new RuntimeException(e);
        }
    }

    static Order read(byte[] bytes) {
        try {
            return bytes == null ? null : JSON.readValue(bytes, Order.class);
        } catch (Exception e) {
            throw new RuntimeException(e);
        }
    }

    static Topology topology(String workload) {
        StreamsBuilder builder = new StreamsBuilder();
        var paid = builder.stream("in", Consumed.with(Serdes.String(), ORDER))
            .filter((key, order) -> !order.status.equals("cancelled"));
        switch (workload) {
            case "stateless" -> paid.mapValues(order -> {
                order.amount = order.amount * 1.2;
                return order;
            }).to("out", Produced.with(Serdes.String(), ORDER));
            case "count" -> count(paid.groupByKey(Grouped.with(Serdes.String(), ORDER)));
            case "rekeyed" -> count(paid.groupBy((key, order) -> order.customer, Grouped.with(Serdes.String(), ORDER)));
            default -> throw new IllegalArgumentException(workload);
        }
        return builder.build();
    }

    static void count(org.apache.kafka.streams.kstream.KGroupedStream<String, Order> grouped) {
        grouped.count(Materialized.<String, Long>as(Stores.persistentKeyValueStore("counts"))
                .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()).withCachingDisabled())
            .toStream().to("out", Produced.with(Serdes.String(), Serdes.Long()));
    }

    public static void main(String[] args) throws Exception {
        List<byte[][]> records = new ArrayList<>();
        try (BufferedReader lines = Files.newBufferedReader(Path.of(args[1]))) {
            for (String line; (line = lines.readLine()) != null; ) {
                int tab = line.indexOf('\t');
                records.add(new byte[][] {
                    line.substring(0, tab).getBytes(StandardCharsets.UTF_8),
                    line.substring(tab + 1).getBytes(StandardCharsets.UTF_8)});
            }
        }
        Properties config = new Properties();
        config.put(StreamsConfig.APPLICATION_ID_CONFIG, "driver");
        config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "none:9092");
        config.put(StreamsConfig.STATE_DIR_CONFIG, args[2]);
        config.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, "0");
        Deserializer<?> values = args[0].equals("stateless") ? ORDER.deserializer() : new LongDeserializer();
        long outputs = 0;
        try (TopologyTestDriver driver = new TopologyTestDriver(topology(args[0]), config)) {
            TestInputTopic<byte[], byte[]> in =
                driver.createInputTopic("in", new ByteArraySerializer(), new ByteArraySerializer(),
                    Instant.EPOCH, Duration.ofMillis(1));
            TestOutputTopic<String, ?> out = driver.createOutputTopic("out", new StringDeserializer(), values);
            int half = records.size() / 2;
            long begin = System.nanoTime(), middle = begin;
            for (int i = 0; i < records.size(); i++) {
                if (i == half) {
                    middle = System.nanoTime();
                }
                in.pipeInput(records.get(i)[0], records.get(i)[1]);
                if (i % 1000 == 999) {
                    outputs += out.readRecordsToList().size();
                }
            }
            outputs += out.readRecordsToList().size();
            long end = System.nanoTime();
            System.out.printf("{\"outputs\": %d, \"seconds\": %.6f, \"warm_seconds\": %.6f}%n",
                outputs, (end - begin) / 1e9, 2 * (end - middle) / 1e9);
        }
    }
}
