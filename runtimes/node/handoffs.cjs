// Measures hand-offs between async functions, or between worker threads, of Node: a ring of tasks
// passes a token round. In the baseline the main thread passes the token to itself; an async
// function does nothing.
'use strict';
const fs = require('fs');
const { PerformanceObserver } = require('perf_hooks');
const { MessageChannel, Worker, isMainThread, workerData } = require('worker_threads');

const now = () => Number(process.hrtime.bigint());
const nothing = () => undefined;

// Adds 1 to each element of the array, in steps of the stride, and returns the time in ns.
function walk(array, stride) {
  const begin = now();
  for (let first = 0; first < stride; first++) {
    for (let i = first; i < array.length; i += stride) array[i] += 1;
  }
  return now() - begin;
}

// Runs the rounds of a task that has the token. Returns the time of the rounds after the warm-up,
// and the time of their walks, in ns.
async function rounds(window, { array, stride, give, take }) {
  let [start, walked] = [now(), 0];
  for (let round = -window.warm_up; round < window.rounds; round++) {
    if (round === 0) [start, walked] = [now(), 0];
    if (window.walk) walked += walk(array, stride);
    give();
    await take();
  }
  return [now() - start, walked];
}

// Like `rounds`, but without await: for a thread, which blocks, and for the baseline of async
// functions.
function roundsAtOnce(window, { array, stride, give, take }) {
  let [start, walked] = [now(), 0];
  for (let round = -window.warm_up; round < window.rounds; round++) {
    if (round === 0) [start, walked] = [now(), 0];
    if (window.walk) walked += walk(array, stride);
    give();
    take();
  }
  return [now() - start, walked];
}

// Makes the mailbox of a task. The event loop delivers each message to the task if it waits, or
// counts it for later.
function mailbox() {
  const { port1, port2 } = new MessageChannel();
  let [waiting, arrived] = [undefined, 0];
  port2.on('message', () => (waiting ? waiting() : arrived++));
  const wait = (resolve) => (waiting = () => ((waiting = undefined), resolve()));
  const take = () => (arrived > 0 ? arrived-- && undefined : new Promise(wait));
  return { give: () => port1.postMessage(1), take, close: () => port1.close() };
}

// Passes a token through words that threads share. Words 0 to 7 describe the window; from word 8
// on, each task has a word, which is 1 if the token is there.
function words(shared, tasks, task, next) {
  const word = (of) => 8 + of;
  return {
    give: () => (Atomics.store(shared, word(next), 1), Atomics.notify(shared, word(next))),
    take: () => {
      while (Atomics.exchange(shared, word(task), 0) === 0) Atomics.wait(shared, word(task), 0);
    },
  };
}

const arrayOf = (plan) => ({ array: new Float64Array(plan.size_bytes / 8), stride: Math.max(plan.stride_bytes >> 3, 1) });

// Body of a worker thread: waits for each window, takes part in it, and stores the time of its
// walks.
function thread({ plan, task, shared, walked }) {
  const own = { ...arrayOf(plan), ...words(shared, plan.tasks, task, (task + 1) % plan.tasks) };
  for (let window = 1; ; window++) {
    Atomics.wait(shared, 0, window - 1);
    own.take();
    walked[task] = roundsAtOnce({ warm_up: shared[1], rounds: shared[2], walk: shared[3] === 1 }, own)[1];
    Atomics.add(shared, 4, 1);
    Atomics.notify(shared, 4);
  }
}

function threads(plan) {
  const shared = new Int32Array(new SharedArrayBuffer(4 * (8 + plan.tasks)));
  const walked = new Float64Array(new SharedArrayBuffer(8 * plan.tasks));
  for (let task = 1; task < plan.tasks; task++) new Worker(__filename, { workerData: { plan, task, shared, walked } });
  const own = arrayOf(plan);
  const alone = words(shared, plan.tasks, 0, 0);
  const first = { ...own, take: alone.take, give: words(shared, plan.tasks, 0, 1 % plan.tasks).give };
  const together = (window) => {
    shared.set([window.warm_up, window.rounds, window.walk ? 1 : 0, 0], 1);
    Atomics.add(shared, 0, 1);
    Atomics.notify(shared, 0);
    const [ns, walk] = roundsAtOnce(window, first);
    for (let task = 1; task < plan.tasks; task++) words(shared, plan.tasks, 0, task).give();
    for (let done = 0; (done = Atomics.load(shared, 4)) < plan.tasks - 1; ) Atomics.wait(shared, 4, done);
    return [ns, walk + walked.reduce((sum, more) => sum + more, 0)];
  };
  return { together, alone: (window) => roundsAtOnce(window, { ...own, ...alone }) };
}

// Tasks that are async functions. A function that awaits a resolved promise continues after all
// others; a function that waits for a message is woken by it.
function functions(plan) {
  const boxes = Array.from({ length: plan.tasks }, plan.handoff === 'message' ? mailbox : () => ({ give: nothing, take: nothing }));
  const arrays = boxes.map(() => arrayOf(plan));
  const task = (i) => ({ ...arrays[i], take: boxes[i].take, give: boxes[(i + 1) % plan.tasks].give });
  const together = async (window) => {
    const others = arrays.slice(1).map(async (_, i) => {
      await boxes[i + 1].take();
      return rounds(window, task(i + 1));
    });
    const [ns, walk] = await rounds(window, task(0));
    boxes.slice(1).forEach((box) => box.give());
    const walks = await Promise.all(others);
    return [ns, walks.reduce((sum, [, more]) => sum + more, walk)];
  };
  return { together, alone: (window, i) => roundsAtOnce(window, { ...arrays[i], give: nothing, take: nothing }) };
}

// Yields the value of each line of standard input. Reading blocks the thread, so no other task runs
// meanwhile.
function* lines(buffer = Buffer.alloc(4096), text = '') {
  for (let count; (count = fs.readSync(0, buffer)) > 0; ) {
    text += buffer.toString('utf8', 0, count);
    for (let end; (end = text.indexOf('\n')) >= 0; text = text.slice(end + 1)) yield JSON.parse(text.slice(0, end));
  }
}

function kernelSwitches() {
  const usage = process.resourceUsage();
  return usage.voluntaryContextSwitches + usage.involuntaryContextSwitches;
}

// Touches both halves of the young generation, of 16 MiB each, because the first touch of memory
// costs more than a hand-off.
function touch(kept = new Array(64)) {
  for (let i = 0; i < 1 << 18; i++) kept[i & 63] = new Array(32).fill(i);
  return kept;
}

async function main() {
  touch();
  const input = lines();
  const plan = input.next().value;
  const kinds = { await: functions, message: functions, atomics: threads };
  const { together, alone } = kinds[plan.handoff](plan);
  let collections = 0;
  new PerformanceObserver((list) => (collections += list.getEntries().length)).observe({ entryTypes: ['gc'] });
  fs.writeSync(1, JSON.stringify({ ready: 'Node ' + process.version }) + '\n');
  for (const window of input) {
    const [before, kernel] = [collections, kernelSwitches()];
    let [ns, walk_ns] = [0, 0];
    for (let i = 0; i < (window.arm === 'switch' ? 1 : plan.tasks); i++) {
      const [more, moreWalk] = await (window.arm === 'switch' ? together(window) : alone(window, i));
      [ns, walk_ns] = [ns + more, walk_ns + moreWalk];
    }
    const kernel_switches = kernelSwitches() - kernel;
    await new Promise(setImmediate);
    const answer = { kernel_switches, ns, walk_ns, handoffs: window.rounds * plan.tasks, collections: collections - before };
    fs.writeSync(1, JSON.stringify(answer) + '\n');
  }
  process.exit();
}

if (isMainThread) main();
else thread(workerData);
