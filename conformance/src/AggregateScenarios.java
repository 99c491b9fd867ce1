import org.apache.kafka.streams.kstream.*;

import java.util.*;

/** Counts, reductions and aggregates without windows. */
final class AggregateScenarios extends Scenarios {
    static void add() {
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
}
