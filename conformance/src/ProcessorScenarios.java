import org.apache.kafka.common.header.internals.RecordHeaders;
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
import java.util.*;

/** Processors of a user's own: stores, punctuators, headers and context. */
final class ProcessorScenarios extends Scenarios {
    static void add() {
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
}
