// Measures hand-offs between tasks of .NET on Mono: a ring of tasks passes a token round. In the
// baseline each task in turn passes the token to itself, or does nothing if tasks hand over by
// yielding.
using System;
using System.Diagnostics;
using System.Linq;
using System.Reflection;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

static class Handoffs {
    struct Window { public bool IsSwitch, Walks; public long WarmUp, Rounds; }
    struct Times { public long All, Walked; }

    static int tasks, stride;
    static bool yields;
    static double[][] arrays;
    static SemaphoreSlim[] ring;

    static long Now() => Stopwatch.GetTimestamp() * (1000000000L / Stopwatch.Frequency);

    // Adds 1 to each element of the array, in steps of the stride, and returns the time in ns.
    static long Walk(double[] array) {
        long start = Now();
        for (int first = 0; first < stride; first++)
            for (int i = first; i < array.Length; i += stride) array[i] += 1;
        return Now() - start;
    }

    // Runs the rounds of a task that has the token. Returns the time of the rounds after the
    // warm-up, and the time of their walks.
    static async Task<Times> Rounds(Window window, int task, SemaphoreSlim next) {
        long start = 0, walked = 0;
        for (long round = -window.WarmUp; round < window.Rounds; round++) {
            if (round == 0) { start = Now(); walked = 0; }
            if (window.Walks) walked += Walk(arrays[task]);
            if (!yields) {
                next.Release();
                await ring[task].WaitAsync();
            } else if (window.IsSwitch) {
                await Task.Yield(); // not in the baseline: even a single task would go through the scheduler
            }
        }
        return new Times { All = Now() - start, Walked = walked };
    }

    static async Task<Times> Other(Window window, int task) {
        if (!yields) await ring[task].WaitAsync();
        return await Rounds(window, task, ring[(task + 1) % tasks]);
    }

    static async Task<Times> Together(Window window) {
        var others = Enumerable.Range(1, tasks - 1).Select(task => Task.Run(() => Other(window, task))).ToArray();
        var times = await Task.Run(() => Rounds(window, 0, ring[1 % tasks]));
        foreach (var own in ring.Skip(1)) if (!yields) own.Release(); // the task waits for this token after its last round
        foreach (var other in others) times.Walked += (await other).Walked;
        return times;
    }

    static async Task<Times> Alone(Window window) {
        var sum = new Times();
        for (int task = 0; task < tasks; task++) {
            int own = task;
            var times = await Task.Run(() => Rounds(window, own, ring[own]));
            sum = new Times { All = sum.All + times.All, Walked = sum.Walked + times.Walked };
        }
        return sum;
    }

    static long Number(string line, string name) {
        var found = Regex.Match(line, "\"" + name + "\":(\\d+)");
        return found.Success ? long.Parse(found.Groups[1].Value) : 0;
    }

    static string Version() {
        var name = Type.GetType("Mono.Runtime").GetMethod("GetDisplayName", BindingFlags.NonPublic | BindingFlags.Static);
        return ((string)name.Invoke(null, null)).Split(' ')[0];
    }

    static void Main() {
        string plan = Console.ReadLine();
        tasks = (int)Number(plan, "tasks");
        stride = (int)Math.Max(Number(plan, "stride_bytes") / 8, 1);
        yields = plan.Contains("\"yield\"");
        arrays = Enumerable.Range(0, tasks).Select(_ => new double[Number(plan, "size_bytes") / 8]).ToArray();
        ring = Enumerable.Range(0, tasks).Select(_ => new SemaphoreSlim(0)).ToArray();
        int cpus = (int)Math.Max(Number(plan, "cpus"), 1);
        ThreadPool.SetMinThreads(cpus, cpus);
        ThreadPool.SetMaxThreads(cpus, cpus);
        Console.WriteLine("{\"ready\":\"Mono " + Version() + "\"}");
        for (string line; (line = Console.ReadLine()) != null; ) {
            var window = new Window {
                IsSwitch = line.Contains("\"switch\""), Walks = line.Contains("\"walk\":true"),
                WarmUp = Number(line, "warm_up"), Rounds = Number(line, "rounds")
            };
            int before = GC.CollectionCount(0);
            var times = (window.IsSwitch ? Together(window) : Alone(window)).Result;
            Console.WriteLine("{\"ns\":" + times.All + ",\"walk_ns\":" + times.Walked + ",\"handoffs\":" + window.Rounds * tasks
                + ",\"collections\":" + (GC.CollectionCount(0) - before) + "}");
        }
    }
}
