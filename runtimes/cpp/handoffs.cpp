// Measures hand-offs between coroutines, or between threads, of C++: a ring of tasks passes a token
// round. In the baseline each thread in turn passes the token to itself, and each coroutine runs
// its rounds without a transfer.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <exception>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
#include <sys/resource.h>

using Clock = std::chrono::steady_clock;

struct Window { bool walks; long warm_up, rounds; };

static long tasks, stride;
static std::vector<std::vector<double>> arrays;
static std::vector<long> walked;

static long since(Clock::time_point start) { return std::chrono::nanoseconds(Clock::now() - start).count(); }

// Adds 1 to each element of a task's array, in steps of the stride, and adds the time to the task's
// number in `walked`.
static void walk(long task) {
    auto begin = Clock::now();
    auto &array = arrays[task];
    for (long first = 0; first < stride; first++)
        for (size_t i = first; i < array.size(); i += stride) array[i] += 1;
    walked[task] += since(begin);
}

// A coroutine, which runs until it transfers control to another coroutine.
struct Coroutine {
    struct promise_type {
        Coroutine get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};

struct Transfer {
    std::coroutine_handle<> to;
    bool await_ready() noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) noexcept { return to; }
    void await_resume() noexcept {}
};

// Runs the rounds of a coroutine. Stores the time of the rounds after the warm-up in `ns`, and that
// of their walks in `walked`. In the baseline there is no transfer, because a transfer to itself
// takes as long as any other.
static Coroutine coroutine(Window window, long task, const std::vector<Coroutine> &ring, bool transfers, long &ns) {
    Clock::time_point start;
    for (long round = -window.warm_up; round < window.rounds; round++) {
        if (round == 0) walked[task] = 0, start = Clock::now();
        if (window.walks) walk(task);
        if (transfers) co_await Transfer{ring[(task + 1) % tasks].handle};
    }
    ns = since(start);
}

static long coroutines(Window window, bool is_switch) {
    std::vector<Coroutine> ring(tasks);
    std::vector<long> ns(tasks);
    for (long task = 0; task < tasks; task++)
        ring[task] = coroutine(window, task, ring, is_switch, ns[task]);
    long all = 0;
    for (long task = 0; task < (is_switch ? 1 : tasks); task++) ring[task].handle.resume(), all += ns[task];
    for (auto &one : ring) one.handle.destroy();
    return all;
}

// A thread's token, protected by a mutex.
struct Link {
    std::mutex mutex;
    std::condition_variable arrival;
    bool is_there = false;

    void give() {
        { std::lock_guard lock(mutex); is_there = true; }
        arrival.notify_one();
    }
    void take() {
        std::unique_lock lock(mutex);
        arrival.wait(lock, [&] { return is_there; });
        is_there = false;
    }
};

static long rounds(Window window, long task, Link &next, Link &own) {
    Clock::time_point start;
    for (long round = -window.warm_up; round < window.rounds; round++) {
        if (round == 0) walked[task] = 0, start = Clock::now();
        if (window.walks) walk(task);
        next.give();
        own.take();
    }
    return since(start);
}

static long threads(Window window, bool is_switch) {
    static std::vector<Link> ring(tasks);
    long all = 0;
    if (!is_switch) {
        for (long task = 0; task < tasks; task++) all += rounds(window, task, ring[task], ring[task]);
        return all;
    }
    std::vector<std::jthread> others;
    for (long task = 1; task < tasks; task++)
        others.emplace_back([=] { ring[task].take(), rounds(window, task, ring[(task + 1) % tasks], ring[task]); });
    all = rounds(window, 0, ring[1 % tasks], ring[0]);
    for (long task = 1; task < tasks; task++) ring[task].give(); // the task waits for this token after its last round
    return all;
}

static long number(const std::string &line, const std::string &name) {
    auto at = line.find("\"" + name + "\":");
    return at == line.npos ? 0 : std::atol(line.c_str() + at + name.size() + 3);
}

static long kernel_switches() {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

int main() {
    std::string line;
    std::getline(std::cin, line);
    tasks = number(line, "tasks");
    stride = std::max(number(line, "stride_bytes") / 8, 1L);
    arrays.assign(tasks, std::vector<double>(number(line, "size_bytes") / 8, 1.0));
    walked.assign(tasks, 0);
    long (*kind)(Window, bool) = nullptr;
    if (line.find("\"coroutine\"") != line.npos) kind = coroutines;
    if (line.find("\"condvar\"") != line.npos) kind = threads;
    if (!kind) return std::cout << R"({"refused":"no such hand-off"})" << std::endl, 0;
    std::cout << R"({"ready":"C++ )" << __VERSION__ << "\"}" << std::endl;
    while (std::getline(std::cin, line)) {
        bool is_switch = line.find("\"switch\"") != line.npos;
        long kernel = kernel_switches();
        long ns = kind({line.find("\"walk\":true") != line.npos, number(line, "warm_up"), number(line, "rounds")}, is_switch);
        kernel = kernel_switches() - kernel;
        long walks = 0;
        for (long &one : walked) walks += one, one = 0;
        std::cout << "{\"ns\":" << ns << ",\"walk_ns\":" << walks << ",\"handoffs\":" << number(line, "rounds") * tasks
                  << ",\"kernel_switches\":" << kernel << "}" << std::endl;
    }
}
