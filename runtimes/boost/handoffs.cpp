// Measures switches between two fibers of Boost.Context: the first fiber resumes the second, which
// resumes the first. In the baseline the first fiber makes the turns of both, without a switch.
#include <boost/context/fiber.hpp>
#include <boost/version.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

using Clock = std::chrono::steady_clock;

static long stride, walked;
static std::vector<double> arrays[2];

static long since(Clock::time_point start) { return std::chrono::nanoseconds(Clock::now() - start).count(); }

// Adds 1 to each element of a task's array, in steps of the stride, and adds the time to `walked`.
static void walk(long task) {
    auto begin = Clock::now();
    auto &array = arrays[task];
    for (long first = 0; first < stride; first++)
        for (size_t i = first; i < array.size(); i += stride) array[i] += 1;
    walked += since(begin);
}

// Runs the rounds of the first fiber. Returns the time of the rounds after the warm-up in ns; the
// time of their walks is in `walked`.
static long rounds(bool is_switch, bool walks, long warm_up, long count) {
    namespace context = boost::context;
    context::fiber other([walks](context::fiber &&first) {
        for (;;) {
            if (walks) walk(1);
            first = std::move(first).resume();
        }
        return std::move(first);
    });
    Clock::time_point start;
    for (long round = -warm_up; round < count; round++) {
        if (round == 0) walked = 0, start = Clock::now();
        if (walks) walk(0);
        if (is_switch) other = std::move(other).resume();
        else if (walks) walk(1);
    }
    return since(start);
}

static long number(const std::string &line, const std::string &name) {
    auto at = line.find("\"" + name + "\":");
    return at == line.npos ? 0 : std::atol(line.c_str() + at + name.size() + 3);
}

int main() {
    std::string line;
    std::getline(std::cin, line);
    stride = std::max(number(line, "stride_bytes") / 8, 1L);
    for (auto &array : arrays) array.assign(number(line, "size_bytes") / 8, 1.0);
    if (number(line, "tasks") != 2)
        return std::cout << R"({"refused":"a fiber goes back to the one that resumed it: need 2 tasks"})" << std::endl, 0;
    std::cout << R"({"ready":"Boost )" << BOOST_LIB_VERSION << ", GCC " << __VERSION__ << "\"}" << std::endl;
    while (std::getline(std::cin, line)) {
        bool is_switch = line.find("\"switch\"") != line.npos, walks = line.find("\"walk\":true") != line.npos;
        long ns = rounds(is_switch, walks, number(line, "warm_up"), number(line, "rounds"));
        std::cout << "{\"ns\":" << ns << ",\"walk_ns\":" << walked << ",\"handoffs\":" << number(line, "rounds") * 2 << "}" << std::endl;
    }
}
