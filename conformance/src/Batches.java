import java.lang.reflect.*;
import java.util.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.processor.internals.StreamTask;

/** Several records in one commit: the test driver commits after each, which hides most of what a record cache does. */
final class Batches {
    /** Processes one record, and what comes back from internal topics, without a commit. */
    static void pipe(TopologyTestDriver d, String topic, byte[] key, byte[] value, long time, Headers headers) throws Exception {
        TopicPartition partition = (TopicPartition) call(d, "getInputTopicOrPatternPartition", topic);
        call(d, "enqueueTaskRecord", topic, partition, time, key, value, headers);
        StreamTask task = task(d);
        task.resumePollingForPartitionsWithAvailableSpace();
        task.updateLags();
        while (task.hasRecordsQueued() && task.isProcessable(0)) {
            task.process(0);
            task.maybePunctuateStreamTime();
            call(d, "captureOutputsAndReEnqueueInternalResults");
        }
    }

    static boolean isGlobal(TopologyTestDriver d, String topic) throws Exception {
        return ((Map<?, ?>) field(d, "globalPartitionsByInputTopic")).containsKey(topic);
    }

    /** Commits, and then goes on as the driver does. */
    static void commit(TopologyTestDriver d) throws Exception {
        StreamTask task = task(d);
        call(d, "commit", task.prepareCommit(true));
        task.postCommit(true);
        call(d, "completeAllProcessableWork");
    }

    private static StreamTask task(TopologyTestDriver d) throws Exception {
        return (StreamTask) field(d, "task");
    }

    private static Object field(TopologyTestDriver d, String name) throws Exception {
        Field field = TopologyTestDriver.class.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(d);
    }

    private static Object call(TopologyTestDriver d, String name, Object... arguments) throws Exception {
        for (Method m : TopologyTestDriver.class.getDeclaredMethods())
            if (m.getName().equals(name) && m.getParameterCount() == arguments.length) {
                m.setAccessible(true);
                try {
                    return m.invoke(d, arguments);
                } catch (InvocationTargetException e) {
                    if (e.getCause() instanceof Exception x) throw x;
                    throw e;
                }
            }
        throw new NoSuchMethodException(name);
    }
}
