import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Record;

/** More scenarios of streams whose records wait for the versioned table that they are joined with. */
class GraceScenarios extends Scenarios {
    static void add() {
        Oracle.Scenario s = sc("stream_table_grace_left",
            "Left join with grace 40; the table is a filter, without a store, of a versioned one. Behind the join a processor sees where the record that waited came from. A null key would crash Kafka Streams, so there is none.",
            """
            t = builder.table("table", STR, STR, Materialized.as_(Stores.persistent_versioned_key_value_store("t", history_retention=200))).filter(lambda k, v: not v.endswith("0"))
            def process(r):
                m = ctx.record_metadata
                forward(r.with_value(r.value + "/" + m.topic + "@" + str(m.offset)))
            (builder.stream("stream", STR, STR)
             .left_join(t, lambda k, a, b: k + a + "+" + S(b), Joined.with_(STR, STR, STR).with_grace_period(40)).process(P).to("out"))
            """).headers().time(20, 50, 150, 200);
        s.in("stream", "string").uniq("s").keys("A", "AB", "B").weight(2).nullVal(0.04);
        s.in("table", "string").uniq("t").keys("A", "AB", "B").nullVal(0.2);
        s.out("out", "string", "string").store("t", "versioned");
        s.dsl(b -> {
            KTable<String, String> t = b.table("table", CS(), versioned("t", 200, STR)).filter((k, v) -> !v.endsWith("0"));
            b.stream("stream", CS()).leftJoin(t, (k, x, y) -> k + x + "+" + S(y), Joined.with(STR, STR, STR, null, ms(40)))
                .process(() -> new ContextualProcessor<String, String, String, String>() {
                    public void process(Record<String, String> r) {
                        var m = context().recordMetadata().get();
                        context().forward(r.withValue(r.value() + "/" + m.topic() + "@" + m.offset()));
                    }
                }).to("out", PS());
        });

        s = sc("stream_table_grace_rekeyed",
            "A stream of longs with a new key is joined, behind its repartition, with grace 0 and with grace 90 (all of the history).",
            """
            t = builder.table("table", STR, STR, Materialized.as_(Stores.persistent_versioned_key_value_store("t", history_retention=90)))
            r = builder.stream("stream", STR, LONG).select_key(lambda k, v: None if v is None or v == 5 else "AB"[v % 2])
            r.join(t, lambda a, b: str(a) + "+" + b, Joined.with_(STR, LONG, STR).with_grace_period(0)).to("none")
            r.join(t, lambda a, b: str(a) + "+" + b, Joined.with_(STR, LONG, STR).with_name("long").with_grace_period(90)).to("long-out")
            """).time(20, 60, 200, 250);
        s.in("stream", "long").keys("X").weight(2);
        s.in("table", "string").uniq("t").keys("A", "B").nullVal(0.15);
        s.out("none", "string", "string").out("long-out", "string", "string").store("t", "versioned");
        s.dsl(b -> {
            KTable<String, String> t = b.table("table", CS(), versioned("t", 90, STR));
            KStream<String, Long> r = b.stream("stream", CL()).selectKey((k, v) -> v == null || v == 5 ? null : "AB".substring((int) Math.floorMod(v, 2), (int) Math.floorMod(v, 2) + 1));
            r.join(t, (x, y) -> x + "+" + y, Joined.with(STR, LNG, STR, null, ms(0))).to("none", PS());
            r.join(t, (x, y) -> x + "+" + y, Joined.with(STR, LNG, STR, "long", ms(90))).to("long-out", PS());
        });
    }
}
