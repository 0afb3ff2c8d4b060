/* The current buffer: claims an empty buffer, moves the cursor in it, and submits it. GPL-2.0-or-later, see COPYING.

   Generated code moves the cursor itself. The cursor in this file is up to date between two runs of generated code.
   Only the task that holds the virtual CPU may call these functions, with Valgrind's big lock. */
#include "switchcost.h"

#include "pub_tool_libcassert.h"

struct live live;

/* As run: number of times that a task looks for an empty buffer before it sleeps; about a millisecond. */
#define PATIENCE 10000

static ULong current = NO_BUFFER;
static ULong *limit; /* SLACK_WORDS before the end of the current buffer */
static UInt writer;  /* slot of the task that writes */
static ULong stamp;  /* as run: time stamp of the present run */
/* Place at which generated code began to write; NULL if other words were written since. */
static const ULong *run_start;

static Bool claim_buffer(ULong index)
{
    UInt expected = SC_EMPTY;

    return __atomic_compare_exchange_n(&ring_infos[index].state, &expected, SC_HELD, False, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}

/* Returns the number of an empty buffer; NO_BUFFER if all are in use. */
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

/* As run: waits for an empty buffer without sleeping, and returns its number. In a sleep, other tasks would get the
   CPU, which would be a switch that the program did not make. */
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

/* Hands the current buffer to the consumer. */
void buffers_hand_over(void)
{
    struct sc_info *info = &ring_infos[current];

    /* If the task is killed from here on, the current buffer must not also be a submitted one, because the
       controller would write into it. */
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
        ring_notify_submission();
}

/* Hands the current buffer over and continues in an empty one. */
void buffers_next(void)
{
    buffers_hand_over();
    use_buffer(next_buffer(current), 0);
}

/* Submits the current buffer and continues in an empty one, if that needs no sleep; returns False otherwise. */
Bool buffers_next_at_once(void)
{
    ULong next = buffer_without_sleep(current);

    if (next == NO_BUFFER)
        return False;
    buffers_hand_over();
    use_buffer(next, 0);
    return True;
}

/* Returns the number of free words before the last SLACK_WORDS of the buffer. */
Long buffers_free_words(void)
{
    return limit - live.cursor;
}

/* Writes a record. The buffer must have room for it. */
void buffers_put(ULong tag, ULong immediate, const ULong *words, UInt count)
{
    UInt word;

    tl_assert(count <= 255);
    run_start = NULL;
    *live.cursor++ = tag << 56 | (ULong)count << 48 | (immediate & 0xffffffffffffULL);
    for (word = 0; word < count; word++)
        *live.cursor++ = words[word];
}

/* Called before generated code writes. */
void buffers_begin_run(void)
{
    run_start = live.cursor;
}

/* Returns the place at which generated code began to write; NULL if other words were written since. */
const ULong *buffers_run_start(void)
{
    return run_start;
}

/* Takes over the buffer where the last task stopped. */
void buffers_resume(UInt slot)
{
    writer = slot;
    if (ring->current_buffer == NO_BUFFER)
        use_buffer(next_buffer(NO_BUFFER), 0);
    else
        use_buffer(ring->current_buffer, ring->current_words);
}

/* Stores the cursor for the next task. */
void buffers_leave(void)
{
    ring->current_words = live.cursor - ring_buffer(current);
    ring->current_buffer = current;
}

/* As run: claims a buffer for the next run. Returns True if this took a sleep. */
Bool buffers_claim(UInt slot)
{
    ULong after = current == NO_BUFFER ? slot : current;
    ULong index = buffer_without_sleep(after);
    Bool has_slept = index == NO_BUFFER;

    writer = slot;
    use_buffer(has_slept ? next_buffer(after) : index, 0);
    return has_slept;
}

/* As run: begins a run in the claimed buffer, with this time stamp. */
void buffers_stamp(ULong run_stamp)
{
    stamp = run_stamp;
}
