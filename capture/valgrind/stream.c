/* Writes the event stream: records, and the limit for how far generated code may run. GPL-2.0-or-later, see COPYING.

   As many superblocks run at a time as surely fit into the buffer and begin within the time slice, so nothing is
   checked in between. Only the task that holds the virtual CPU may call these functions, with Valgrind's big lock. */
#include "switchcost.h"

#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"

/* Least number of superblocks for which the rest of a buffer is used, if that rest is less than a quarter. */
#define LEAST_RUN 1024
/* Limits on the words and instructions of a superblock that counts as one. Valgrind puts at most 60 instructions
   into a superblock, and most superblocks write few words, so nearly all count as one. */
#define SHARE_WORDS 16
#define SHARE_INSTRUCTIONS 64

static Long budget; /* instructions left in the time slice */
static Bool is_run_counted;

/* Hands the current buffer to the consumer and continues in an empty one. */
static void submit(void)
{
    if (!is_as_run())
        buffers_next();
    else if (!buffers_next_at_once())
        stamps_wait();
}

static Bool is_buffer_worn(void)
{
    Long left = buffers_free_words();

    return left < LEAST_RUN * (Long)SHARE_WORDS && left < ring->buffer_words / 4;
}

/* Returns the number of superblocks that surely begin within the time slice, which ends with the superblock that
   uses its last instruction. */
static Long superblocks_of_turn(void)
{
    return budget <= 0 ? 0 : (budget + SHARE_INSTRUCTIONS - 1) / SHARE_INSTRUCTIONS;
}

/* Called before generated code runs. Returns how many superblocks may run, at most `most`; 0 if the time slice is
   over. */
Int stream_begin_run(Int most)
{
    Long fit;

    if (is_buffer_worn())
        submit();
    fit = buffers_free_words() / SHARE_WORDS;
    is_run_counted = !is_as_run() && !ring_is_alone();
    if (is_run_counted && superblocks_of_turn() < fit)
        fit = superblocks_of_turn();
    if (ring_is_stopping())
        fit = 0;
    live.budget = budget;
    buffers_begin_run();
    return fit < most ? (Int)fit : most;
}

/* Called after generated code has run. Returns the place at which the code began to write; NULL if other words were
   written since. */
const ULong *stream_end_run(void)
{
    if (is_run_counted)
        budget = live.budget;
    return buffers_run_start();
}

static UInt shares_of(UInt amount, UInt share)
{
    return (amount + share - 1) / share;
}

/* Returns how many superblocks a large one counts as. The superblock writes at most `words` words, and has at most
   `instructions` instructions. */
UInt stream_shares(UInt words, UInt instructions)
{
    UInt of_words = shares_of(words, SHARE_WORDS);
    UInt of_instructions = shares_of(instructions, SHARE_INSTRUCTIONS);

    tl_assert(words <= SLACK_WORDS / 2);
    return of_words > of_instructions ? of_words : of_instructions;
}

/* Takes over the buffer where the last task stopped. */
void stream_load(UInt slot, Long instructions)
{
    buffers_resume(slot);
    budget = instructions;
}

/* Stores the cursor for the next task. Returns the instructions left in the time slice. */
Long stream_save(void)
{
    buffers_leave();
    return budget;
}

void stream_record(ULong tag, ULong immediate, const ULong *words, UInt count)
{
    if (buffers_free_words() + SLACK_WORDS / 2 < 1 + (Long)count)
        submit();
    buffers_put(tag, immediate, words, count);
}

/* Packs bytes into words, padded with 0. Returns the number of words. */
UInt stream_pack(ULong *words, const HChar *bytes, UInt length)
{
    UInt count = (length + 7) / 8;

    VG_(memset)(words, 0, count * sizeof *words);
    VG_(memcpy)(words, bytes, length);
    return count;
}
