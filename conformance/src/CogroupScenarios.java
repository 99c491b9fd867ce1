import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;

import java.util.stream.*;

/** Cogroups. */
final class CogroupScenarios extends Scenarios {
    static void add() {
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
        windowed();
    }

    static final String AB = """
            a = builder.stream("a", STR, STR).group_by_key(Grouped.with_(STR, STR))
            b = builder.stream("b", STR, LONG).group_by_key(Grouped.with_(STR, LONG))
            c = a.cogroup(lambda k, v, g: g + S(v)).cogroup(b, lambda k, v, g: g + "<" + S(v) + ">")
            """;

    static CogroupedKStream<String, String> ab(org.apache.kafka.streams.StreamsBuilder b) {
        return b.stream("a", CS()).groupByKey(GS()).<String>cogroup((k, v, g) -> g + v)
            .cogroup(b.stream("b", CL()).groupByKey(GL()), (k, v, g) -> g + "<" + v + ">");
    }

    static void inputs(Oracle.Scenario s) {
        s.in("a", "string").keys("A", "B", "C").nullKey(0.04);
        s.in("b", "long").keys("A", "B", "C").nullKey(0.04);
    }

    static void windowed() {
        Oracle.Scenario s = sc("cogroup_session", "cogroup in sessions, gap 30, grace 40.", AB + """
            (c.windowed_by(SessionWindows.of_inactivity_gap_and_grace(30, 40))
              .aggregate(lambda: "", lambda k, x, y: x + "|" + y, Materialized.as_("agg", STR, STR)).to_stream().to("out"))
            """).steps(60);
        inputs(s);
        s.out("out", "session_windowed_string", "string").store("agg", "session");
        s.dsl(b -> ab(b).windowedBy(SessionWindows.ofInactivityGapAndGrace(ms(30), ms(40)))
            .aggregate(() -> "", (k, x, y) -> x + "|" + y, ses("agg", STR)).toStream().to("out", PSE(STR)));

        s = sc("cogroup_sliding", "cogroup in sliding windows, time difference 40, grace 30.", AB + """
            (c.windowed_by(SlidingWindows.of_time_difference_and_grace(40, 30))
              .aggregate(lambda: "", Materialized.as_("agg", STR, STR)).to_stream().to("out"))
            """).steps(60);
        inputs(s);
        s.out("out", "windowed_string", "string", 40).store("agg", "timestamped_window");
        s.dsl(b -> ab(b).windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(ms(40), ms(30)))
            .aggregate(() -> "", win("agg", STR)).toStream().to("out", PW(40, STR)));

        s = sc("cogroup_rekeyed", "cogroup of a re-keyed stream and a plain one, twice from the same cogroup: hopping windows and no windows.", """
            a = builder.stream("a", STR, STR).group_by(lambda k, v: letter(v), Grouped.with_(STR, STR))   # letter as in stream_stream_left_rekeyed
            b = builder.stream("b", STR, STR).group_by_key(Grouped.with_(STR, STR))
            c = a.cogroup(lambda k, v, g: tail(g + S(v))).cogroup(b, lambda k, v, g: tail(g + "<" + S(v) + ">"))   # tail(s) = the last 24 characters of s
            c.aggregate(lambda: "", Materialized.as_("agg", STR, STR)).to_stream().to("out")
            (c.windowed_by(TimeWindows.of_size_and_grace(60, 20).advance_by(30))
              .aggregate(lambda: "", Materialized.as_("hops", STR, STR)).to_stream().to("hopping"))
            """).steps(60).headers();
        s.in("a", "string").uniq("a").keys("X", "Y");
        s.in("b", "string").uniq("b").keys("A", "B", "C");
        s.out("out", "string", "string").out("hopping", "windowed_string", "string", 60).store("agg", "timestamped_kv").store("hops", "timestamped_window");
        s.dsl(b -> {
            CogroupedKStream<String, String> c = b.stream("a", CS()).groupBy((k, v) -> letter(v), GS())
                .<String>cogroup((k, v, g) -> tail(g + v))
                .cogroup(b.stream("b", CS()).groupByKey(GS()), (k, v, g) -> tail(g + "<" + v + ">"));
            c.aggregate(() -> "", kv("agg", STR)).toStream().to("out", PS());
            c.windowedBy(TimeWindows.ofSizeAndGrace(ms(60), ms(20)).advanceBy(ms(30)))
                .aggregate(() -> "", win("hops", STR)).toStream().to("hopping", PW(60, STR));
        });
    }
}
