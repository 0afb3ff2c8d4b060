// Measures hand-offs between virtual or platform threads of Java: a ring of threads passes a token
// round. In the baseline each thread in turn passes the token to itself.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

public class Handoffs {
    /** Passes the token to a task ({@code give}), and receives it in that task ({@code take}). */
    interface Link {
        void give() throws InterruptedException;

        void take() throws InterruptedException;
    }

    record QueueLink(BlockingQueue<Integer> queue) implements Link {
        public void give() throws InterruptedException { queue.put(1); }

        public void take() throws InterruptedException { queue.take(); }
    }

    static final class ParkLink implements Link {
        volatile Thread owner;
        volatile boolean isThere;

        public void give() { isThere = true; LockSupport.unpark(owner); }

        public void take() {
            owner = Thread.currentThread();
            while (!isThere) LockSupport.park();
            isThere = false;
        }
    }

    static final class ConditionLink implements Link {
        final ReentrantLock lock = new ReentrantLock();
        final Condition condition = lock.newCondition();
        boolean isThere;

        public void give() {
            lock.lock();
            isThere = true;
            condition.signal();
            lock.unlock();
        }

        public void take() throws InterruptedException {
            lock.lock();
            while (!isThere) condition.await();
            isThere = false;
            lock.unlock();
        }
    }

    record Window(boolean isSwitch, boolean walks, int warmUp, int rounds) {}

    static final Path STATUS = Path.of("/proc/thread-self/status");
    static final String SWITCHES = "ctxt_switches:\t";
    static final List<GarbageCollectorMXBean> COLLECTORS = ManagementFactory.getGarbageCollectorMXBeans();

    static int tasks, stride;
    static double[][] arrays;
    static long[] all, walked;

    /** Adds 1 to each element of the array, in steps of the stride. */
    static void walk(double[] array) {
        for (int first = 0; first < stride; first++) {
            for (int i = first; i < array.length; i += stride) array[i] += 1;
        }
    }

    /**
     * Runs the rounds of a task that has the token. Stores the time of the rounds after the warm-up in {@code all}, and the
     * time of their walks in {@code walked}, both in ns.
     */
    static void rounds(Window window, int task, Link next, Link own) throws InterruptedException {
        long start = 0, walks = 0;
        for (int round = -window.warmUp; round < window.rounds; round++) {
            if (round == 0) {
                walks = 0;
                start = System.nanoTime();
            }
            if (window.walks) {
                long begin = System.nanoTime();
                walk(arrays[task]);
                walks += System.nanoTime() - begin;
            }
            next.give();
            own.take();
        }
        all[task] = System.nanoTime() - start;
        walked[task] = walks;
    }

    static void run(Window window, int task, Link[] ring) {
        try {
            if (!window.isSwitch) {
                rounds(window, task, ring[task], ring[task]);
                return;
            }
            if (task > 0) ring[task].take();
            rounds(window, task, ring[(task + 1) % tasks], ring[task]);
            for (int other = 1; task == 0 && other < tasks; other++) ring[other].give(); // the task waits for this token after its last round
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    /** Returns the number of this thread's switches, as counted by the kernel. Each window has new threads. */
    static long kernelSwitches() {
        try {
            String status = Files.readString(STATUS);
            long sum = 0;
            for (int at = -1; (at = status.indexOf(SWITCHES, at + 1)) >= 0; ) sum += digits(status, at + SWITCHES.length());
            return sum;
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    static Link link(String kind, boolean isAlone) {
        return switch (kind) {
            case "park" -> new ParkLink();
            case "condition" -> new ConditionLink();
            default -> new QueueLink(isAlone ? new ArrayBlockingQueue<>(1) : new SynchronousQueue<>());
        };
    }

    // The functions that each window calls have few instructions, because a window is short, and
    // they are never compiled.
    static long digits(String text, int at) {
        long number = 0;
        for (; at < text.length() && Character.isDigit(text.charAt(at)); at++) number = 10 * number + text.charAt(at) - '0';
        return number;
    }

    static long number(String line, String name) {
        int at = line.indexOf("\"" + name + "\":");
        return at < 0 ? 0 : digits(line, at + name.length() + 3);
    }

    static long collections() {
        long sum = 0;
        for (GarbageCollectorMXBean collector : COLLECTORS) sum += collector.getCollectionCount();
        return sum;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        String plan = input.readLine();
        boolean isVirtual = plan.contains("\"handoff\":\"virtual-");
        String kind = plan.replaceAll(".*\"handoff\":\"\\w+-(\\w+)\".*", "$1");
        tasks = (int) number(plan, "tasks");
        stride = (int) Math.max(number(plan, "stride_bytes") / 8, 1);
        arrays = new double[tasks][(int) number(plan, "size_bytes") / 8];
        all = new long[tasks];
        walked = new long[tasks];
        Link[] ring = new Link[tasks], alone = new Link[tasks];
        for (int task = 0; task < tasks; task++) {
            ring[task] = link(kind, false);
            alone[task] = link(kind, true);
        }
        System.out.println("{\"ready\":\"Java " + Runtime.version() + "\"}");
        for (String line; (line = input.readLine()) != null; ) {
            boolean isSwitch = line.contains("\"switch\"");
            Window window = new Window(isSwitch, line.contains("\"walk\":true"), (int) number(line, "warm_up"), (int) number(line, "rounds"));
            LongAdder kernel = new LongAdder();
            long before = collections(), ns = 0, walks = 0;
            Thread[] threads = new Thread[tasks];
            for (int task = 0; task < tasks; task++) {
                int own = task;
                Runnable body = () -> {
                    run(window, own, isSwitch ? ring : alone);
                    if (!isVirtual) kernel.add(kernelSwitches());
                };
                threads[task] = isVirtual ? Thread.ofVirtual().start(body) : Thread.ofPlatform().start(body);
                if (!isSwitch) threads[task].join();
            }
            for (int task = 0; task < tasks; task++) {
                threads[task].join();
                ns += isSwitch && task > 0 ? 0 : all[task];
                walks += walked[task];
            }
            System.out.println("{\"ns\":" + ns + ",\"walk_ns\":" + walks + ",\"handoffs\":" + (long) window.rounds * tasks
                + ",\"collections\":" + (collections() - before) + (isVirtual ? "" : ",\"kernel_switches\":" + kernel) + "}");
        }
    }
}
