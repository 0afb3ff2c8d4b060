// OCaml's own library has no monotonic clock.
#include <caml/mlvalues.h>
#include <time.h>

intnat handoffs_now(value unit) {
    struct timespec now;
    (void)unit;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}
