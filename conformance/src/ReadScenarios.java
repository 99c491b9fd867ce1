import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.processor.api.*;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.*;

import java.util.*;

/** What stores answer while a topology is at work: every read of every kind of store, asked by processors. */
final class ReadScenarios extends Scenarios {
    /** A processor that puts each record and answers with what it then reads. */
    abstract static class Asking<S extends org.apache.kafka.streams.processor.StateStore> implements Processor<String, String, String, String> {
        private final String name;
        private ProcessorContext<String, String> context;
        S store;
        Asking(String name) { this.name = name; }
        public void init(ProcessorContext<String, String> c) {
            context = c;
            store = c.getStateStore(name);
        }
        abstract String answer(String k, String v, long t);
        public void process(Record<String, String> r) {
            if (r.key() != null) context.forward(r.withValue(answer(r.key(), r.value(), r.timestamp())));
        }
    }

    static <K, V> String rows(KeyValueIterator<K, V> it) {
        StringBuilder b = new StringBuilder();
        try (it) {
            it.forEachRemaining(row -> {
                if (!b.isEmpty()) b.append(",");
                if (row.key instanceof Windowed<?> w) b.append(w.key()).append(w.window().start()).append("-").append(w.window().end());
                else b.append(row.key);
                b.append("=").append(row.value instanceof ValueAndTimestamp<?> x ? x.value() + "@" + x.timestamp() : S(row.value));
            });
        }
        return b.toString();
    }

    static void add() {
        keyValues();
        windows();
        sessions();
    }

    static void keyValues() {
        Oracle.Scenario s = sc("reads_key_value",
            "Every read of a key-value store: range, reverse_range (also without bounds), all, reverse_all, prefix_scan, put_if_absent, put_all and delete. Keys are put under the record's key and the first letter of the value.",
            """
            # rows(iterator) = "key=value,..."; KEYS are strings, ordered by their bytes
            def process(r):
                if r.key is None: return
                k = r.key + ("" if r.value is None else r.value[0])
                if r.value is None: done = "deleted " + S(kv.delete(r.key + "a"))
                elif r.value[1] == "0": kv.put_all([(r.key + "x", r.value), (r.key + "y", None), ("AA", r.value)]); done = "all"
                elif r.value[1] == "1": done = "absent " + S(kv.put_if_absent(k, r.value))
                else: kv.put(k, r.value); done = "put"
                forward(r.with_value(" | ".join([done, S(kv.get(k)), rows(kv.range("Aa", "Bx")), rows(kv.reverse_range("B", None)), rows(kv.range(None, "B")),
                    rows(kv.all()), rows(kv.reverse_all()), rows(kv.prefix_scan(r.key))])))
            builder.add_state_store(key_value_store "store"); builder.stream("in", STR, STR).process(P, "store").to("out")
            """).steps(30);
        s.in("in", "string").keys("A", "B", "C").nullVal(0.15);
        s.out("out", "string", "string").store("store", "kv");
        s.dsl(b -> {
            b.addStateStore(kvStore("store", STR));
            b.stream("in", CS()).process(() -> new Asking<KeyValueStore<String, String>>("store") {
                String answer(String key, String v, long t) {
                    String k = key + (v == null ? "" : v.substring(0, 1)), done;
                    if (v == null) done = "deleted " + store.delete(key + "a");
                    else if (v.charAt(1) == '0') {
                        store.putAll(List.of(KeyValue.pair(key + "x", v), KeyValue.pair(key + "y", null), KeyValue.pair("AA", v)));
                        done = "all";
                    } else if (v.charAt(1) == '1') done = "absent " + store.putIfAbsent(k, v);
                    else {
                        store.put(k, v);
                        done = "put";
                    }
                    return String.join(" | ", done, S(store.get(k)), rows(store.range("Aa", "Bx")), rows(store.reverseRange("B", null)), rows(store.range(null, "B")),
                        rows(store.all()), rows(store.reverseAll()), rows(store.prefixScan(key, new StringSerializer())));
                }
            }, "store").to("out", PS());
        });
    }

    static void windows() {
        Oracle.Scenario s = sc("reads_window",
            "Every read of a window store (retention 120, size 20): of one key, of a range of keys (also open), of all keys, forwards and backwards, and of everything.",
            """
            def process(r):
                if r.key is None: return
                w.put(r.key, r.value, r.timestamp); a, z = r.timestamp - 50, r.timestamp + 50
                forward(r.with_value(" | ".join(rows(it) for it in [w.fetch(r.key, a, z), w.backward_fetch(r.key, a, z), w.fetch_range("A", "B", a, z),
                    w.backward_fetch_range("A", "B", a, z), w.fetch_range(None, "B", a, z), w.fetch_range("B", None, a, z), w.fetch_all(a, z), w.backward_fetch_all(a, z), w.all(), w.backward_all()])))
            builder.add_state_store(window_store "store"); builder.stream("in", STR, STR).process(P, "store").to("out")
            """).steps(30).time(20, 40, 200, 100);
        s.in("in", "string").keys("A", "B", "C").nullVal(0.1);
        s.out("out", "string", "string").store("store", "window");
        s.dsl(b -> {
            b.addStateStore(winStore("store", STR, 120, 20, false));
            b.stream("in", CS()).process(() -> new Asking<WindowStore<String, String>>("store") {
                String answer(String k, String v, long t) {
                    store.put(k, v, t);
                    long a = t - 50, z = t + 50;
                    return String.join(" | ", rows(store.fetch(k, a, z)), rows(store.backwardFetch(k, a, z)), rows(store.fetch("A", "B", a, z)), rows(store.backwardFetch("A", "B", a, z)),
                        rows(store.fetch(null, "B", a, z)), rows(store.fetch("B", null, a, z)), rows(store.fetchAll(a, z)), rows(store.backwardFetchAll(a, z)), rows(store.all()), rows(store.backwardAll()));
                }
            }, "store").to("out", PS());
        });
    }

    static void sessions() {
        Oracle.Scenario s = sc("reads_session",
            "Every read of a session store (retention 120): sessions of one key and of a range, forwards and backwards, one session, all of a key. A record's session reaches from its time to ten times its digit later; x-values remove it.",
            """
            def process(r):
                if r.key is None: return
                end = r.timestamp + (0 if r.value is None else 10 * int(r.value[1])); s = Windowed(r.key, r.timestamp, end)
                if r.value is not None and r.value[0] == "x": store.remove(s)
                else: store.put(s, r.value)
                a, z = r.timestamp - 40, r.timestamp + 40
                forward(r.with_value(" | ".join([rows(store.find_sessions(r.key, a, z)), rows(store.backward_find_sessions(r.key, a, z)), rows(store.find_sessions_range("A", "B", a, z)),
                    rows(store.backward_find_sessions_range("A", "B", a, z)), S(store.fetch_session(r.key, r.timestamp, end)), rows(store.fetch(r.key)), rows(store.backward_fetch(r.key)),
                    rows(store.fetch_range("A", "B")), rows(store.backward_fetch_range("B", None))])))
            builder.add_state_store(session_store "store"); builder.stream("in", STR, STR).process(P, "store").to("out")
            """).steps(30).time(20, 40, 200, 100);
        s.in("in", "string").keys("A", "B", "C").nullVal(0.1);
        s.out("out", "string", "string").store("store", "session");
        s.dsl(b -> {
            b.addStateStore(sesStore("store", STR, 120));
            b.stream("in", CS()).process(() -> new Asking<SessionStore<String, String>>("store") {
                String answer(String k, String v, long t) {
                    long end = t + (v == null ? 0 : 10 * (v.charAt(1) - '0'));
                    Windowed<String> session = new Windowed<>(k, new SessionWindow(t, end));
                    if (v != null && v.charAt(0) == 'x') store.remove(session);
                    else store.put(session, v);
                    long a = t - 40, z = t + 40;
                    return String.join(" | ", rows(store.findSessions(k, a, z)), rows(store.backwardFindSessions(k, a, z)), rows(store.findSessions("A", "B", a, z)),
                        rows(store.backwardFindSessions("A", "B", a, z)), S(store.fetchSession(k, t, end)), rows(store.fetch(k)), rows(store.backwardFetch(k)),
                        rows(store.fetch("A", "B")), rows(store.backwardFetch("B", null)));
                }
            }, "store").to("out", PS());
        });
    }
}
