// Makes foreign_keys.txt: what the real Kafka Streams writes to the internal topics and changelogs of foreign-key joins,
// and hashes of its own.
//   javac -cp "libs/*" -d classes ForeignKeyFixture.java && java -cp "classes:libs/*" ForeignKeyFixture > foreign_keys.txt
// with kafka-streams, kafka-streams-test-utils and what they need in libs.

import java.util.*;
import java.util.function.Function;
import org.apache.kafka.common.serialization.*;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.internals.Murmur3;

public class ForeignKeyFixture {
    static final String[][] STEPS = {
        {"left", "A", "p1|x", "10"}, {"right", "p1", "R", "5"}, {"left", "A", "p1|y", "20"}, {"left", "A", "p2|y", "30"},
        {"left", "A", "p1|z", "40"}, {"left", "A", "-|z", "50"}, {"left", "A", "p1|zz", "60"}, {"left", "A", null, "70"},
        {"left", "B", "-|z", "71"}, {"left", "B", null, "72"}, {"left", "B", "p1|a value of more than sixteen bytes", "80"},
        {"left", "A", "p1|k", "81"}, {"right", "p1", "Q", "100"}, {"right", "p1", null, "90"}, {"left", "A", null, "110"},
        {"left", "C", "p9|1", "120"}, {"left", "C", null, "121"}, {"left", "D", null, "122"}, {"left", "B", "-|1", "95"}};

    static String hex(byte[] data) { return data == null ? "null" : HexFormat.of().formatHex(data); }

    public static void main(String[] args) {
        Random random = new Random(7);
        for (int i = 0; i < 70; i++) {
            byte[] data = new byte[i];
            random.nextBytes(data);
            long[] hash = Murmur3.hash128(data);
            System.out.println("hash " + hex(data) + " " + String.format("%016x%016x", hash[0], hash[1]));
        }
        run("inner");
        run("left");
    }

    static void run(String kind) {
        StreamsBuilder b = new StreamsBuilder();
        KTable<String, String> l = b.table("left"), r = b.table("right");
        Function<String, String> fk = v -> v.startsWith("-") ? null : v.substring(0, v.indexOf('|'));
        ValueJoiner<String, String, String> plus = (x, y) -> x + "+" + y;
        Materialized<String, String, KeyValueStore<Bytes, byte[]>> m = Materialized.as("j");
        (kind.equals("left") ? l.leftJoin(r, fk, plus, m) : l.join(r, fk, plus, m)).toStream().to("out");
        Properties p = new Properties();
        p.put("application.id", "app");
        p.put("statestore.cache.max.bytes", "0");
        p.put("default.key.serde", Serdes.StringSerde.class.getName());
        p.put("default.value.serde", Serdes.StringSerde.class.getName());
        try (TopologyTestDriver driver = new TopologyTestDriver(b.build(), p)) {
            StringSerializer text = new StringSerializer();
            ByteArrayDeserializer bytes = new ByteArrayDeserializer();
            for (String[] s : STEPS) {
                System.out.println(kind + " " + s[0] + " " + s[1] + " " + s[3] + " " + s[2]);
                driver.createInputTopic(s[0], text, text).pipeInput(s[1], s[2], Long.parseLong(s[3]));
                for (String topic : new TreeSet<>(driver.producedTopicNames())) {
                    var output = driver.createOutputTopic(topic, bytes, bytes);
                    for (var q : output.readRecordsToList())
                        System.out.println("  " + topic + " " + hex(q.key()) + " " + hex(q.value()) + " " + q.timestamp());
                }
            }
        }
    }
}
