// Records what Kafka's own hash gives: java -cp kafka-clients.jar Murmur2Fixture.java > murmur2.txt
// Each line: the key in hexadecimal, a blank, the hash as Java prints an int.
import java.util.HexFormat;
import java.util.Random;
import org.apache.kafka.common.utils.Utils;

class Murmur2Fixture {
    public static void main(String[] args) {
        Random random = new Random(20);
        for (int i = 0; i < 400; i++) {
            byte[] key = new byte[i < 40 ? i : i < 390 ? random.nextInt(64) : 200 + random.nextInt(400)];
            random.nextBytes(key);
            System.out.println(HexFormat.of().formatHex(key) + " " + Utils.murmur2(key));
        }
    }
}
