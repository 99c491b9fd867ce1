import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.processor.*;

import java.util.*;
import java.util.stream.*;

/** Stateless operators, branching, routing, timestamps and errors. */
final class StatelessScenarios extends Scenarios {
    static void add() {
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
            "split with a named prefix, four branches (three with names, one numbered), then merge of branches. A record goes to the FIRST branch whose predicate is true.",
            """
            s = builder.stream("in", STR, STR)
            br = (s.split(Named.as_("br-"))
                   .branch(lambda k, v: v is None, Branched.as_("nulls"))
                   .branch(lambda k, v: int(v[1]) % 2 == 0, Branched.as_("even"))
                   .branch(lambda k, v: v[0] == "a")
                   .default_branch(Branched.as_("rest")))
            # br has exactly the keys br-nulls, br-even, br-3, br-rest
            even = br["br-even"].map_values(lambda v: "even:" + v)
            br["br-3"].to("out-a")
            merged = br["br-nulls"].map_values(lambda v: "NULL").merge(even).merge(br["br-rest"])
            merged.to("merged")
            br["br-rest"].to("rest")
            # a second split without default: what matches no branch is dropped
            b = s.split().branch(lambda k, v: v is not None and v[0] == "b").no_default_branch()
            the only branch of b .to("only-b")
            """);
        s.in("in", "string").nullKey(0.05).nullVal(0.12);
        s.out("out-a", "string", "string").out("merged", "string", "string").out("rest", "string", "string").out("only-b", "string", "string");
        s.dsl(b -> {
            KStream<String, String> in = b.stream("in", CS());
            Map<String, KStream<String, String>> br = in.split(Named.as("br-"))
                .branch((k, v) -> v == null, Branched.as("nulls"))
                .branch((k, v) -> (v.charAt(1) - '0') % 2 == 0, Branched.as("even"))
                .branch((k, v) -> v.charAt(0) == 'a')
                .defaultBranch(Branched.as("rest"));
            if (!br.keySet().equals(Set.of("br-nulls", "br-even", "br-3", "br-rest"))) throw new IllegalStateException(br.keySet().toString());
            KStream<String, String> even = br.get("br-even").mapValues(v -> "even:" + v);
            br.get("br-3").to("out-a", PS());
            br.get("br-nulls").mapValues(v -> "NULL").merge(even).merge(br.get("br-rest")).to("merged", PS());
            br.get("br-rest").to("rest", PS());
            in.split().branch((k, v) -> v != null && v.charAt(0) == 'b').noDefaultBranch().values().forEach(ks -> ks.to("only-b", PS()));
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
            builder.stream("in", STR, STR).to(lambda k, v, ctx: "out-vowel" if k in ("A", "E") else "out-other")   # prints itself as EXTRACTOR
            """).headers();
        s.in("in", "string").nullKey(0.08);
        s.out("out-vowel", "string", "string").out("out-other", "string", "string");
        s.dsl(b -> b.stream("in", CS()).to(new Vowels(), PS()));

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

    static final class Vowels implements TopicNameExtractor<String, String> {
        public String extract(String k, String v, RecordContext ctx) { return "A".equals(k) || "E".equals(k) ? "out-vowel" : "out-other"; }
        public String toString() { return "EXTRACTOR"; }
    }
}
