import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Windowed;

import java.util.*;

/** The callbacks that a program names. They take any value, also null, and are written again in Python. */
final class ProgramFunctions {
    static String text(Object o) {
        if (o instanceof Windowed<?> w) return w.key() + "@" + w.window().start() + "-" + w.window().end();
        return String.valueOf(o);
    }

    /** Values must not grow for ever. */
    static String tail(String s) { return s.length() <= 12 ? s : s.substring(s.length() - 12); }

    static char last(Object o) {
        String s = text(o);
        return s.isEmpty() ? '-' : s.charAt(s.length() - 1);
    }

    static boolean test(String name, Object k, Object v) {
        return switch (name) {
            case "even_length" -> text(v).length() % 2 == 0;
            case "last_below_5" -> last(v) < '5';
            case "key_not_b" -> !text(k).startsWith("B");
            case "present" -> v != null;
            default -> throw new IllegalArgumentException(name);
        };
    }

    static Object value(String name, Object k, Object v) {
        return switch (name) {
            case "mark" -> tail(text(v) + "!");
            case "some" -> last(v) == '3' || last(v) == '7' ? null : text(v);
            case "keyed" -> tail(text(k) + ":" + text(v));
            case "length" -> (long) text(v).length();
            default -> throw new IllegalArgumentException(name);
        };
    }

    static List<Object> values(Object v) {
        if (last(v) == '2') return List.of();
        return List.of(text(v), tail(text(v) + "~"));
    }

    static String key(String name, Object k, Object v) {
        return switch (name) {
            case "letter" -> last(v) == '7' ? null : "ABC".substring(text(v).length() % 3, text(v).length() % 3 + 1);
            case "first" -> text(v).isEmpty() ? "E" : text(v).substring(0, 1).toUpperCase();
            case "key" -> text(k);
            default -> throw new IllegalArgumentException(name);
        };
    }

    static List<KeyValue<Object, Object>> pairs(Object k, Object v) {
        List<KeyValue<Object, Object>> all = new ArrayList<>();
        if (last(v) != '4') all.add(KeyValue.pair(key("letter", k, v), text(v)));
        if (last(v) != '5') all.add(KeyValue.pair(text(k), tail(text(v) + "^")));
        return all;
    }

    static Object reduce(boolean nulls, Object a, Object b) {
        if (nulls && last(b) == '3') return null;
        if (a instanceof Long || b instanceof Long) return (a == null ? 0 : (Long) a) + (b == null ? 0 : (Long) b);
        return tail(text(a) + text(b));
    }

    static Object subtract(Object a, Object b) {
        if (a instanceof Long || b instanceof Long) return (a == null ? 0 : (Long) a) - (b == null ? 0 : (Long) b);
        return tail(text(a) + "-" + text(b));
    }

    static Object aggregate(boolean nulls, Object v, Object a) {
        return nulls && last(v) == '3' ? null : tail(text(a) + text(v));
    }

    static Object join(String name, Object k, Object a, Object b) {
        return switch (name) {
            case "plus" -> tail(text(a) + "+" + text(b));
            case "some" -> last(b) == '1' ? null : tail(text(a) + "+" + text(b));
            case "keyed" -> tail(text(k) + ":" + text(a) + "+" + text(b));
            default -> throw new IllegalArgumentException(name);
        };
    }
}
