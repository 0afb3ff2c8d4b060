/* Writing the event stream: the cursor, the current buffer, records, the check period. GPL-2.0-or-later, see COPYING.

   Generated code moves the cursor and counts the period down by itself; here they are between two runs of it. Only the
   task that holds the virtual CPU may call this, with Valgrind's big lock. */
#include "switchcost.h"

#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcprint.h"

struct live live;

/* Words that stay free in the current buffer whenever a period ends, for records and for the controller's marks. */
#define SLACK_WORDS 2048
/* Periods shorter than this are not worth the rest of a buffer. */
#define LEAST_PERIOD 256
/* As run: so often a task looks for an empty buffer before it sleeps; about a millisecond. */
#define PATIENCE 10000

static ULong current = NO_BUFFER;
static ULong *limit;  /* SLACK_WORDS before the end of the current buffer */
static Long reserve;  /* budget that is not in live.period */
static ULong words_per_instruction = 3;
static UInt writer;   /* slot of the task that writes */
static ULong stamp;   /* as run: of its run */

/* As run: more instructions than any program executes. */
#define NO_QUANTUM (1LL << 60)

Long stream_budget(void)
{
    return reserve + live.period;
}

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
    ring_infos[index].slot = writer;
    if (!is_as_run()) {
        ring->current_words = words;
        ring->current_buffer = index;
    }
}

static void hand_over(void)
{
    struct sc_info *info = &ring_infos[current];

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

static Long instructions_that_fit(void)
{
    Long free_words = limit - live.cursor;

    return free_words <= 0 ? 0 : free_words / (Long)words_per_instruction;
}

/* Sets the period: no more than the budget, and no more than surely fits the buffer. */
void stream_refresh(void)
{
    Long budget = stream_budget();

    if (instructions_that_fit() < LEAST_PERIOD)
        submit();
    live.period = budget < instructions_that_fit() ? budget : instructions_that_fit();
    reserve = budget - live.period;
}

/* A task that is alone begins another turn. */
void stream_renew(void)
{
    live.period = 0;
    reserve = ring->quantum;
    stream_refresh();
}

/* A superblock may write so many words after so many instructions. */
void stream_need(ULong words, ULong instructions)
{
    ULong ratio = (words + instructions - 1) / instructions;

    tl_assert(words <= SLACK_WORDS / 2);
    if (ratio > words_per_instruction)
        words_per_instruction = ratio;
}

/* Takes over where the last task stopped. */
void stream_load(UInt slot, Long budget)
{
    writer = slot;
    if (ring->current_buffer == NO_BUFFER)
        use_buffer(next_buffer(NO_BUFFER), 0);
    else
        use_buffer(ring->current_buffer, ring->current_words);
    live.period = 0;
    reserve = budget;
    stream_refresh();
}

/* Leaves the cursor for the next task; returns the budget left. */
Long stream_save(void)
{
    stream_refresh();
    ring->current_words = live.cursor - ring_buffer(current);
    ring->current_buffer = current;
    return stream_budget();
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
    live.period = 0;
    reserve = NO_QUANTUM;
    stream_refresh();
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
    stream_refresh();
}

/* Puts bytes into words, padded with 0; returns the number of words. */
UInt stream_pack(ULong *words, const HChar *bytes, UInt length)
{
    UInt count = (length + 7) / 8;

    VG_(memset)(words, 0, count * sizeof *words);
    VG_(memcpy)(words, bytes, length);
    return count;
}
