import org.apache.kafka.common.serialization.*;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.processor.*;
import org.apache.kafka.streams.state.*;

import java.time.Duration;
import java.util.*;

/**
 * What the families of scenarios share. A family is a class named *Scenarios with a static add(), found by its name.
 * The text block beside each scenario is the specification that goes into the JSON; keep both the same.
 */
class Scenarios {
    static final Serde<String> STR = Serdes.String();
    static final Serde<Long> LNG = Serdes.Long();
    static final List<Oracle.Scenario> L = new ArrayList<>();

    static Oracle.Scenario sc(String name, String prose, String pseudo) {
        Oracle.Scenario s = new Oracle.Scenario(name, prose, pseudo);
        L.add(s);
        return s;
    }

    static Duration ms(long n) { return Duration.ofMillis(n); }
    static String S(Object o) { return String.valueOf(o); }
    static String E(String a) { return a == null ? "" : a; }
    static Consumed<String, String> CS() { return Consumed.with(STR, STR); }
    static Consumed<String, Long> CL() { return Consumed.with(STR, LNG); }
    static Produced<String, String> PS() { return Produced.with(STR, STR); }
    static Produced<String, Long> PL() { return Produced.with(STR, LNG); }
    static <V> Produced<Windowed<String>, V> PW(long size, Serde<V> v) { return Produced.with(WindowedSerdes.timeWindowedSerdeFrom(String.class, size), v); }
    static <V> Produced<Windowed<String>, V> PSE(Serde<V> v) { return Produced.with(WindowedSerdes.sessionWindowedSerdeFrom(String.class), v); }
    static Grouped<String, String> GS() { return Grouped.with(STR, STR); }
    static Grouped<String, Long> GL() { return Grouped.with(STR, LNG); }

    static <K, V, T extends StateStore> Materialized<K, V, T> c(Materialized<K, V, T> m) {
        return Oracle.mode.equals("caching_disabled") ? m.withCachingDisabled() : m;
    }
    static <V> Materialized<String, V, KeyValueStore<Bytes, byte[]>> kv(String n, Serde<V> v) {
        return c(Materialized.<String, V, KeyValueStore<Bytes, byte[]>>as(n).withKeySerde(STR).withValueSerde(v));
    }
    static <V> Materialized<String, V, WindowStore<Bytes, byte[]>> win(String n, Serde<V> v) {
        return c(Materialized.<String, V, WindowStore<Bytes, byte[]>>as(n).withKeySerde(STR).withValueSerde(v));
    }
    static <V> Materialized<String, V, SessionStore<Bytes, byte[]>> ses(String n, Serde<V> v) {
        return c(Materialized.<String, V, SessionStore<Bytes, byte[]>>as(n).withKeySerde(STR).withValueSerde(v));
    }
    static boolean mem() { return Oracle.mode.equals("in_memory"); }
    static <V> StoreBuilder<KeyValueStore<String, V>> kvStore(String n, Serde<V> v) {
        return Stores.keyValueStoreBuilder(mem() ? Stores.inMemoryKeyValueStore(n) : Stores.persistentKeyValueStore(n), STR, v);
    }
    static <V> StoreBuilder<TimestampedKeyValueStore<String, V>> tsKvStore(String n, Serde<V> v) {
        return Stores.timestampedKeyValueStoreBuilder(mem() ? Stores.inMemoryKeyValueStore(n) : Stores.persistentTimestampedKeyValueStore(n), STR, v);
    }
    static <V> StoreBuilder<WindowStore<String, V>> winStore(String n, Serde<V> v, long retention, long size, boolean dup) {
        return Stores.windowStoreBuilder(mem() ? Stores.inMemoryWindowStore(n, ms(retention), ms(size), dup)
                                               : Stores.persistentWindowStore(n, ms(retention), ms(size), dup), STR, v);
    }
    static <V> StoreBuilder<SessionStore<String, V>> sesStore(String n, Serde<V> v, long retention) {
        return Stores.sessionStoreBuilder(mem() ? Stores.inMemorySessionStore(n, ms(retention)) : Stores.persistentSessionStore(n, ms(retention)), STR, v);
    }
    static <V> Materialized<String, V, KeyValueStore<Bytes, byte[]>> versioned(String n, long history, Serde<V> v) {
        return Materialized.<String, V>as(Stores.persistentVersionedKeyValueStore(n, ms(history))).withKeySerde(STR).withValueSerde(v);
    }

    static String letter(String v) {
        if (v == null) return "A";
        int n = Integer.parseInt(v.substring(1));
        return n % 7 == 0 ? null : "ABC".substring(n % 3, n % 3 + 1);
    }
    static String tail(String s) { return s.length() <= 24 ? s : s.substring(s.length() - 24); }
}
