/* Writing the event stream: the cursor, the current buffer, records, how far generated code may run. GPL-2.0-or-later,
   see COPYING.

   Generated code moves the cursor by itself; here it is between two runs of it. So many superblocks run at a time as surely
   fit the buffer and begin within the turn: nothing need be checked in between. Only the task that holds the virtual CPU may call
   this, with Valgrind's big lock. */
#include "switchcost.h"

#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcprint.h"

struct live live;

/* Words that stay free in the current buffer whenever a run ends, for records and for the controller's marks. */
#define SLACK_WORDS 2048
/* Fewer superblocks than this are not worth the rest of a buffer, where that is less than a quarter. */
#define LEAST_RUN 1024
/* What a superblock may have of each, and count as one of those that run. */
#define SHARE_WORDS 16
#define SHARE_INSTRUCTIONS 64
/* As run: so often a task looks for an empty buffer before it sleeps; about a millisecond. */
#define PATIENCE 10000

static ULong current = NO_BUFFER;
static ULong *limit;  /* SLACK_WORDS before the end of the current buffer */
static UInt writer;   /* slot of the task that writes */
static ULong stamp;   /* as run: of its run */
static Long budget;   /* instructions left in the turn */
static Bool is_run_counted;
/* Where generated code began to write; NULL where more than that has been written since. */
static const ULong *run_start;

static Bool claim_buffer(ULong index)
{
    UInt expected = SC_EMPTY;

    return __atomic_compare_exchange_n(&ring_infos[index].state, &expected, SC_HELD, False,
                                       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* NO_BUFFER where all are in use. */
static ULong empty_buffer(ULong after)
{
    UInt tries;

    for (tries = 0; tries < ring->buffers; tries++) {
        ULong index = (after + 1 + tries) % ring->buffers;
        if (claim_buffer(index))
            return index;
    }
    return NO_BUFFER;
}

static ULong next_buffer(ULong after)
{
    for (;;) {
        UInt freed = __atomic_load_n(&ring->freed, __ATOMIC_SEQ_CST);
        ULong index = empty_buffer(after);
        if (index != NO_BUFFER)
            return index;
        ring_sleep(&ring->freed, freed);
    }
}

/* As run: a sleep would let others have the CPU, which the program did not want. */
static ULong buffer_without_sleep(ULong after)
{
    UInt tries;

    for (tries = 0; tries < PATIENCE; tries++) {
        ULong index = empty_buffer(after);
        if (index != NO_BUFFER)
            return index;
        __asm__ volatile("pause");
    }
    return NO_BUFFER;
}

static void use_buffer(ULong index, ULong words)
{
    current = index;
    live.cursor = ring_buffer(index) + words;
    limit = ring_buffer(index) + ring->buffer_words - SLACK_WORDS;
    run_start = NULL;
    ring_infos[index].slot = writer;
    if (!is_as_run()) {
        ring->current_words = words;
        ring->current_buffer = index;
    }
}

static void hand_over(void)
{
    struct sc_info *info = &ring_infos[current];

    /* Who is killed from here on must leave no current buffer that is also submitted: the controller would write into it. */
    if (!is_as_run())
        __atomic_store_n(&ring->current_buffer, NO_BUFFER, __ATOMIC_SEQ_CST);
    info->words = live.cursor - ring_buffer(current);
    info->slot = writer;
    info->stamp = stamp;
    info->order = __atomic_fetch_add(&ring->next_order, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&info->state, SC_FULL, __ATOMIC_SEQ_CST);
    if (is_as_run())
        ring_doorbell();
    else
        ring_tell_submission();
}

static void put(ULong tag, ULong immediate, const ULong *words, UInt count)
{
    UInt word;

    run_start = NULL;
    *live.cursor++ = tag << 56 | (ULong)count << 48 | (immediate & 0xffffffffffffULL);
    for (word = 0; word < count; word++)
        *live.cursor++ = words[word];
}

/* Hands the current buffer to the consumer and goes on in an empty one. */
static void submit(void)
{
    if (is_as_run()) {
        ULong next = buffer_without_sleep(current);
        if (next == NO_BUFFER) {
            stamps_wait();
        } else {
            hand_over();
            use_buffer(next, 0);
        }
        return;
    }
    hand_over();
    use_buffer(next_buffer(current), 0);
}

static Long free_words(void)
{
    return limit - live.cursor;
}

static Bool is_buffer_worn(void)
{
    return free_words() < LEAST_RUN * (Long)SHARE_WORDS && free_words() < ring->buffer_words / 4;
}

/* So many surely begin within the turn, which ends with the superblock that uses its last instruction. */
static Long superblocks_of_turn(void)
{
    return budget <= 0 ? 0 : (budget + SHARE_INSTRUCTIONS - 1) / SHARE_INSTRUCTIONS;
}

/* Generated code is about to run. Returns how many superblocks may, of `most`; none where the turn is over. */
Int stream_begin_run(Int most)
{
    Long fit;

    if (is_buffer_worn())
        submit();
    fit = free_words() / SHARE_WORDS;
    is_run_counted = !is_as_run() && !__atomic_load_n(&ring->is_alone, __ATOMIC_SEQ_CST);
    if (is_run_counted && superblocks_of_turn() < fit)
        fit = superblocks_of_turn();
    if (ring_is_stopping())
        fit = 0;
    live.budget = budget;
    run_start = live.cursor;
    return fit < most ? (Int)fit : most;
}

/* It has run. Returns where it began to write; NULL where more than what it wrote stands from there up to the cursor. */
const ULong *stream_end_run(void)
{
    if (is_run_counted)
        budget = live.budget;
    return run_start;
}

static UInt shares_of(UInt amount, UInt share)
{
    return (amount + share - 1) / share;
}

/* A superblock that was translated writes no more words, and has no more instructions. Returns as how many it counts. */
UInt stream_shares(UInt words, UInt instructions)
{
    UInt of_words = shares_of(words, SHARE_WORDS);
    UInt of_instructions = shares_of(instructions, SHARE_INSTRUCTIONS);

    tl_assert(words <= SLACK_WORDS / 2);
    return of_words > of_instructions ? of_words : of_instructions;
}

/* Takes over where the last task stopped. */
void stream_load(UInt slot, Long instructions)
{
    writer = slot;
    if (!__atomic_load_n(&ring->is_alone, __ATOMIC_SEQ_CST))
        instrument_counting();
    if (ring->current_buffer == NO_BUFFER)
        use_buffer(next_buffer(NO_BUFFER), 0);
    else
        use_buffer(ring->current_buffer, ring->current_words);
    budget = instructions;
}

/* Leaves the cursor for the next task; returns the budget left. */
Long stream_save(void)
{
    ring->current_words = live.cursor - ring_buffer(current);
    ring->current_buffer = current;
    return budget;
}

/* As run: takes a buffer for a run that is about to begin. True where that took a sleep. */
Bool stream_claim(UInt slot)
{
    ULong after = current == NO_BUFFER ? slot : current;
    ULong index = buffer_without_sleep(after);
    Bool has_slept = index == NO_BUFFER;

    writer = slot;
    use_buffer(has_slept ? next_buffer(after) : index, 0);
    return has_slept;
}

/* As run: a run begins in that buffer. */
void stream_begin(ULong run_stamp)
{
    stamp = run_stamp;
}

/* As run: a run is over. */
void stream_close(ULong why, ULong counts)
{
    put(SC_LEAVE, why, &counts, 1);
    hand_over();
}

void stream_record(ULong tag, ULong immediate, const ULong *words, UInt count)
{
    tl_assert(count <= 255);
    if (limit + SLACK_WORDS / 2 - live.cursor < 1 + (Long)count)
        submit();
    put(tag, immediate, words, count);
}

/* Puts bytes into words, padded with 0; returns the number of words. */
UInt stream_pack(ULong *words, const HChar *bytes, UInt length)
{
    UInt count = (length + 7) / 8;

    VG_(memset)(words, 0, count * sizeof *words);
    VG_(memcpy)(words, bytes, length);
    return count;
}
