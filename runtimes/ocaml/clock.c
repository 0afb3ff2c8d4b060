// Returns the monotonic time in ns, for which OCaml's library has no function.
#include <caml/mlvalues.h>
#include <time.h>

intnat handoffs_now(value unit) {
    struct timespec now;
    (void)unit;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}
