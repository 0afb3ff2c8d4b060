/* The stream: its cursor in the current buffer, and records. GPL-2.0-or-later, see ../valgrind/COPYING. */
#include "plugin.h"

ULong *stream_cursor, *stream_limit;
static ULong *start;
static ULong nowhere[2 * SLACK_WORDS];
static bool is_abandoned;

void stream_begin(void)
{
    start = stream_cursor = ring_next_buffer(0, &stream_limit);
}

/* Continues in another buffer. */
void stream_turn(void)
{
    if (is_abandoned)
        stream_cursor = start;
    else
        start = stream_cursor = ring_next_buffer(stream_cursor - start, &stream_limit);
}

void stream_end(void)
{
    if (!is_abandoned)
        ring_submit_last(stream_cursor - start);
}

void stream_abandon(void)
{
    is_abandoned = true;
    start = stream_cursor = nowhere;
    stream_limit = nowhere + SLACK_WORDS;
}

/* Writes a record. There must be room for the record, as there is between two pieces of code. */
void stream_record(ULong tag, ULong immediate, const ULong *words, UInt count)
{
    *stream_cursor++ = tag << 56 | (ULong)count << 48 | (immediate & 0xffffffffffffULL);
    for (UInt word = 0; word < count; word++)
        *stream_cursor++ = words[word];
}
