import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.*;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.processor.*;
import org.apache.kafka.streams.processor.api.*;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.*;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.*;
import java.util.stream.*;

/** The scenarios. The text block beside each is the specification that goes into the JSON; keep both the same. */
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

    static List<Oracle.Scenario> all() {
        L.clear();
        stateless();
        aggregations();
        windows();
        finals();
        streamJoins();
        tableJoins();
        tables();
        TableScenarios.add();
        cogroups();
        processors();
        chains();
        StreamScenarios.add();
        return L;
    }

    // ============================================================ stateless
    static void stateless() {
        Oracle.Scenario s = sc("stateless_chain",
            "Every stateless operator in one chain. Values are a letter (a, b, c, x) and a digit, or null. Null keys occur. Headers are kept by every operator.",
            """
            s = builder.stream("in", STR, STR)
            f = (s.filter(lambda k, v: v is not None)
                  .filter_not(lambda k, v: v.startswith("x"))
                  .map_values(lambda v: v.upper())
                  .peek(lambda k, v: None))
            (f.map(lambda k, v: (S(k) + ":" + v[0], v))
              .flat_map(lambda k, v: [(k + "#" + str(i), v + str(i)) for i in range(int(v[1]) % 3)])
              .flat_map_values(lambda v: [v, v[::-1]])
              .select_key(lambda k, v: v[0] + "/" + k)
              .to("out"))
            f.map_values_with_key(lambda k, v: S(k) + "=" + v).to("out2")
            s.map_values(lambda v: None if v is not None and v.startswith("a") else v).to("out3")
            """).headers();
        s.in("in", "string").nullKey(0.1).nullVal(0.1);
        s.out("out", "string", "string").out("out2", "string", "string").out("out3", "string", "string");
        s.dsl(b -> {
            KStream<String, String> in = b.stream("in", CS());
            KStream<String, String> f = in.filter((k, v) -> v != null).filterNot((k, v) -> v.startsWith("x"))
                .mapValues(v -> v.toUpperCase()).peek((k, v) -> { });
            f.map((k, v) -> KeyValue.pair(S(k) + ":" + v.charAt(0), v))
                .flatMap((k, v) -> IntStream.range(0, (v.charAt(1) - '0') % 3).mapToObj(i -> KeyValue.pair(k + "#" + i, v + i)).collect(Collectors.toList()))
                .flatMapValues(v -> List.of(v, new StringBuilder(v).reverse().toString()))
                .selectKey((k, v) -> v.charAt(0) + "/" + k)
                .to("out", PS());
            f.mapValues((k, v) -> S(k) + "=" + v).to("out2", PS());
            in.mapValues(v -> v != null && v.startsWith("a") ? null : v).to("out3", PS());
        });

        s = sc("stateless_split_merge",
            "split with a named prefix, four branches (as, with_function, with_consumer, default), then merge of branches. A record goes to the FIRST branch whose predicate is true.",
            """
            s = builder.stream("in", STR, STR)
            br = (s.split(Named.as_("br-"))
                   .branch(lambda k, v: v is None, Branched.as_("nulls"))
                   .branch(lambda k, v: int(v[1]) % 2 == 0, Branched.with_function(lambda ks: ks.map_values(lambda v: "even:" + v), "even"))
                   .branch(lambda k, v: v[0] == "a", Branched.with_consumer(lambda ks: ks.to("out-a")))
                   .default_branch(Branched.as_("rest")))
            # br has exactly the keys br-nulls, br-even, br-rest
            merged = br["br-nulls"].map_values(lambda v: "NULL").merge(br["br-even"]).merge(br["br-rest"])
            merged.to("merged")
            br["br-rest"].to("rest")
            # a second split without default: what matches no branch is dropped
            s2 = s.split().branch(lambda k, v: v is not None and v[0] == "b", Branched.with_consumer(lambda ks: ks.to("only-b"))).no_default_branch()
            """);
        s.in("in", "string").nullKey(0.05).nullVal(0.12);
        s.out("out-a", "string", "string").out("merged", "string", "string").out("rest", "string", "string").out("only-b", "string", "string");
        s.dsl(b -> {
            KStream<String, String> in = b.stream("in", CS());
            Map<String, KStream<String, String>> br = in.split(Named.as("br-"))
                .branch((k, v) -> v == null, Branched.as("nulls"))
                .branch((k, v) -> (v.charAt(1) - '0') % 2 == 0, Branched.withFunction(ks -> ks.mapValues(v -> "even:" + v), "even"))
                .branch((k, v) -> v.charAt(0) == 'a', Branched.withConsumer(ks -> ks.to("out-a", PS())))
                .defaultBranch(Branched.as("rest"));
            if (!br.keySet().equals(Set.of("br-nulls", "br-even", "br-rest"))) throw new IllegalStateException(br.keySet().toString());
            br.get("br-nulls").mapValues(v -> "NULL").merge(br.get("br-even")).merge(br.get("br-rest")).to("merged", PS());
            br.get("br-rest").to("rest", PS());
            in.split().branch((k, v) -> v != null && v.charAt(0) == 'b', Branched.withConsumer(ks -> ks.to("only-b", PS()))).noDefaultBranch();
        });

        s = sc("merge_two_topics",
            "Two source topics, each mapped, then merged.",
            """
            a = builder.stream("a", STR, STR)
            b = builder.stream("b", STR, STR)
            a.map_values(lambda v: "a-" + S(v)).merge(b.map_values(lambda v: "b-" + S(v))).to("out")
            """).steps(40).headers();
        s.in("a", "string").nullKey(0.1);
        s.in("b", "string").nullKey(0.1);
        s.out("out", "string", "string");
        s.dsl(b -> b.stream("a", CS()).mapValues(v -> "a-" + S(v)).merge(b.stream("b", CS()).mapValues(v -> "b-" + S(v))).to("out", PS()));

        s = sc("topic_routing_by_key",
            "The sink chooses the topic per record by a TopicNameExtractor that looks at the key only; a null key goes to out-other.",
            """
            builder.stream("in", STR, STR).to(lambda k, v, ctx: "out-vowel" if k in ("A", "E") else "out-other")
            """).headers();
        s.in("in", "string").nullKey(0.08);
        s.out("out-vowel", "string", "string").out("out-other", "string", "string");
        s.dsl(b -> b.stream("in", CS()).to((k, v, ctx) -> "A".equals(k) || "E".equals(k) ? "out-vowel" : "out-other", PS()));

        s = sc("timestamp_extractor",
            "The timestamp is the number in the value; values without one get the highest time seen in the partition; negative ones are dropped.",
            """
            def extract(record, partition_time):
                if record.value is None: return partition_time
                n = int(record.value[1:])
                return -1 if n % 10 == 7 else n
            (builder.stream("in", STR, STR, timestamp_extractor=extract)
             .map_values(lambda v: S(v)).group_by_key().count(Materialized.as_("counts")).to_stream().to("out"))
            """);
        s.in("in", "string").keys("A", "B", "C").nullVal(0.15).val((r, i) -> "v" + r.nextInt(1000));
        s.out("out", "string", "long").store("counts", "timestamped_kv");
        s.dsl(b -> b.stream("in", Consumed.with(STR, STR).withTimestampExtractor((record, partitionTime) -> {
            if (record.value() == null) return partitionTime;
            long n = Long.parseLong(((String) record.value()).substring(1));
            return n % 10 == 7 ? -1 : n;
        })).mapValues(v -> S(v)).groupByKey().count(kv("counts", LNG)).toStream().to("out", PL()));

        s = sc("errors_continue_dead_letters",
            "Records that cannot be read as a long (not 8 bytes), or whose callback fails, are skipped and go to a dead letter topic as they were in the input; what comes before the failing node, and its siblings, goes on. The dead letter's headers are not recorded here.",
            """
            s = builder.stream("in", STR, LONG)
            s.map_values(lambda v: 0 if v is None else v % 10).to("first")
            s.filter(lambda k, v: v is not None).map_values(lambda v: 1000 // (v % 4)).to("second")
            s.map_values(lambda v: -1 if v is None else v).to("third")
            """).conf("deserialization.exception.handler", "org.apache.kafka.streams.errors.LogAndContinueExceptionHandler")
                .conf("processing.exception.handler", "org.apache.kafka.streams.errors.LogAndContinueProcessingExceptionHandler")
                .conf("errors.dead.letter.queue.topic.name", "dead");
        s.in("in", "string").nullKey(0.05).val((r, i) -> r.nextInt(3) == 0 ? "v" + r.nextInt(10) : "1234567" + r.nextInt(10));
        s.out("first", "string", "long").out("second", "string", "long").out("third", "string", "long").out("dead", "string", "string");
        s.dsl(b -> {
            KStream<String, Long> in = b.stream("in", CL());
            in.mapValues(v -> v == null ? 0 : v % 10).to("first", PL());
            in.filter((k, v) -> v != null).mapValues(v -> 1000 / (v % 4)).to("second", PL());
            in.mapValues(v -> v == null ? -1 : v).to("third", PL());
        });
    }

    // ============================================================ aggregations
    static void aggregations() {
        Oracle.Scenario s = sc("group_by_key_count",
            "Plain count. Records with a null key or a null value are dropped. Result timestamp is the maximum seen for the key.",
            """
            (builder.stream("in", STR, STR).group_by_key().count(Materialized.as_("counts")).to_stream().to("out"))
            """).headers();
        s.in("in", "string").nullKey(0.08);
        s.out("out", "string", "long").store("counts", "timestamped_kv");
        s.dsl(b -> b.stream("in", CS()).groupByKey().count(kv("counts", LNG)).toStream().to("out", PL()));

        s = sc("group_by_key_count_cached",
            "As group_by_key_count, but with a 10 MB record cache: the driver commits after each record, so each step still emits.",
            """
            (builder.stream("in", STR, STR).group_by_key().count(Materialized.as_("counts").with_caching_enabled()).to_stream().to("out"))
            """).conf("statestore.cache.max.bytes", 10485760).like("group_by_key_count").headers();
        s.in("in", "string").nullKey(0.08);
        s.out("out", "string", "long").store("counts", "timestamped_kv");
        s.dsl(b -> b.stream("in", CS()).groupByKey().count(kv("counts", LNG).withCachingEnabled()).toStream().to("out", PL()));

        s = sc("group_by_reduce",
            "groupBy with a new key (goes through a repartition topic), null new key is dropped, then reduce by sum.",
            """
            (builder.stream("in", STR, LONG)
             .group_by(lambda k, v: None if v is None or v < 0 else S(k) + "/" + str(v % 2), Grouped.with_(STR, LONG))
             .reduce(lambda a, b: a + b, Materialized.as_("sums"))
             .to_stream().to("out"))
            """);
        s.in("in", "long").nullKey(0.05).keys("A", "B", "C");
        s.out("out", "string", "long").store("sums", "timestamped_kv");
        s.dsl(b -> b.stream("in", CL()).groupBy((k, v) -> v == null || v < 0 ? null : S(k) + "/" + v % 2, GL())
            .reduce(Long::sum, kv("sums", LNG)).toStream().to("out", PL()));

        s = sc("reduce_null_results",
            "reduce whose result may be null (which deletes the entry; the next value then becomes the first again, without calling the reducer).",
            """
            def red(a, b): return None if b <= 0 else a * 2 + b
            builder.stream("in", STR, LONG).group_by_key().reduce(red, Materialized.as_("red")).to_stream().to("out")
            """).time(25, 60, 300, 400);
        s.in("in", "long").keys("A", "B", "C");
        s.out("out", "string", "long").store("red", "timestamped_kv");
        s.dsl(b -> b.stream("in", CL()).groupByKey().reduce((x, y) -> y <= 0 ? null : x * 2 + y, kv("red", LNG)).toStream().to("out", PL()));

        s = sc("aggregate_null_results",
            "aggregate by concatenation whose result may be null (for x-values), which deletes the entry; the next value then starts from the initial value again.",
            """
            def agg(k, v, a): return None if v[0] == "x" else a + "," + v
            builder.stream("in", STR, STR).group_by_key().aggregate(lambda: "0", agg, Materialized.as_("agg", STR, STR)).to_stream().to("out")
            """).headers();
        s.in("in", "string").keys("A", "B", "C").nullKey(0.05);
        s.out("out", "string", "string").store("agg", "timestamped_kv");
        s.dsl(b -> b.stream("in", CS()).groupByKey().aggregate(() -> "0", (k, v, a) -> v.charAt(0) == 'x' ? null : a + "," + v, kv("agg", STR))
            .toStream().to("out", PS()));

        s = sc("word_count",
            "The word count: lines of words are split, grouped by the word (so repartitioned) and counted.",
            """
            (builder.stream("lines", STR, STR)
             .flat_map_values(lambda line: line.lower().split(" "))
             .group_by(lambda k, word: word, Grouped.with_(STR, STR))
             .count(Materialized.as_("word-counts"))
             .to_stream().to("counts"))
            """).headers();
        s.in("lines", "string").nullKey(0.3).nullVal(0).val((r, i) -> {
            String[] words = {"Kafka", "streams", "all", "the", "Streams", "of", "kafka"};
            StringBuilder line = new StringBuilder();
            for (int n = 1 + r.nextInt(4); n > 0; n--) line.append(line.isEmpty() ? "" : " ").append(words[r.nextInt(words.length)]);
            return line.toString();
        });
        s.out("counts", "string", "long").store("word-counts", "timestamped_kv");
        s.dsl(b -> b.stream("lines", CS()).flatMapValues(line -> List.of(line.toLowerCase().split(" ")))
            .groupBy((k, word) -> word, GS()).count(kv("word-counts", LNG)).toStream().to("counts", PL()));
    }

    // ============================================================ windows
    static void windows() {
        Oracle.Scenario s = sc("tumbling_count_grace_0",
            "Tumbling window of 100 ms, grace 0. Late records are dropped (no output). Records with a null key are dropped, but records with a null VALUE are counted (unlike in the unwindowed count).",
            """
            (builder.stream("in", STR, STR).group_by_key()
             .windowed_by(TimeWindows.of_size_and_grace(100, 0))
             .count(Materialized.as_("counts")).to_stream().to("out"))
            """).steps(60).headers();
        s.in("in", "string").nullKey(0.05);
        s.out("out", "windowed_string", "long", 100).store("counts", "timestamped_window");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(TimeWindows.ofSizeAndGrace(ms(100), ms(0)))
            .count(win("counts", LNG)).toStream().to("out", PW(100, LNG)));

        s = sc("hopping_count",
            "Hopping window: size 100, advance 30 (no divisor of the size), grace 40. One input gives several outputs, by rising window start.",
            """
            (builder.stream("in", STR, STR).group_by_key()
             .windowed_by(TimeWindows.of_size_and_grace(100, 40).advance_by(30))
             .count(Materialized.as_("counts")).to_stream().to("out"))
            """);
        s.in("in", "string").keys("A", "B", "C");
        s.out("out", "windowed_string", "long", 100).store("counts", "timestamped_window");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(TimeWindows.ofSizeAndGrace(ms(100), ms(40)).advanceBy(ms(30)))
            .count(win("counts", LNG)).toStream().to("out", PW(100, LNG)));

        s = sc("sliding_aggregate_grace_0",
            "Sliding windows, time difference 50 (both ends inclusive, window end = start + 50), grace 0; aggregate by concatenation so that the order of updates shows. Sliding windows drop null keys AND null values (unlike the other windows).",
            """
            (builder.stream("in", STR, STR).group_by_key()
             .windowed_by(SlidingWindows.of_time_difference_and_grace(50, 0))
             .aggregate(lambda: "", lambda k, v, a: a + S(v), Materialized.as_("agg", STR, STR)).to_stream().to("out"))
            """).time(20, 50, 200, 250).steps(60);
        s.in("in", "string").keys("A", "B", "C").nullKey(0.04);
        s.out("out", "windowed_string", "string", 50).store("agg", "timestamped_window");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(ms(50), ms(0)))
            .aggregate(() -> "", (k, v, a) -> a + v, win("agg", STR)).toStream().to("out", PW(50, STR)));

        s = sc("session_count",
            "Session windows, gap 40, no grace. Null keys are dropped, null values are counted. A merge emits tombstones for the sessions merged away, then the new session.",
            """
            (builder.stream("in", STR, STR).group_by_key()
             .windowed_by(SessionWindows.of_inactivity_gap_with_no_grace(40))
             .count(Materialized.as_("counts")).to_stream().to("out"))
            """).steps(60);
        s.in("in", "string").keys("A", "B", "C").nullKey(0.04);
        s.out("out", "session_windowed_string", "long").store("counts", "session");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(SessionWindows.ofInactivityGapWithNoGrace(ms(40)))
            .count(ses("counts", LNG)).toStream().to("out", PSE(LNG)));

        s = sc("session_reduce",
            "Session windows, gap 30, grace 50, reduce by sum. Session aggregations do NOT drop null values: a null is the first value of a session, or the second argument of the reducer. Session merge calls the reducer too; a null side is replaced by the other.",
            """
            (builder.stream("in", STR, LONG).group_by_key(Grouped.with_(STR, LONG))
             .windowed_by(SessionWindows.of_inactivity_gap_and_grace(30, 50))
             .reduce(lambda a, b: a + (0 if b is None else b), Materialized.as_("red", STR, LONG)).to_stream().to("out"))
            """).time(25, 60, 200, 300);
        s.in("in", "long").keys("A", "B", "C");
        s.out("out", "session_windowed_string", "long").store("red", "session");
        s.dsl(b -> b.stream("in", CL()).groupByKey(GL()).windowedBy(SessionWindows.ofInactivityGapAndGrace(ms(30), ms(50)))
            .reduce((x, y) -> x + (y == null ? 0 : y), ses("red", LNG)).toStream().to("out", PSE(LNG)));

        s = sc("tumbling_reduce",
            "Tumbling window of 100 ms, grace 50, reduce by sum where a null counts as 0. A null value that comes first leaves no entry, and is forwarded.",
            """
            (builder.stream("in", STR, LONG).group_by_key(Grouped.with_(STR, LONG))
             .windowed_by(TimeWindows.of_size_and_grace(100, 50))
             .reduce(lambda a, b: a + (0 if b is None else b), Materialized.as_("red", STR, LONG)).to_stream().to("out"))
            """).headers();
        s.in("in", "long").keys("A", "B", "C").nullKey(0.04).nullVal(0.15);
        s.out("out", "windowed_string", "long", 100).store("red", "timestamped_window");
        s.dsl(b -> b.stream("in", CL()).groupByKey(GL()).windowedBy(TimeWindows.ofSizeAndGrace(ms(100), ms(50)))
            .reduce((x, y) -> x + (y == null ? 0 : y), win("red", LNG)).toStream().to("out", PW(100, LNG)));

        s = sc("session_aggregate",
            "Session windows, gap 40, grace 100, aggregate by concatenation with a merger, so that the order of merges shows. Results of sessions carry no headers.",
            """
            (builder.stream("in", STR, STR).group_by_key()
             .windowed_by(SessionWindows.of_inactivity_gap_and_grace(40, 100))
             .aggregate(lambda: "", lambda k, v, a: a + S(v), lambda k, a, b: "(" + a + "|" + b + ")", Materialized.as_("agg", STR, STR))
             .to_stream().to("out"))
            """).headers().steps(60);
        s.in("in", "string").keys("A", "B").nullKey(0.04);
        s.out("out", "session_windowed_string", "string").store("agg", "session");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(SessionWindows.ofInactivityGapAndGrace(ms(40), ms(100)))
            .aggregate(() -> "", (k, v, a) -> a + v, (k, x, y) -> "(" + x + "|" + y + ")", ses("agg", STR)).toStream().to("out", PSE(STR)));

        s = sc("window_boundaries",
            "Tumbling (5, grace 3), hopping (5, advance 2, grace 3) and session (gap 3, grace 4) counts over times so close together that records often fall exactly on a boundary.",
            """
            g = builder.stream("in", STR, STR).group_by_key()
            g.windowed_by(TimeWindows.of_size_and_grace(5, 3)).count(Materialized.as_("tumbling")).to_stream().to("tumbling-out")
            g.windowed_by(TimeWindows.of_size_and_grace(5, 3).advance_by(2)).count(Materialized.as_("hopping")).to_stream().to("hopping-out")
            g.windowed_by(SessionWindows.of_inactivity_gap_and_grace(3, 4)).count(Materialized.as_("session")).to_stream().to("session-out")
            """).steps(100).time(3, 6, 9, 12);
        s.in("in", "string").keys("A", "B", "C", "D", "E", "F");
        s.out("tumbling-out", "windowed_string", "long", 5).out("hopping-out", "windowed_string", "long", 5).out("session-out", "session_windowed_string", "long");
        s.store("tumbling", "timestamped_window").store("hopping", "timestamped_window").store("session", "session");
        s.dsl(b -> {
            KGroupedStream<String, String> g = b.stream("in", CS()).groupByKey();
            g.windowedBy(TimeWindows.ofSizeAndGrace(ms(5), ms(3))).count(win("tumbling", LNG)).toStream().to("tumbling-out", PW(5, LNG));
            g.windowedBy(TimeWindows.ofSizeAndGrace(ms(5), ms(3)).advanceBy(ms(2))).count(win("hopping", LNG)).toStream().to("hopping-out", PW(5, LNG));
            g.windowedBy(SessionWindows.ofInactivityGapAndGrace(ms(3), ms(4))).count(ses("session", LNG)).toStream().to("session-out", PSE(LNG));
        });

        s = sc("fraud_detector",
            "Transactions (<user>|<amount>) are enriched with the user's risk score from a global table, the large and risky ones are counted per user in sessions (gap 120, grace 60), and three or more raise an alert.",
            """
            risk = builder.global_table("risk-scores", STR, LONG, Materialized.as_("global-risk-store"))
            (builder.stream("transactions", STR, STR)
             .left_join(risk, lambda k, tx: tx.split("|")[0], lambda tx, score: tx + "|" + str(0 if score is None else score))
             .filter(lambda k, tx: int(tx.split("|")[1]) > 1000 and int(tx.split("|")[2]) > 70)
             .group_by(lambda k, tx: tx.split("|")[0], Grouped.with_(STR, STR))
             .windowed_by(SessionWindows.of_inactivity_gap_and_grace(120, 60))
             .count(Materialized.as_("session-count-store"))
             .to_stream()
             .filter(lambda w, n: n is not None and n >= 3)
             .map(lambda w, n: (w.key, w.key + ":" + str(n) + "@" + str(w.window.start)))
             .to("fraud-alerts"))
            """).headers().steps(120).time(15, 60, 250, 300);
        s.in("risk-scores", "long").keys("ann", "bob", "cid").nullVal(0.1).val((r, i) -> (long) (60 + r.nextInt(40)));
        s.in("transactions", "string").keys("t1", "t2", "t3").nullVal(0).weight(9)
            .val((r, i) -> List.of("ann", "bob", "cid", "dan").get(r.nextInt(4)) + "|" + (900 + 100 * r.nextInt(30)));
        s.out("fraud-alerts", "string", "string").store("global-risk-store", "timestamped_kv").store("session-count-store", "session");
        s.dsl(b -> {
            GlobalKTable<String, Long> risk = b.globalTable("risk-scores", CL(), kv("global-risk-store", LNG));
            b.stream("transactions", CS())
                .leftJoin(risk, (k, tx) -> tx.split("\\|")[0], (tx, score) -> tx + "|" + (score == null ? 0 : score))
                .filter((k, tx) -> Long.parseLong(tx.split("\\|")[1]) > 1000 && Long.parseLong(tx.split("\\|")[2]) > 70)
                .groupBy((k, tx) -> tx.split("\\|")[0], GS())
                .windowedBy(SessionWindows.ofInactivityGapAndGrace(ms(120), ms(60)))
                .count(ses("session-count-store", LNG)).toStream()
                .filter((w, n) -> n != null && n >= 3)
                .map((w, n) -> KeyValue.pair(w.key(), w.key() + ":" + n + "@" + w.window().start()))
                .to("fraud-alerts", PS());
        });
    }

    // ============================================================ emit final and suppress
    static void finals() {
        Oracle.Scenario s = sc("emit_final_tumbling",
            "Tumbling 100, grace 20, emit strategy on window close: only final results, emitted when stream time of the processor reaches window end + grace.",
            """
            (builder.stream("in", STR, STR).group_by_key()
             .windowed_by(TimeWindows.of_size_and_grace(100, 20)).emit_strategy(EmitStrategy.on_window_close())
             .count(Materialized.as_("counts").with_retention(100000)).to_stream().to("out"))
            """).time(30, 60, 300, 400).steps(70).headers();
        s.in("in", "string").nullKey(0.04);
        s.out("out", "windowed_string", "long", 100).store("counts", "timestamped_window");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(TimeWindows.ofSizeAndGrace(ms(100), ms(20))).emitStrategy(EmitStrategy.onWindowClose())
            .count(win("counts", LNG).withRetention(ms(100000))).toStream().to("out", PW(100, LNG)));

        s = sc("emit_final_hopping",
            "Hopping size 100 advance 40, grace 30, emit on window close, aggregate by concatenation.",
            """
            (builder.stream("in", STR, STR).group_by_key()
             .windowed_by(TimeWindows.of_size_and_grace(100, 30).advance_by(40)).emit_strategy(EmitStrategy.on_window_close())
             .aggregate(lambda: "", lambda k, v, a: a + S(v), Materialized.as_("agg", STR, STR).with_retention(100000)).to_stream().to("out"))
            """).time(30, 60, 300, 400).steps(60);
        s.in("in", "string").keys("A", "B", "C", "D");
        s.out("out", "windowed_string", "string", 100).store("agg", "timestamped_window");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(TimeWindows.ofSizeAndGrace(ms(100), ms(30)).advanceBy(ms(40))).emitStrategy(EmitStrategy.onWindowClose())
            .aggregate(() -> "", (k, v, a) -> a + v, win("agg", STR).withRetention(ms(100000))).toStream().to("out", PW(100, STR)));

        s = sc("emit_final_sliding",
            "Sliding windows, time difference 50, grace 30, emit on window close (stream time > end + grace, as the end is inclusive), aggregate by concatenation.",
            """
            (builder.stream("in", STR, STR).group_by_key()
             .windowed_by(SlidingWindows.of_time_difference_and_grace(50, 30)).emit_strategy(EmitStrategy.on_window_close())
             .aggregate(lambda: "", lambda k, v, a: a + S(v), Materialized.as_("agg", STR, STR).with_retention(100000)).to_stream().to("out"))
            """).time(20, 50, 200, 250).steps(60);
        s.in("in", "string").keys("A", "B", "C");
        s.out("out", "windowed_string", "string", 50).store("agg", "timestamped_window");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(ms(50), ms(30))).emitStrategy(EmitStrategy.onWindowClose())
            .aggregate(() -> "", (k, v, a) -> a + v, win("agg", STR).withRetention(ms(100000))).toStream().to("out", PW(50, STR)));

        s = sc("suppress_window_close_tumbling",
            "Tumbling 100, grace 30, count, suppress until window closes (unbounded buffer). Headers and timestamp of the output are those of the buffered record, not of the one that triggers the emission.",
            """
            (builder.stream("in", STR, STR).group_by_key()
             .windowed_by(TimeWindows.of_size_and_grace(100, 30)).count(Materialized.as_("counts"))
             .suppress(Suppressed.until_window_closes(BufferConfig.unbounded()))
             .to_stream().to("out"))
            """).time(30, 60, 300, 400).steps(70).headers();
        s.in("in", "string");
        s.out("out", "windowed_string", "long", 100).store("counts", "timestamped_window");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(TimeWindows.ofSizeAndGrace(ms(100), ms(30))).count(win("counts", LNG))
            .suppress(Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded())).toStream().to("out", PW(100, LNG)));

        s = sc("suppress_time_limit_unbounded",
            "Count, suppress until time limit 60 with an unbounded buffer. Time is the stream time seen by the suppress processor.",
            """
            (builder.stream("in", STR, STR).group_by_key().count(Materialized.as_("counts"))
             .suppress(Suppressed.until_time_limit(60, BufferConfig.unbounded()))
             .to_stream().to("out"))
            """).steps(70).headers();
        s.in("in", "string").keys("A", "B", "C", "D", "E", "F");
        s.out("out", "string", "long").store("counts", "timestamped_kv");
        s.dsl(b -> b.stream("in", CS()).groupByKey().count(kv("counts", LNG))
            .suppress(Suppressed.untilTimeLimit(ms(60), Suppressed.BufferConfig.unbounded())).toStream().to("out", PL()));

        s = sc("suppress_time_limit_max_records",
            "Count, suppress until time limit 100 with at most 3 buffered records, emit early when full (the entries with the smallest time leave first).",
            """
            (builder.stream("in", STR, STR).group_by_key().count(Materialized.as_("counts"))
             .suppress(Suppressed.until_time_limit(100, BufferConfig.max_records(3).emit_early_when_full()))
             .to_stream().to("out"))
            """).steps(70);
        s.in("in", "string").keys("A", "B", "C", "D", "E", "F");
        s.out("out", "string", "long").store("counts", "timestamped_kv");
        s.dsl(b -> b.stream("in", CS()).groupByKey().count(kv("counts", LNG))
            .suppress(Suppressed.untilTimeLimit(ms(100), Suppressed.BufferConfig.maxRecords(3).emitEarlyWhenFull())).toStream().to("out", PL()));
    }

    // ============================================================ stream-stream joins
    static void ss(String name, String kind, String prose, String windows, JoinWindows w, boolean headers, double nk) {
        Oracle.Scenario s = sc(name, prose + " Left values are L<step>, right values are R<step>; null keys and null values occur on both sides. Null values are always dropped; a null key is dropped, except on the side(s) that the join keeps unmatched (left; both for outer), where it is emitted at once as unmatched.",
            """
            l = builder.stream("left", STR, STR)
            r = builder.stream("right", STR, STR)
            l.%s(r, lambda a, b: S(a) + "+" + S(b), %s, StreamJoined.with_(STR, STR, STR)).to("out")
            """.formatted(kind, windows)).steps(60).time(20, 60, 250, 300);
        if (headers) s.headers();
        s.in("left", "string").uniq("L").keys("A", "B", "C").nullKey(nk);
        s.in("right", "string").uniq("R").keys("A", "B", "C").nullKey(nk);
        s.out("out", "string", "string");
        s.dsl(b -> {
            KStream<String, String> l = b.stream("left", CS()), r = b.stream("right", CS());
            ValueJoiner<String, String, String> j = (x, y) -> S(x) + "+" + S(y);
            StreamJoined<String, String, String> sj = StreamJoined.with(STR, STR, STR);
            (switch (kind) {
                case "join" -> l.join(r, j, w, sj);
                case "left_join" -> l.leftJoin(r, j, w, sj);
                default -> l.outerJoin(r, j, w, sj);
            }).to("out", PS());
        });
    }

    static void streamJoins() {
        for (String k : List.of("join", "left_join", "outer_join")) {
            String n = k.equals("join") ? "inner" : k.equals("left_join") ? "left" : "outer";
            ss("stream_stream_" + n + "_symmetric", k, "Stream-stream " + n + " join, window +-50, no grace.",
                "JoinWindows.of_time_difference_with_no_grace(50)", JoinWindows.ofTimeDifferenceWithNoGrace(ms(50)), true, 0.06);
        }
        ss("stream_stream_inner_grace", "join", "Stream-stream inner join, window +-50, grace 40.",
            "JoinWindows.of_time_difference_and_grace(50, 40)", JoinWindows.ofTimeDifferenceAndGrace(ms(50), ms(40)), false, 0.03);
        ss("stream_stream_left_grace", "left_join", "Stream-stream left join, window +-50, grace 40.",
            "JoinWindows.of_time_difference_and_grace(50, 40)", JoinWindows.ofTimeDifferenceAndGrace(ms(50), ms(40)), false, 0.03);
        ss("stream_stream_inner_asymmetric", "join", "Stream-stream inner join: right may be 20 before to 80 after left, grace 30.",
            "JoinWindows.of_time_difference_and_grace(50, 30).before(20).after(80)", JoinWindows.ofTimeDifferenceAndGrace(ms(50), ms(30)).before(ms(20)).after(ms(80)), false, 0.03);

        Oracle.Scenario s = sc("stream_stream_self_join_optimization_none",
            "A stream joined with itself, window +-30, grace 20, topology.optimization=none (two stores, two join processors).",
            """
            s = builder.stream("in", STR, STR)
            s.join(s, lambda a, b: a + "+" + b, JoinWindows.of_time_difference_and_grace(30, 20), StreamJoined.with_(STR, STR, STR)).to("out")
            """).time(20, 40, 200, 300);
        s.in("in", "string").uniq("V").keys("A", "B", "C").nullKey(0.05);
        s.out("out", "string", "string");
        s.dsl(b -> {
            KStream<String, String> in = b.stream("in", CS());
            in.join(in, (x, y) -> x + "+" + y, JoinWindows.ofTimeDifferenceAndGrace(ms(30), ms(20)), StreamJoined.with(STR, STR, STR)).to("out", PS());
        });
    }

    // ============================================================ joins with tables
    static void tableJoins() {
        Oracle.Scenario s;
        for (String k : List.of("join", "left_join")) {
            String n = k.equals("join") ? "inner" : "left";
            boolean inner = n.equals("inner");
            s = sc("stream_table_" + n, "Stream-table " + n + " join with key in the joiner; table tombstones, null keys and null values on the stream. Stream records with a null value are dropped; with a null key they are " + (inner ? "dropped." : "kept (joined with null)."),
                """
                t = builder.table("table", STR, STR, Materialized.as_("t"))
                (builder.stream("stream", STR, STR)
                 .%s(t, lambda k, a, b: S(k) + ":" + S(a) + "+" + S(b)).to("out"))      # joiner with key
                """.formatted(k)).headers().steps(60);
            s.in("stream", "string").uniq("s").nullKey(0.06).weight(3);
            s.in("table", "string").uniq("t").nullKey(0.05).nullVal(0.25).weight(2);
            s.out("out", "string", "string").store("t", "timestamped_kv");
            s.dsl(b -> {
                KTable<String, String> t = b.table("table", CS(), kv("t", STR));
                ValueJoinerWithKey<String, String, String, String> j = (key, x, y) -> S(key) + ":" + S(x) + "+" + S(y);
                KStream<String, String> st = b.stream("stream", CS());
                (inner ? st.join(t, j) : st.leftJoin(t, j)).to("out", PS());
            });
        }

        s = sc("stream_table_inner_rekeyed",
            "Stream re-keyed by the letter of the value (null for x-values; so repartitioned), then inner join with a table keyed by letter. Null keys are dropped.",
            """
            t = builder.table("table", STR, LONG, Materialized.as_("t"))
            (builder.stream("stream", STR, STR)
             .select_key(lambda k, v: None if v is None or v[0] == "x" else v[0])
             .join(t, lambda a, b: S(a) + "+" + S(b), Joined.with_(STR, STR, LONG).with_name("j")).to("out"))
            """).headers();
        s.in("stream", "string").nullKey(0.06).weight(3);
        s.in("table", "long").keys("a", "b", "c").nullVal(0.25).weight(2);
        s.out("out", "string", "string").store("t", "timestamped_kv");
        s.dsl(b -> b.stream("stream", CS()).selectKey((k, v) -> v == null || v.charAt(0) == 'x' ? null : v.substring(0, 1))
            .join(b.table("table", CL(), kv("t", LNG)), (x, y) -> S(x) + "+" + S(y), Joined.with(STR, STR, LNG, "j")).to("out", PS()));

        s = sc("stream_table_versioned_inner",
            "Stream-table inner join with a versioned table (history retention 200): the stream record sees the table as of its own timestamp. Table records may come late.",
            """
            t = builder.table("table", STR, STR, Materialized.as_(Stores.persistent_versioned_key_value_store("t", history_retention=200)))
            builder.stream("stream", STR, STR).join(t, lambda a, b: S(a) + "+" + S(b)).to("out")
            """).steps(70).time(25, 100, 400, 300);
        s.in("stream", "string").uniq("s").keys("A", "B", "C");
        s.in("table", "string").uniq("t").keys("A", "B", "C").nullVal(0.2);
        s.out("out", "string", "string").store("t", "versioned");
        s.dsl(b -> {
            KTable<String, String> t = b.table("table", CS(), versioned("t", 200, STR));
            b.stream("stream", CS()).join(t, (x, y) -> S(x) + "+" + S(y)).to("out", PS());
        });

        s = sc("stream_table_grace_inner",
            "Stream-table inner join with a versioned table (history retention 300) and a join grace period of 60: stream records wait in a buffer until stream time of the STREAM side (table records do not count) reaches their timestamp + grace; the output keeps the headers of the buffered record; late records beyond grace join at once.",
            """
            t = builder.table("table", STR, STR, Materialized.as_(Stores.persistent_versioned_key_value_store("t", history_retention=300)))
            (builder.stream("stream", STR, STR)
             .join(t, lambda a, b: S(a) + "+" + S(b), Joined.with_(STR, STR, STR).with_name("j").with_grace_period(60)).to("out"))
            """).headers().steps(70).time(25, 70, 200, 300);
        s.in("stream", "string").uniq("s").keys("A", "B", "C").nullKey(0.04);
        s.in("table", "string").uniq("t").keys("A", "B", "C").nullVal(0.2);
        s.out("out", "string", "string").store("t", "versioned");
        s.dsl(b -> {
            KTable<String, String> t = b.table("table", CS(), versioned("t", 300, STR));
            b.stream("stream", CS()).join(t, (x, y) -> S(x) + "+" + S(y), Joined.with(STR, STR, STR, "j", ms(60))).to("out", PS());
        });

        s = sc("stream_globaltable_inner",
            "Stream-globaltable inner join; the mapper takes the letter of the stream value as key (null for x-values and null values). Joiner with key gets the STREAM key.",
            """
            g = builder.global_table("global", STR, STR, Materialized.as_("g"))
            def mapper(k, v): return None if v is None or v[0] == "x" else v[0]
            builder.stream("stream", STR, STR).join(g, mapper, lambda k, a, b: S(k) + ":" + S(a) + "+" + S(b)).to("out")
            """).headers().steps(70);
        s.in("stream", "string").nullKey(0.08).nullVal(0.08).weight(3);
        s.in("global", "string").uniq("g").keys("a", "b", "c").nullVal(0.15).weight(2);
        s.out("out", "string", "string").store("g", "timestamped_kv");
        s.dsl(b -> {
            GlobalKTable<String, String> g = b.globalTable("global", CS(), kv("g", STR));
            KeyValueMapper<String, String, String> m = (key, v) -> v == null || v.charAt(0) == 'x' ? null : v.substring(0, 1);
            ValueJoinerWithKey<String, String, String, String> j = (key, x, y) -> S(key) + ":" + S(x) + "+" + S(y);
            b.stream("stream", CS()).join(g, m, j).to("out", PS());
        });

        s = sc("stream_globaltable_left",
            "As stream_globaltable_inner, but a left join: a record whose mapped key is null is kept, with no table value. Null stream values are dropped.",
            """
            g = builder.global_table("global", STR, STR, Materialized.as_("g"))
            def mapper(k, v): return None if v is None or v[0] == "x" else v[0]
            builder.stream("stream", STR, STR).left_join(g, mapper, lambda k, a, b: S(k) + ":" + S(a) + "+" + S(b)).to("out")
            """).headers().steps(70).like("stream_globaltable_inner");
        s.in("stream", "string").nullKey(0.08).nullVal(0.08).weight(3);
        s.in("global", "string").uniq("g").keys("a", "b", "c").nullVal(0.15).weight(2);
        s.out("out", "string", "string").store("g", "timestamped_kv");
        s.dsl(b -> {
            GlobalKTable<String, String> g = b.globalTable("global", CS(), kv("g", STR));
            KeyValueMapper<String, String, String> m = (key, v) -> v == null || v.charAt(0) == 'x' ? null : v.substring(0, 1);
            ValueJoinerWithKey<String, String, String, String> j = (key, x, y) -> S(key) + ":" + S(x) + "+" + S(y);
            b.stream("stream", CS()).leftJoin(g, m, j).to("out", PS());
        });

        s = sc("stream_globaltable_left_rekeyed",
            "A stream re-keyed by the letter of its value (null for x-values), then a left join with a global table by that key: no repartition, null keys are kept. A count by the new key follows, which repartitions and drops them.",
            """
            g = builder.global_table("global", STR, LONG, Materialized.as_("g"))
            j = (builder.stream("stream", STR, STR)
                 .select_key(lambda k, v: None if v is None or v[0] == "x" else v[0])
                 .left_join(g, lambda k, v: k, lambda a, b: S(a) + "+" + S(b)))
            j.to("out")
            j.group_by_key(Grouped.with_(STR, STR)).count(Materialized.as_("n")).to_stream().to("counts")
            """).headers().steps(70);
        s.in("stream", "string").nullKey(0.08).nullVal(0.08).weight(3);
        s.in("global", "long").keys("a", "b", "c").nullVal(0.2).weight(2);
        s.out("out", "string", "string").out("counts", "string", "long").store("g", "timestamped_kv").store("n", "timestamped_kv");
        s.dsl(b -> {
            GlobalKTable<String, Long> g = b.globalTable("global", CL(), kv("g", LNG));
            KStream<String, String> j = b.stream("stream", CS()).selectKey((k, v) -> v == null || v.charAt(0) == 'x' ? null : v.substring(0, 1))
                .leftJoin(g, (k, v) -> k, (x, y) -> S(x) + "+" + S(y));
            j.to("out", PS());
            j.groupByKey(GS()).count(kv("n", LNG)).toStream().to("counts", PL());
        });

        s = sc("stream_table_left_rekeyed",
            "As stream_table_inner_rekeyed, but a left join: null keys go through the repartition topic and come out with no table value.",
            """
            t = builder.table("table", STR, LONG, Materialized.as_("t"))
            (builder.stream("stream", STR, STR)
             .select_key(lambda k, v: None if v is None or v[0] == "x" else v[0])
             .left_join(t, lambda a, b: S(a) + "+" + S(b), Joined.with_(STR, STR, LONG).with_name("j")).to("out"))
            """).headers().like("stream_table_inner_rekeyed");
        s.in("stream", "string").nullKey(0.06).weight(3);
        s.in("table", "long").keys("a", "b", "c").nullVal(0.25).weight(2);
        s.out("out", "string", "string").store("t", "timestamped_kv");
        s.dsl(b -> b.stream("stream", CS()).selectKey((k, v) -> v == null || v.charAt(0) == 'x' ? null : v.substring(0, 1))
            .leftJoin(b.table("table", CL(), kv("t", LNG)), (x, y) -> S(x) + "+" + S(y), Joined.with(STR, STR, LNG, "j")).to("out", PS()));

        s = sc("foreign_key_inner",
            "Foreign-key inner join of tables. Left value is <fk>|<n>, fk is p0..p3 or - (then the extractor gives null). Right is keyed p0..p3. Tombstones on both sides.",
            """
            l = builder.table("left", STR, STR, Materialized.as_("l"))
            r = builder.table("right", STR, STR, Materialized.as_("r"))
            def fk(v): x = v.split("|")[0]; return None if x == "-" else x
            j = l.join(r, fk, lambda a, b: S(a) + "+" + S(b), Materialized.as_("j", STR, STR))
            j.to_stream().to("out")
            """).headers().steps(70);
        s.in("left", "string").nullVal(0.15).weight(3).val((r, i) -> (r.nextInt(8) == 0 ? "-" : "p" + r.nextInt(4)) + "|" + i);
        s.in("right", "string").uniq("R").keys("p0", "p1", "p2", "p3").nullVal(0.2).weight(2);
        s.out("out", "string", "string").store("l", "timestamped_kv").store("r", "timestamped_kv").store("j", "timestamped_kv");
        s.dsl(b -> {
            KTable<String, String> l = b.table("left", CS(), kv("l", STR)), r = b.table("right", CS(), kv("r", STR));
            java.util.function.Function<String, String> fk = v -> v.startsWith("-") ? null : v.substring(0, v.indexOf('|'));
            l.join(r, fk, (x, y) -> S(x) + "+" + S(y), kv("j", STR)).toStream().to("out", PS());
        });

        for (String k : List.of("join", "left_join", "outer_join")) {
            String n = k.equals("join") ? "inner" : k.equals("left_join") ? "left" : "outer";
            s = sc("table_table_" + n, "Table-table " + n + " join with tombstones and out-of-order records; the result is materialized.",
                """
                l = builder.table("left", STR, STR, Materialized.as_("l"))
                r = builder.table("right", STR, STR, Materialized.as_("r"))
                l.%s(r, lambda a, b: S(a) + "+" + S(b), Materialized.as_("j", STR, STR)).to_stream().to("out")
                """.formatted(k)).steps(60).headers();
            tableInputs(s);
            s.store("j", "timestamped_kv");
            s.dsl(b -> {
                KTable<String, String> l = b.table("left", CS(), kv("l", STR)), r = b.table("right", CS(), kv("r", STR));
                ValueJoiner<String, String, String> j = (x, y) -> S(x) + "+" + S(y);
                (switch (n) {
                    case "inner" -> l.join(r, j, kv("j", STR));
                    case "left" -> l.leftJoin(r, j, kv("j", STR));
                    default -> l.outerJoin(r, j, kv("j", STR));
                }).toStream().to("out", PS());
            });
        }

        s = sc("table_table_inner_not_materialized",
            "As table_table_inner, same inputs, but the result is not materialized.",
            """
            l = builder.table("left", STR, STR, Materialized.as_("l"))
            r = builder.table("right", STR, STR, Materialized.as_("r"))
            l.join(r, lambda a, b: S(a) + "+" + S(b)).to_stream().to("out")
            """).steps(60).like("table_table_inner").headers();
        tableInputs(s);
        s.dsl(b -> {
            KTable<String, String> l = b.table("left", CS(), kv("l", STR)), r = b.table("right", CS(), kv("r", STR));
            l.join(r, (x, y) -> S(x) + "+" + S(y)).toStream().to("out", PS());
        });
    }

    static void tableInputs(Oracle.Scenario s) {
        s.in("left", "string").uniq("L").nullVal(0.25).nullKey(0.03).keys("A", "B", "C", "D");
        s.in("right", "string").uniq("R").nullVal(0.25).nullKey(0.03).keys("A", "B", "C", "D");
        s.out("out", "string", "string").store("l", "timestamped_kv").store("r", "timestamped_kv");
    }

    // ============================================================ tables
    static void tables() {
        Oracle.Scenario s = sc("table_filter_alone",
            "A source table whose only child is an unmaterialized filter: nothing downstream needs old values.",
            """
            builder.table("in", STR, LONG).filter(lambda k, v: v % 2 == 0).to_stream().to("out")
            """);
        s.in("in", "long").nullVal(0.2).nullKey(0.05).keys("A", "B", "C", "D");
        s.out("out", "string", "long");
        s.dsl(b -> b.table("in", CL()).filter((k, v) -> v % 2 == 0).toStream().to("out", PL()));

        s = sc("table_map_values",
            "KTable mapValues, not materialized and materialized, with a mapper that may return null; toStream with a key mapper.",
            """
            t = builder.table("in", STR, LONG, Materialized.as_("t"))
            t.map_values(lambda v: None if v == 0 else "v" + str(v)).to_stream().to("plain")
            m = t.map_values_with_key(lambda k, v: None if v == 0 else k + str(v), Materialized.as_("m", STR, STR))
            m.to_stream().to("mat")
            m.to_stream(lambda k, v: S(v) + "!").to("rekeyed")
            # the mapper is never called with None: a tombstone is passed through as a tombstone
            """).headers();
        s.in("in", "long").nullVal(0.2).keys("A", "B", "C", "D");
        s.out("plain", "string", "string").out("mat", "string", "string").out("rekeyed", "string", "string");
        s.store("t", "timestamped_kv").store("m", "timestamped_kv");
        s.dsl(b -> {
            KTable<String, Long> t = b.table("in", CL(), kv("t", LNG));
            t.mapValues(v -> v == 0 ? null : "v" + v).toStream().to("plain", PS());
            KTable<String, String> m = t.mapValues((k, v) -> v == 0 ? null : k + v, kv("m", STR));
            m.toStream().to("mat", PS());
            m.toStream((k, v) -> S(v) + "!").to("rekeyed", PS());
        });

        s = sc("table_group_by_count",
            "KTable groupBy the letter of the value, count. A change of group subtracts from the old group first, then adds to the new one.",
            """
            (builder.table("in", STR, STR, Materialized.as_("t"))
             .group_by(lambda k, v: (None if v[0] == "x" else v[0], v), Grouped.with_(STR, STR))
             .count(Materialized.as_("counts")).to_stream().to("out"))
            """).steps(60).headers();
        s.in("in", "string").nullVal(0.2).nullKey(0.03);
        s.out("out", "string", "long").store("counts", "timestamped_kv").store("t", "timestamped_kv");
        s.dsl(b -> b.table("in", CS(), kv("t", STR)).groupBy((k, v) -> KeyValue.pair(v.charAt(0) == 'x' ? null : v.substring(0, 1), v), GS())
            .count(kv("counts", LNG)).toStream().to("out", PL()));

        s = sc("table_group_by_reduce",
            "KTable groupBy, reduce with adder and subtractor (sum of values per group v mod 3, python floor modulo).",
            """
            (builder.table("in", STR, LONG, Materialized.as_("t"))
             .group_by(lambda k, v: ("g" + str(v % 3), v), Grouped.with_(STR, LONG))
             .reduce(lambda a, v: a + v, lambda a, v: a - v, Materialized.as_("red", STR, LONG))
             .to_stream().to("out"))
            """).steps(60);
        s.in("in", "long").nullVal(0.2);
        s.out("out", "string", "long").store("red", "timestamped_kv");
        s.dsl(b -> b.table("in", CL(), kv("t", LNG)).groupBy((k, v) -> KeyValue.pair("g" + Math.floorMod(v, 3), v), GL())
            .reduce(Long::sum, (a, v) -> a - v, kv("red", LNG)).toStream().to("out", PL()));

        s = sc("versioned_table_out_of_order",
            "A versioned table (history retention 150) with out-of-order and too late records: downstream group-by ignores out-of-order changes; records older than the retention are not stored.",
            """
            t = builder.table("in", STR, STR, Materialized.as_(Stores.persistent_versioned_key_value_store("t", history_retention=150)))
            t.to_stream().to("all")
            t.filter(lambda k, v: v[0] != "x").to_stream().to("filtered")
            t.group_by(lambda k, v: (v[0], v), Grouped.with_(STR, STR)).count(Materialized.as_("n")).to_stream().to("counts")
            """).steps(70).time(25, 80, 400, 300);
        s.in("in", "string").nullVal(0.15).keys("A", "B", "C");
        s.out("all", "string", "string").out("filtered", "string", "string").out("counts", "string", "long").store("t", "versioned").store("n", "timestamped_kv");
        s.dsl(b -> {
            KTable<String, String> t = b.table("in", CS(), versioned("t", 150, STR));
            t.toStream().to("all", PS());
            t.filter((k, v) -> v.charAt(0) != 'x').toStream().to("filtered", PS());
            t.groupBy((k, v) -> KeyValue.pair(v.substring(0, 1), v), GS()).count(kv("n", LNG)).toStream().to("counts", PL());
        });
    }

    static String tail(String s) { return s.length() <= 24 ? s : s.substring(s.length() - 24); }

    // ============================================================ cogroup
    static void cogroups() {
        Oracle.Scenario s = sc("cogroup_plain",
            "cogroup of a string stream and a long stream into one aggregate. Null keys and null values are dropped.",
            """
            a = builder.stream("a", STR, STR).group_by_key(Grouped.with_(STR, STR))
            b = builder.stream("b", STR, LONG).group_by_key(Grouped.with_(STR, LONG))
            (a.cogroup(lambda k, v, g: tail(g + v)).cogroup(b, lambda k, v, g: tail(g + "<" + str(v) + ">"))
              .aggregate(lambda: "", Materialized.as_("agg", STR, STR)).to_stream().to("out"))
            # tail(s) = the last 24 characters of s
            """).steps(60);
        s.in("a", "string").nullKey(0.05);
        s.in("b", "long").nullKey(0.05);
        s.out("out", "string", "string").store("agg", "timestamped_kv");
        s.dsl(b -> b.stream("a", CS()).groupByKey(GS()).<String>cogroup((k, v, g) -> tail(g + v))
            .cogroup(b.stream("b", CL()).groupByKey(GL()), (k, v, g) -> tail(g + "<" + v + ">"))
            .aggregate(() -> "", kv("agg", STR)).toStream().to("out", PS()));

        s = sc("cogroup_tumbling",
            "cogroup with tumbling windows of 100, grace 40. Stream time is kept PER INPUT of the cogroup: each stream has its own aggregate processor, so lateness is judged against that stream only.",
            """
            (a.cogroup(lambda k, v, g: g + S(v)).cogroup(b, lambda k, v, g: g + "<" + S(v) + ">")
              .windowed_by(TimeWindows.of_size_and_grace(100, 40)).aggregate(lambda: "", Materialized.as_("agg", STR, STR)).to_stream().to("out"))
            # a, b as in cogroup_plain
            """).steps(60);
        s.in("a", "string").keys("A", "B", "C");
        s.in("b", "long").keys("A", "B", "C");
        s.out("out", "windowed_string", "string", 100).store("agg", "timestamped_window");
        s.dsl(b -> b.stream("a", CS()).groupByKey(GS()).<String>cogroup((k, v, g) -> g + v)
            .cogroup(b.stream("b", CL()).groupByKey(GL()), (k, v, g) -> g + "<" + v + ">")
            .windowedBy(TimeWindows.ofSizeAndGrace(ms(100), ms(40))).aggregate(() -> "", win("agg", STR)).toStream().to("out", PW(100, STR)));
    }

    // ============================================================ processors
    static void processors() {
        Oracle.Scenario s = sc("processor_kv_store",
            "Processor API: source, processor with a key-value store, two sinks addressed by child name. Uses get, put, delete, put_if_absent, range (both ends inclusive), reverse_all.",
            """
            t = Topology()
            t.add_source("src", ["in"], STR, STR); t.add_processor("p", P, ["src"]); t.add_state_store(key_value_store_builder(persistent "kv", STR, STR), ["p"])
            t.add_sink("sink1", "out", STR, STR, ["p"]); t.add_sink("sink2", "scan", STR, STR, ["p"])
            def process(r):
                if r.key is None: forward(r.with_key("none").with_value("v=" + S(r.value)), "sink2"); return
                if r.value is None:
                    old = kv.delete(r.key)                                   # delete returns the old value
                    forward(r.with_value("deleted:" + S(old)), "sink1"); return
                if r.value[0] == "x":
                    old = kv.put_if_absent(r.key, r.value)
                    forward(r.with_value("absent:" + S(old)), "sink1"); return
                old = kv.get(r.key)
                kv.put(r.key, tail((old or "") + r.value))
                forward(r.with_value(kv.get(r.key)))                         # no child name: goes to both sinks
                if r.value[0] == "c":
                    rng = ",".join(k + "=" + v for k, v in kv.range("B", "D"))
                    rev = ",".join(k for k, v in kv.reverse_all())
                    forward(r.with_value(rng + ";" + rev).with_timestamp(r.timestamp + 1000), "sink2")
            # tail(s) = the last 24 characters of s
            """).headers().steps(60);
        s.in("in", "string").nullKey(0.06).nullVal(0.15);
        s.out("out", "string", "string").out("scan", "string", "string").store("kv", "kv");
        s.papi(t -> t.addSource("src", STR.deserializer(), STR.deserializer(), "in")
            .addProcessor("p", (ProcessorSupplier<String, String, String, String>) () -> new Processor<>() {
                ProcessorContext<String, String> c;
                KeyValueStore<String, String> kv;
                public void init(ProcessorContext<String, String> c) { this.c = c; kv = c.getStateStore("kv"); }
                public void process(Record<String, String> r) {
                    if (r.key() == null) { c.forward(r.withKey("none").withValue("v=" + S(r.value())), "sink2"); return; }
                    if (r.value() == null) { c.forward(r.withValue("deleted:" + S(kv.delete(r.key()))), "sink1"); return; }
                    if (r.value().charAt(0) == 'x') { c.forward(r.withValue("absent:" + S(kv.putIfAbsent(r.key(), r.value()))), "sink1"); return; }
                    kv.put(r.key(), tail(E(kv.get(r.key())) + r.value()));
                    c.forward(r.withValue(kv.get(r.key())));
                    if (r.value().charAt(0) == 'c') {
                        List<String> rng = new ArrayList<>(), rev = new ArrayList<>();
                        try (var it = kv.range("B", "D")) { it.forEachRemaining(x -> rng.add(x.key + "=" + x.value)); }
                        try (var it = kv.reverseAll()) { it.forEachRemaining(x -> rev.add(x.key)); }
                        c.forward(r.withValue(String.join(",", rng) + ";" + String.join(",", rev)).withTimestamp(r.timestamp() + 1000), "sink2");
                    }
                }
            }, "src")
            .addStateStore(kvStore("kv", STR), "p")
            .addSink("sink1", "out", STR.serializer(), STR.serializer(), "p")
            .addSink("sink2", "scan", STR.serializer(), STR.serializer(), "p"));

        s = sc("process_adds_header",
            "A stateless processor that appends a header to a copy of the record's headers; a later operator keeps all of them, in order.",
            """
            def process(r):
                h = r.headers copy + ("length", str(len(S(r.value))))
                forward(r.with_headers(h))
            builder.stream("in", STR, STR).process(P).map_values(lambda v: S(v).upper()).to("out")
            """).headers().steps(40);
        s.in("in", "string").nullKey(0.08).nullVal(0.1);
        s.out("out", "string", "string");
        s.dsl(b -> b.stream("in", CS()).process(() -> new ContextualProcessor<String, String, String, String>() {
            public void process(Record<String, String> r) {
                context().forward(r.withHeaders(new RecordHeaders(r.headers()).add("length", String.valueOf(S(r.value()).length()).getBytes(StandardCharsets.UTF_8))));
            }
        }).mapValues(v -> S(v).toUpperCase()).to("out", PS()));

        s = sc("processor_wall_clock_punctuator",
            "Wall-clock punctuators every 100 and every 250 ms. Wall clock starts at 0 and moves only by advance_wall_clock steps. One advance over several intervals fires once.",
            """
            builder.add_state_store(key_value_store_builder(persistent "kv", STR, LONG))
            def init(ctx):
                ctx.schedule(100, WALL_CLOCK_TIME, lambda ts: [forward(Record(k, "dump " + str(v), timestamp=ts)) for k, v in kv.all()])
                ctx.schedule(250, WALL_CLOCK_TIME, clear)
            def clear(ts):
                n = number of entries in kv; delete them all
                forward(Record("clear", str(n) + "@" + str(ts), timestamp=ts))
            def process(r):
                kv.put(r.key, (kv.get(r.key) or 0) + 1); forward(r)
            builder.stream("in", STR, STR).process(P, "kv").to("out")
            """).steps(60).wall(0.35, 300);
        s.in("in", "string").keys("A", "B", "C");
        s.out("out", "string", "string").store("kv", "kv");
        s.dsl(b -> {
            b.addStateStore(kvStore("kv", LNG));
            b.stream("in", CS()).process(() -> new Processor<String, String, String, String>() {
                ProcessorContext<String, String> c;
                KeyValueStore<String, Long> kv;
                public void init(ProcessorContext<String, String> c) {
                    this.c = c;
                    kv = c.getStateStore("kv");
                    c.schedule(ms(100), PunctuationType.WALL_CLOCK_TIME, ts -> {
                        try (var it = kv.all()) { it.forEachRemaining(x -> c.forward(new Record<>(x.key, "dump " + x.value, ts))); }
                    });
                    c.schedule(ms(250), PunctuationType.WALL_CLOCK_TIME, ts -> {
                        List<String> keys = new ArrayList<>();
                        try (var it = kv.all()) { it.forEachRemaining(x -> keys.add(x.key)); }
                        keys.forEach(kv::delete);
                        c.forward(new Record<>("clear", keys.size() + "@" + ts, ts));
                    });
                }
                public void process(Record<String, String> r) {
                    Long x = kv.get(r.key());
                    kv.put(r.key(), x == null ? 1 : x + 1);
                    c.forward(r);
                }
            }, "kv").to("out", PS());
        });

        s = sc("dedup_ttl_punctuator",
            "Deduplication by (key, value) with a TTL of 100 ms: the first sight is forwarded, repeats within the store are dropped; a stream-time punctuator every 40 ms evicts ids not seen for more than 100 ms.",
            """
            builder.add_state_store(key_value_store_builder(persistent "seen", STR, LONG))
            def init(ctx): ctx.schedule(40, STREAM_TIME, evict)
            def evict(ts):
                for id, t in list(seen.all()):
                    if ts - t > 100: seen.delete(id); forward(Record("evict", id, timestamp=ts))
            def process(r):
                id = S(r.key) + "/" + S(r.value)
                t = seen.get(id)
                seen.put(id, r.timestamp if t is None else max(t, r.timestamp))
                if t is None: forward(r)
            builder.stream("in", STR, STR).process(P, "seen").to("out")
            """).steps(70);
        s.in("in", "string").keys("A", "B", "C").nullKey(0.04).val((r, i) -> "v" + r.nextInt(3));
        s.out("out", "string", "string").store("seen", "kv");
        s.dsl(b -> {
            b.addStateStore(kvStore("seen", LNG));
            b.stream("in", CS()).process(() -> new Processor<String, String, String, String>() {
                ProcessorContext<String, String> c;
                KeyValueStore<String, Long> seen;
                public void init(ProcessorContext<String, String> c) {
                    this.c = c;
                    seen = c.getStateStore("seen");
                    c.schedule(ms(40), PunctuationType.STREAM_TIME, ts -> {
                        List<String> out = new ArrayList<>();
                        try (var it = seen.all()) { it.forEachRemaining(x -> { if (ts - x.value > 100) out.add(x.key); }); }
                        for (String id : out) { seen.delete(id); c.forward(new Record<>("evict", id, ts)); }
                    });
                }
                public void process(Record<String, String> r) {
                    String id = S(r.key()) + "/" + S(r.value());
                    Long t = seen.get(id);
                    seen.put(id, t == null ? r.timestamp() : Math.max(t, r.timestamp()));
                    if (t == null) c.forward(r);
                }
            }, "seen").to("out", PS());
        });

        s = sc("process_values_store",
            "processValues (fixed key) with a timestamped store; null key and null value records reach the processor. The key stays, so the following groupByKey makes no repartition.",
            """
            builder.add_state_store(timestamped_key_value_store_builder(persistent "last", STR, STR))
            def process(r):                       # FixedKeyProcessor
                if r.key is None or r.value is None: forward(r.with_value("skip")); return
                old = last.get(r.key)             # ValueAndTimestamp or None
                last.put(r.key, ValueAndTimestamp.make(r.value, r.timestamp))
                forward(r.with_value(("first" if old is None else old.value + "@" + str(old.timestamp)) + ">" + r.value))
            p = builder.stream("in", STR, STR).process_values(P, "last")
            p.to("out")
            p.group_by_key().count(Materialized.as_("n")).to_stream().to("counts")
            """).headers();
        s.in("in", "string").nullKey(0.08).nullVal(0.1);
        s.out("out", "string", "string").out("counts", "string", "long").store("last", "timestamped_kv").store("n", "timestamped_kv");
        s.dsl(b -> {
            b.addStateStore(tsKvStore("last", STR));
            KStream<String, String> p = b.stream("in", CS()).processValues(() -> new FixedKeyProcessor<String, String, String>() {
                FixedKeyProcessorContext<String, String> c;
                TimestampedKeyValueStore<String, String> last;
                public void init(FixedKeyProcessorContext<String, String> c) { this.c = c; last = c.getStateStore("last"); }
                public void process(FixedKeyRecord<String, String> r) {
                    if (r.key() == null || r.value() == null) { c.forward(r.withValue("skip")); return; }
                    ValueAndTimestamp<String> old = last.get(r.key());
                    last.put(r.key(), ValueAndTimestamp.make(r.value(), r.timestamp()));
                    c.forward(r.withValue((old == null ? "first" : old.value() + "@" + old.timestamp()) + ">" + r.value()));
                }
            }, "last");
            p.to("out", PS());
            p.groupByKey(GS()).count(kv("n", LNG)).toStream().to("counts", PL());
        });

        s = sc("window_store_fetch",
            "A processor with its own window store (retention 200, window size 50, no duplicates) that puts (key, value, timestamp) and then fetches by single time, by key and time range forwards and backwards, by key range, and all keys in a time range. Entries with start < observed stream time - retention + 1 are not found, too late puts are ignored.",
            """
            builder.add_state_store(window_store_builder(persistent_window_store("w", retention=200, window_size=50, retain_duplicates=False), STR, STR))
            def process(r):
                if r.key is None: return
                w.put(r.key, r.value, r.timestamp)             # a None value deletes
                one = S(w.fetch(r.key, r.timestamp))
                fwd = "".join(v + "@" + str(t) + " " for t, v in w.fetch(r.key, r.timestamp - 100, r.timestamp + 100))
                bwd = "".join(str(t) + " " for t, v in w.backward_fetch(r.key, r.timestamp - 100, r.timestamp + 100))
                rng = sorted(wk.key + str(wk.window.start) + "-" + str(wk.window.end) for wk, v in w.fetch_range("A", "B", r.timestamp - 30, r.timestamp + 30))
                n = number of entries of w.fetch_all(r.timestamp - 60, r.timestamp + 60)
                forward(r.with_value(one + " | " + fwd + "| " + bwd + "| " + ",".join(rng) + " | " + str(n)))
            builder.stream("in", STR, STR).process(P, "w").to("out")
            """).steps(60).time(20, 60, 350, 300);
        s.in("in", "string").keys("A", "B", "C").nullVal(0.1);
        s.out("out", "string", "string").store("w", "window");
        s.dsl(b -> {
            b.addStateStore(winStore("w", STR, 200, 50, false));
            b.stream("in", CS()).process(() -> new Processor<String, String, String, String>() {
                ProcessorContext<String, String> c;
                WindowStore<String, String> w;
                public void init(ProcessorContext<String, String> c) { this.c = c; w = c.getStateStore("w"); }
                public void process(Record<String, String> r) {
                    if (r.key() == null) return;
                    long t = r.timestamp();
                    w.put(r.key(), r.value(), t);
                    StringBuilder o = new StringBuilder(S(w.fetch(r.key(), t)) + " | ");
                    try (var it = w.fetch(r.key(), t - 100, t + 100)) { it.forEachRemaining(x -> o.append(x.value).append("@").append(x.key).append(" ")); }
                    o.append("| ");
                    try (var it = w.backwardFetch(r.key(), t - 100, t + 100)) { it.forEachRemaining(x -> o.append(x.key).append(" ")); }
                    List<String> rng = new ArrayList<>();
                    try (var it = w.fetch("A", "B", t - 30, t + 30)) { it.forEachRemaining(x -> rng.add(x.key.key() + x.key.window().start() + "-" + x.key.window().end())); }
                    Collections.sort(rng);
                    int[] n = {0};
                    try (var it = w.fetchAll(t - 60, t + 60)) { it.forEachRemaining(x -> n[0]++); }
                    c.forward(r.withValue(o + "| " + String.join(",", rng) + " | " + n[0]));
                }
            }, "w").to("out", PS());
        });

        s = sc("processor_context",
            "What a processor sees of its context: where the record came from, stream time, wall clock, its punctuations (two stream-time ones, one cancelled after its third call), and forwarding to all children or to one. Inside a punctuator there is no record.",
            """
            def init(ctx):
                ctx.schedule(50, STREAM_TIME, lambda ts: forward(Record("fifty", str(ts) + where(), timestamp=ts)))
                self.other = ctx.schedule(30, STREAM_TIME, thirty)
                self.calls = 0
            def thirty(ts):
                self.calls += 1
                if self.calls == 3: self.other.cancel()
                forward(Record("thirty", str(ts) + where(), timestamp=ts), "sink1")
            def where():
                m = ctx.record_metadata
                return "/" + ("none" if m is None else m.topic + "-" + str(m.partition) + "@" + str(m.offset)) + "/" + str(ctx.current_stream_time_ms()) + "/" + str(ctx.current_system_time_ms())
            def process(r):
                forward(r.with_value(S(r.value) + where()))
            topology.add_source("src-a", "a").add_source("src-b", "b").add_processor("p", P, "src-a", "src-b")
            topology.add_sink("sink1", "out1", "p").add_sink("sink2", "out2", "p")
            """).headers().steps(60).wall(0.2, 100);
        s.in("a", "string").keys("A", "B").nullKey(0.1);
        s.in("b", "string").keys("A", "B");
        s.out("out1", "string", "string").out("out2", "string", "string");
        s.papi(t -> t.addSource("src-a", STR.deserializer(), STR.deserializer(), "a")
            .addSource("src-b", STR.deserializer(), STR.deserializer(), "b")
            .addProcessor("p", () -> new Processor<String, String, String, String>() {
                ProcessorContext<String, String> c;
                Cancellable other;
                int calls;
                public void init(ProcessorContext<String, String> c) {
                    this.c = c;
                    c.schedule(ms(50), PunctuationType.STREAM_TIME, ts -> c.forward(new Record<>("fifty", ts + where(), ts)));
                    other = c.schedule(ms(30), PunctuationType.STREAM_TIME, ts -> {
                        if (++calls == 3) other.cancel();
                        c.forward(new Record<>("thirty", ts + where(), ts), "sink1");
                    });
                }
                String where() {
                    // A punctuator's metadata has no topic: that is "none" here.
                    String m = c.recordMetadata().filter(x -> x.topic() != null).map(x -> x.topic() + "-" + x.partition() + "@" + x.offset()).orElse("none");
                    return "/" + m + "/" + c.currentStreamTimeMs() + "/" + c.currentSystemTimeMs();
                }
                public void process(Record<String, String> r) { c.forward(r.withValue(S(r.value()) + where())); }
            }, "src-a", "src-b")
            .addSink("sink1", "out1", STR.serializer(), STR.serializer(), "p")
            .addSink("sink2", "out2", STR.serializer(), STR.serializer(), "p"));
    }

    // ============================================================ chains
    static void chains() {
        Oracle.Scenario s = sc("chain_windowed_count_to_stream_group_by",
            "Tumbling count (100, grace 30) -> toStream -> groupBy window start -> aggregate. As the second aggregation works on a stream it counts every UPDATE.",
            """
            (builder.stream("in", STR, STR).group_by_key()
             .windowed_by(TimeWindows.of_size_and_grace(100, 30)).count(Materialized.as_("counts"))
             .to_stream()
             .map(lambda wk, n: (str(wk.window.start), wk.key + str(n)))
             .group_by_key(Grouped.with_(STR, STR))
             .aggregate(lambda: "", lambda k, v, a: a + S(v), Materialized.as_("agg", STR, STR)).to_stream().to("out"))
            """).steps(60);
        s.in("in", "string").keys("A", "B", "C");
        s.out("out", "string", "string").store("counts", "timestamped_window").store("agg", "timestamped_kv");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(TimeWindows.ofSizeAndGrace(ms(100), ms(30))).count(win("counts", LNG)).toStream()
            .map((wk, n) -> KeyValue.pair(String.valueOf(wk.window().start()), wk.key() + n)).groupByKey(GS())
            .aggregate(() -> "", (k, v, a) -> a + v, kv("agg", STR)).toStream().to("out", PS()));

        s = sc("chain_windowed_table_group_by",
            "Tumbling count (100, grace 30) as KTable -> groupBy window start -> reduce(add, subtract): the total per window over all keys, with retractions.",
            """
            (builder.stream("in", STR, STR).group_by_key()
             .windowed_by(TimeWindows.of_size_and_grace(100, 30)).count(Materialized.as_("counts"))
             .group_by(lambda wk, n: (str(wk.window.start), n), Grouped.with_(STR, LONG))
             .reduce(lambda a, v: a + v, lambda a, v: a - v, Materialized.as_("total", STR, LONG)).to_stream().to("out"))
            """).steps(60);
        s.in("in", "string").keys("A", "B", "C");
        s.out("out", "string", "long").store("total", "timestamped_kv");
        s.dsl(b -> b.stream("in", CS()).groupByKey().windowedBy(TimeWindows.ofSizeAndGrace(ms(100), ms(30))).count(win("counts", LNG))
            .groupBy((wk, n) -> KeyValue.pair(String.valueOf(wk.window().start()), n), GL())
            .reduce(Long::sum, (a, v) -> a - v, kv("total", LNG)).toStream().to("out", PL()));
    }
}
