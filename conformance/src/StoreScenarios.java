import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.*;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.*;

import java.time.Duration;

/** Stores of a limited size, stores that a topic fills, and several punctuators at once. */
final class StoreScenarios extends Scenarios {
    static void add() {
        limited();
        filledByTopics();
        punctuators();
    }

    static void limited() {
        Oracle.Scenario s = sc("limited_table",
            "A count that keeps three rows only: the one that was used longest ago makes room, and begins anew when it comes back.",
            """
            builder.stream("in", STR, STR).group_by_key().count(Materialized(lru_map("few", 3))).to_stream().to("out", STR, LONG)
            """).steps(30);
        s.in("in", "string").keys("A", "B", "C", "D", "E").nullKey(0.05);
        s.out("out", "string", "long").store("few", "timestamped_kv");
        s.dsl(b -> b.stream("in", CS()).groupByKey()
            .count(Materialized.<String, Long>as(Stores.lruMap("few", 3)).withKeySerde(STR).withValueSerde(LNG))
            .toStream().to("out", org.apache.kafka.streams.kstream.Produced.with(STR, LNG)));

        Oracle.Scenario p = sc("limited_store",
            "A processor's store of four rows: reading a row is a use of it, going through all rows is none.",
            """
            # rows(iterator) = "key=value,..."
            def process(r):
                if r.key is None: return
                if r.value is None: done = "deleted " + S(kv.delete(r.key))
                elif r.value[0] == "a": done = "got " + S(kv.get(r.key))
                elif r.value[0] == "b": done = "absent " + S(kv.put_if_absent(r.key, r.value))
                else: kv.put(r.key, r.value); done = "put"
                forward(r.with_value(done + " | " + rows(kv.all()) + " | " + str(kv.approximate_num_entries())))
            builder.add_state_store(key_value_store(lru_map("store", 4))); builder.stream("in", STR, STR).process(P, "store").to("out")
            """).steps(40);
        p.in("in", "string").keys("A", "B", "C", "D", "E", "F", "G").nullVal(0.1);
        p.out("out", "string", "string").store("store", "kv");
        p.dsl(b -> {
            b.addStateStore(Stores.keyValueStoreBuilder(Stores.lruMap("store", 4), STR, STR));
            b.stream("in", CS()).process(() -> new ReadScenarios.Asking<KeyValueStore<String, String>>("store") {
                String answer(String k, String v, long t) {
                    String done;
                    if (v == null) done = "deleted " + store.delete(k);
                    else if (v.charAt(0) == 'a') done = "got " + store.get(k);
                    else if (v.charAt(0) == 'b') done = "absent " + store.putIfAbsent(k, v);
                    else { store.put(k, v); done = "put"; }
                    return done + " | " + ReadScenarios.rows(store.all()) + " | " + store.approximateNumEntries();
                }
            }, "store").to("out");
        });
    }

    /** Puts what comes, with the key of the record; nulls delete. */
    static ProcessorSupplier<String, String, Void, Void> keep() {
        return () -> new Processor<>() {
            private KeyValueStore<String, String> store;
            public void init(ProcessorContext<Void, Void> c) { store = c.getStateStore("store"); }
            public void process(Record<String, String> r) { if (r.key() != null) store.put(r.key(), r.value()); }
        };
    }

    static ProcessorSupplier<String, String, String, String> ask() {
        return () -> new ReadScenarios.Asking<KeyValueStore<String, String>>("store") {
            String answer(String k, String v, long t) { return v + " " + store.get(k) + " | " + ReadScenarios.rows(store.range("B", "C")); }
        };
    }

    static void filledByTopics() {
        String processors = """
            class Keep: process(r): if r.key is not None: store.put(r.key, r.value)
            class Ask: process(r): if r.key is not None: forward(r.with_value(S(r.value) + " " + S(store.get(r.key)) + " | " + rows(store.range("B", "C"))))
            """;
        Oracle.Scenario s = sc("read_only_store",
            "A store whose topic is its changelog (KIP-813), filled by one processor and read by another.",
            processors + """
            topology.add_read_only_state_store(key_value_store "store", source="names", topic="table", processor="keep", Keep)
            topology.add_source("words", "in").add_processor("ask", Ask, "words"); connect_processor_and_state_stores("ask", "store"); add_sink("out", "out", "ask")
            """).steps(30);
        s.in("table", "string").keys("A", "B", "C").nullVal(0.2).nullKey(0.05).uniq("t");
        s.in("in", "string").keys("A", "B", "C", "D");
        s.out("out", "string", "string").store("store", "kv");
        s.papi(t -> {
            t.addReadOnlyStateStore(kvStore("store", STR), "names", new StringDeserializer(), new StringDeserializer(), "table", "keep", keep());
            t.addSource("words", new StringDeserializer(), new StringDeserializer(), "in").addProcessor("ask", ask(), "words");
            t.connectProcessorAndStateStores("ask", "store").addSink("out", "out", new StringSerializer(), new StringSerializer(), "ask");
        });

        Oracle.Scenario g = sc("global_store_by_hand",
            "A global store that a processor of the user's own fills, made by the builder, and read by a processor that is connected to nothing.",
            processors + """
            builder.add_global_store(key_value_store "store" without logging, "table", Keep); builder.stream("in", STR, STR).process(Ask).to("out")
            """).steps(30);
        g.in("table", "string").keys("A", "B", "C").nullVal(0.2).uniq("t");
        g.in("in", "string").keys("A", "B", "C", "D");
        g.out("out", "string", "string").store("store", "kv");
        g.dsl(b -> {
            b.addGlobalStore(kvStore("store", STR).withLoggingDisabled(), "table", CS(), keep());
            b.stream("in", CS()).process(ask()).to("out");
        });

        Oracle.Scenario h = sc("global_store_in_topology",
            "The same, made by hand in a topology with names of its own.",
            processors + """
            topology.add_global_store(key_value_store "store" without logging, source="names", topic="table", processor="keep", Keep)
            topology.add_source("words", "in").add_processor("ask", Ask, "words").add_sink("out", "out", "ask")
            """).steps(30);
        h.in("table", "string").keys("A", "B", "C").nullVal(0.2).uniq("t");
        h.in("in", "string").keys("A", "B", "C", "D");
        h.out("out", "string", "string").store("store", "kv");
        h.papi(t -> t.addGlobalStore(kvStore("store", STR).withLoggingDisabled(), "names", new StringDeserializer(), new StringDeserializer(), "table", "keep", keep())
            .addSource("words", new StringDeserializer(), new StringDeserializer(), "in").addProcessor("ask", ask(), "words")
            .addSink("out", "out", new StringSerializer(), new StringSerializer(), "ask"));
    }

    static void punctuators() {
        Oracle.Scenario s = sc("many_punctuators",
            "Six punctuators by stream time and three by the wall clock, several of them due at once: the order in which they fire.",
            """
            # in init: stream time every 10, 20, 10, 10, 5, 20 (named s0 .. s5), wall clock every 30, 30, 15 (w0 .. w2), each: forward(Record(name, "tick", time))
            topology.add_source("src", "in").add_processor("p", P, "src").add_sink("sink", "out", "p")   # process does nothing
            """).steps(30).wall(0.3, 40).time(6, 5, 10, 60);
        s.in("in", "string").keys("A");
        s.out("out", "string", "string");
        s.papi(t -> t.addSource("src", new StringDeserializer(), new StringDeserializer(), "in")
            .addProcessor("p", () -> new Processor<String, String, String, String>() {
                public void init(ProcessorContext<String, String> c) {
                    int[] stream = {10, 20, 10, 10, 5, 20}, wall = {30, 30, 15};
                    for (int i = 0; i < stream.length; i++) tick(c, "s" + i, stream[i], PunctuationType.STREAM_TIME);
                    for (int i = 0; i < wall.length; i++) tick(c, "w" + i, wall[i], PunctuationType.WALL_CLOCK_TIME);
                }
                void tick(ProcessorContext<String, String> c, String name, int every, PunctuationType type) {
                    c.schedule(Duration.ofMillis(every), type, time -> c.forward(new Record<>(name, "tick", time)));
                }
                public void process(Record<String, String> r) {}
            }, "src").addSink("sink", "out", new StringSerializer(), new StringSerializer(), "p"));
    }
}
