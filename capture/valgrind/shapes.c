/* Shapes: what is the same each time that a block of code runs. GPL-2.0-or-later, see COPYING.

   Translation happens only for a task that holds the virtual CPU, but for one: a thread that comes out of an interrupted
   system call. Its shapes wait here until it has the CPU. */
#include "switchcost.h"

#include "pub_tool_libcassert.h"
#include "pub_tool_mallocfree.h"

struct waiting {
    struct waiting *next;
    UInt id;
    struct shape shape;
};

static UInt next_id;
static struct waiting *first_waiting;
static struct waiting **last_waiting = &first_waiting;

static Bool can_write(void)
{
    ThreadId tid = VG_(get_running_tid)();

    return tid != VG_INVALID_THREADID && tasks[tid].has_cpu;
}

static void write_definition(UInt id, const struct shape *shape)
{
    ULong words[2 + MOST_REFERENCES];
    UInt reference;

    words[0] = shape->address;
    words[1] = shape->bytes | (ULong)shape->instructions << 16 | (ULong)shape->first_bytes << 32
             | (ULong)shape->references << 48;
    for (reference = 0; reference < shape->references; reference++)
        words[2 + reference] = shape->reference[reference];
    for (reference = 0; reference < shape->untold; reference++)
        words[2 + shape->references + reference] = shape->untold_address[reference];
    stream_record(SC_DEFINE, id, words, 2 + shape->references + shape->untold);
}

static void wait_for_cpu(UInt id, const struct shape *shape)
{
    struct waiting *waiting = VG_(malloc)("switchcost.shapes", sizeof *waiting);

    waiting->next = NULL;
    waiting->id = id;
    waiting->shape = *shape;
    *last_waiting = waiting;
    last_waiting = &waiting->next;
}

/* Defines a shape; returns its id. */
UInt shapes_define(const struct shape *shape)
{
    UInt id = next_id++;

    tl_assert(next_id != 0);
    if (can_write())
        write_definition(id, shape);
    else
        wait_for_cpu(id, shape);
    return id;
}

/* Writes what has waited: when a task has got the CPU. */
void shapes_publish(void)
{
    while (first_waiting) {
        struct waiting *waiting = first_waiting;
        write_definition(waiting->id, &waiting->shape);
        first_waiting = waiting->next;
        VG_(free)(waiting);
    }
    last_waiting = &first_waiting;
}
