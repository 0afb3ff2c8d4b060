# Measures hand-offs between fibers, or between threads, of Ruby: a ring of tasks passes a token
# round. In the baseline each thread in turn passes the token to itself, and a fiber does nothing.
require 'fiber'
require 'json'

PLAN = JSON.parse($stdin.gets)
TASKS = PLAN['tasks']
STRIDE = [PLAN['stride_bytes'] / 8, 1].max
ARRAYS = Array.new(TASKS) { Array.new(PLAN['size_bytes'] / 8, 0.0) }
NOTHING = -> {}

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

# Adds 1 to each element of a task's array, in steps of the stride, and returns the time in ns.
def walk(task)
  start, array = now, ARRAYS[task]
  STRIDE.times { |first| first.step(array.size - 1, STRIDE) { |i| array[i] += 1.0 } }
  now - start
end

# Runs the rounds of a task that has the token. Returns the time of the rounds after the warm-up,
# and the time of their walks, in ns.
def rounds(window, task, give, take)
  start, walked = now, 0
  (-window['warm_up']...window['rounds']).each do |round|
    start, walked = now, 0 if round.zero?
    walked += walk(task) if window['walk']
    give.call
    take.call
  end
  [now - start, walked]
end

# Fibers, each of which transfers control to the next fiber of the ring.
def fibers
  together = lambda do |window|
    walked, ring = Array.new(TASKS, 0), [Fiber.current]
    to_next = ->(task) { -> { ring[(task + 1) % TASKS].transfer } }
    (1...TASKS).each { |task| ring << Fiber.new { walked[task] = rounds(window, task, to_next.(task), NOTHING)[1] } }
    time, walked[0] = rounds(window, 0, to_next.(0), NOTHING)
    ring.drop(1).each(&:transfer) # ends the fiber
    [time, walked.sum]
  end
  [together, ->(window, task) { rounds(window, task, NOTHING, NOTHING) }]
end

# Threads with a queue each. The interpreter's global lock moves with the token.
def threads
  queues = Array.new(TASKS) { Thread::Queue.new }
  give = queues.map { |queue| -> { queue << 1 } }
  take = queues.map { |queue| -> { queue.pop } }
  other = lambda do |window, task|
    take[task].call
    rounds(window, task, give[(task + 1) % TASKS], take[task])[1]
  end
  together = lambda do |window|
    others = (1...TASKS).map { |task| Thread.new { other.(window, task) } }
    time, walked = rounds(window, 0, give[1 % TASKS], take[0])
    give.drop(1).each(&:call) # the task waits for this token after its last round
    [time, walked + others.sum(&:value)]
  end
  [together, ->(window, task) { rounds(window, task, give[task], take[task]) }]
end

$stdout.sync = true
together, alone = { 'fiber' => method(:fibers), 'threads' => method(:threads) }.fetch(PLAN['handoff']).call
puts JSON.generate(ready: "Ruby #{RUBY_VERSION}")
$stdin.each_line do |line|
  window = JSON.parse(line)
  collections = GC.count
  times = window['arm'] == 'switch' ? [together.(window)] : (0...TASKS).map { |task| alone.(window, task) }
  ns, walk_ns = times.transpose.map(&:sum)
  puts JSON.generate(ns:, walk_ns:, handoffs: window['rounds'] * TASKS, collections: GC.count - collections)
end
