"""Measures hand-offs between tasks of Python: a ring of tasks passes a token round.

In the baseline each task in turn passes the token to itself, or does nothing if tasks hand over without a token.
"""

import array
import asyncio
import gc
import json
import queue
import resource
import sys
import threading
from time import perf_counter_ns as now

plan = json.loads(sys.stdin.readline())
TASKS, HANDOFF, STRIDE = plan["tasks"], plan["handoff"], max(plan["stride_bytes"] // 8, 1)
arrays = [array.array("d", bytes(plan["size_bytes"])) for _ in range(TASKS)]
libraries = []


def walk(task):
    """Adds 1 to each element of a task's array, in steps of the stride, and returns the time in ns."""
    begin, elements = now(), arrays[task]
    for first in range(STRIDE):
        for i in range(first, len(elements), STRIDE):
            elements[i] += 1.0
    return now() - begin


def nothing():
    pass


def rounds(window, task, give, take):
    """Runs the rounds of a task that has the token.

    Returns the time of the rounds after the warm-up, and the time of their walks, in ns.
    """
    start, walked = now(), 0
    for round in range(-window["warm_up"], window["rounds"]):
        if round == 0:
            start, walked = now(), 0
        if window["walk"]:
            walked += walk(task)
        give()
        take()
    return now() - start, walked


async def rounds_async(window, task, give, take):
    start, walked = now(), 0
    for round in range(-window["warm_up"], window["rounds"]):
        if round == 0:
            start, walked = now(), 0
        if window["walk"]:
            walked += walk(task)
        give()
        await take()
    return now() - start, walked


def threads():
    """Threads with a queue each. If the interpreter has a global lock, the lock moves with the token."""
    queues = [queue.SimpleQueue() for _ in range(TASKS)]
    ring = [(lambda one=one: one.put(1), one.get) for one in queues]
    walked = [0] * TASKS

    def other(window, task):
        ring[task][1]()
        walked[task] = rounds(window, task, ring[(task + 1) % TASKS][0], ring[task][1])[1]

    def together(window):
        others = [threading.Thread(target=other, args=(window, task)) for task in range(1, TASKS)]
        for one in others:
            one.start()
        time, walked[0] = rounds(window, 0, ring[1 % TASKS][0], ring[0][1])
        for give, _ in ring[1:]:
            give()  # the task waits for this token after its last round
        for one in others:
            one.join()
        return time, sum(walked)

    return together, lambda window, task: rounds(window, task, *ring[task])


def greenlets():
    from greenlet import __version__, getcurrent, greenlet

    libraries.append("greenlet " + __version__)
    ring, walked = [None] * TASKS, [0] * TASKS

    def other(window, task):
        ring[0].switch()  # waits for the token
        walked[task] = rounds(window, task, ring[(task + 1) % TASKS].switch, nothing)[1]

    def together(window):
        ring[0] = getcurrent()
        for task in range(1, TASKS):
            ring[task] = greenlet(other)
            ring[task].switch(window, task)
        time, walked[0] = rounds(window, 0, ring[1 % TASKS].switch, nothing)
        for one in ring[1:]:
            one.switch()  # ends the greenlet
        return time, sum(walked)

    return together, lambda window, task: rounds(window, task, nothing, nothing)


def generators():
    """The first task resumes the second, a generator, which yields back."""
    if TASKS != 2:
        raise ValueError("a generator yields to the one that resumed it: need 2 tasks")
    walked = [0]

    def other(window):
        while True:
            if window["walk"]:
                walked[0] += walk(1)
            yield

    def turns(window, resumed):
        for round in range(-window["warm_up"], window["rounds"]):
            if round == 0:
                start, walked[0] = now(), 0
            if window["walk"]:
                walked[0] += walk(0)
            if resumed:
                next(resumed)
            elif window["walk"]:
                walked[0] += walk(1)
        return now() - start, walked[0]

    return lambda window: turns(window, other(window)), lambda window, task: (0, 0) if task else turns(window, None)


def tasks(loop):
    """Tasks of asyncio, which hand over by an event each, or by sleep(0), which returns to the event loop."""
    events = [asyncio.Event() for _ in range(TASKS)]
    walked = [0] * TASKS

    async def wait(task):
        await events[task].wait()
        events[task].clear()

    async def stay():
        pass

    def ring(task, is_alone):
        if HANDOFF == "sleep0":
            return nothing, stay if is_alone else lambda: asyncio.sleep(0)
        return events[task if is_alone else (task + 1) % TASKS].set, lambda: wait(task)

    async def other(window, task):
        give, take = ring(task, False)
        await take()
        walked[task] = (await rounds_async(window, task, give, take))[1]

    async def together(window):
        others = [asyncio.create_task(other(window, task)) for task in range(1, TASKS)]
        time, walked[0] = await rounds_async(window, 0, *ring(0, False))
        for event in events[1:]:
            event.set()  # the task waits for this token after its last round
        await asyncio.gather(*others)
        for event in events:
            event.clear()
        return time, sum(walked)

    async def alone(window, task):
        return await rounds_async(window, task, *ring(task, True))

    run = loop.run_until_complete
    return lambda window: run(together(window)), lambda window, task: run(alone(window, task))


def uvloop_tasks():
    import uvloop

    libraries.append("uvloop " + uvloop.__version__)
    return tasks(uvloop.new_event_loop())


KINDS = {
    "threads": threads,
    "greenlet": greenlets,
    "generator": generators,
    "event": lambda: tasks(asyncio.new_event_loop()),
    "sleep0": lambda: tasks(asyncio.new_event_loop()),
    "uvloop": uvloop_tasks,
}

try:
    together, alone = KINDS[HANDOFF]()
except (ImportError, KeyError, ValueError) as error:
    print(json.dumps({"refused": str(error)}), flush=True)
    sys.exit()
print(json.dumps({"ready": ", ".join(["Python " + sys.version.split()[0]] + libraries)}), flush=True)


def kernel_switches():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_nvcsw + usage.ru_nivcsw


for line in sys.stdin:
    window = json.loads(line)
    kernel = kernel_switches()
    before = sum(one["collections"] for one in gc.get_stats())
    times = [together(window)] if window["arm"] == "switch" else [alone(window, task) for task in range(TASKS)]
    kernel = kernel_switches() - kernel
    ns, walk_ns = map(sum, zip(*times))
    answer = {"ns": ns, "walk_ns": walk_ns, "handoffs": window["rounds"] * TASKS, "kernel_switches": kernel}
    answer["collections"] = sum(one["collections"] for one in gc.get_stats()) - before
    print(json.dumps(answer), flush=True)
