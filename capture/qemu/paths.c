/* Writes the code that runs. Each piece of code is followed along its known paths (learn.c), most often along the same
   path as the last time. Then only the explicit addresses are written.

   A path is divided into segments, which have no more explicit addresses than the reader takes at a time. A segment
   becomes a shape of the stream when its end is known. GPL-2.0-or-later, see ../valgrind/COPYING. */
#include <stdlib.h>
#include <string.h>

#include "path.h"

#define MOST_WORDS 255

/* A run of a piece of code: the path so far, and the place of the head of its current segment. */
struct run {
    struct code *code;
    struct path *path;
    ULong *head;
};

static struct run now;
/* A run that was left before its end, at an address that is not known yet. */
static struct run interrupted;
bool paths_is_interrupted;
/* Number of pieces of code that the entry of the exception has run so far. One of these pieces pushes the address. */
static UInt interrupted_since;
#define LONGEST_INTERRUPTION 3
bool paths_has_pending;
static UInt next_id = 1;
static bool is_stopping;

static bool is_first(const struct path *path)
{
    return !path->instruction || path->starts_segment;
}

/* Moves the words of a segment, and writes other words before them. */
static void insert(ULong *before, const ULong *words, UInt count)
{
    memmove(before + count, before, (stream_cursor - before) * sizeof *before);
    memcpy(before, words, count * sizeof *before);
    stream_cursor += count;
    if (now.head && now.head >= before)
        now.head += count;
    if (interrupted.head && interrupted.head >= before)
        interrupted.head += count;
}

void paths_record_before(ULong tag, const ULong *words, UInt count)
{
    ULong record[1 + MOST_WORDS];

    record[0] = tag << 56 | (ULong)count << 48;
    memcpy(record + 1, words, count * sizeof *words);
    insert(now.head ? now.head : stream_cursor, record, 1 + count);
}

static void remove_words(ULong *from, UInt count)
{
    memmove(from, from + count, (stream_cursor - from - count) * sizeof *from);
    stream_cursor -= count;
    if (now.head && now.head > from)
        now.head -= count;
}

static uint8_t number_of_explicit(const struct shape_reference *references, UInt explicit)
{
    UInt index = 0;

    for (;; index++)
        if (references[index].how == SC_EXPLICIT && --explicit == 0)
            return index;
}

/* Collects the references of the segment that ends with `path`. Returns the number of references. */
static UInt collect(const struct path *path, struct shape_reference *references)
{
    const struct path *way[MOST_REFERENCES + 1];
    UInt length = 0, count = 0;

    for (; path->instruction; path = path->up) {
        way[length++] = path;
        if (path->starts_segment)
            break;
    }
    while (length > 0) {
        const struct path *at = way[--length];
        if (at->is_continuation) {
            references[count - 1].bytes += bytes_of(at);
            continue;
        }
        references[count] = (struct shape_reference){
            .instruction = at->instruction,
            .bytes = bytes_of(at),
            .is_store = qemu_plugin_mem_is_store(at->info),
            .how = at->how,
            .value = at->value,
        };
        if (at->how == SC_RELATIVE)
            references[count].base = number_of_explicit(references, at->base);
        count++;
    }
    return count;
}

/* Defines the shape that ran from the start of a segment up to `path` and to the instruction before `end`. Returns
   the shape's head. */
static ULong define(struct run *run, const struct path *path, UInt end)
{
    struct shape_reference references[MOST_REFERENCES + 1];
    ULong words[1 + MOST_WORDS];
    UInt count = collect(path, references);
    UInt length = shapes_define(words + 1, run->code, path->first, end, references, count);
    UInt blocks = length >> 16;

    length &= 0xffff;
    words[0] = SC_DEFINE << 56 | (ULong)length << 48 | (ULong)blocks << 32 | next_id;
    insert(run->head, words, 1 + length);
    return (ULong)path->explicit << 32 | next_id++;
}

static void end_whole(struct run *run)
{
    struct path *path = run->path;

    if (UNLIKELY(!path->word))
        path->word = define(run, path, run->code->count);
    *run->head = path->word;
}

static ULong cut_word(struct run *run, struct path *path, UInt end)
{
    struct cut *cut = path->cuts;

    while (cut && cut->end != end)
        cut = cut->next;
    if (!cut) {
        cut = calloc(1, sizeof *cut);
        if (!cut)
            ring_fail("no memory for another shape");
        cut->end = end;
        cut->word = define(run, path, end);
        cut->next = path->cuts;
        path->cuts = cut;
    }
    return cut->word;
}

/* Ends the run before instruction number `end`, which faulted and will be executed again, so its references are
   removed. */
static void end_before(struct run *run, UInt end)
{
    struct path *path = run->path;
    ULong word;

    while (!is_first(path) && index_of(path->instruction) >= end)
        path = path->up;
    if ((path->starts_segment && index_of(path->instruction) >= end) || path->first >= end) {
        remove_words(run->head, 1 + run->path->explicit);
        return;
    }
    remove_words(run->head + 1 + path->explicit, run->path->explicit - path->explicit);
    /* A definition is written before the segment, and so moves its head. */
    word = cut_word(run, path, end);
    *run->head = word;
}

/* Returns the index of the instruction at an address; the number of instructions if no instruction is there. */
static UInt index_at(const struct code *code, uint64_t address)
{
    UInt index = 0;

    while (index < code->count && code->instructions[index].address != address)
        index++;
    return index;
}

void paths_cut_before(uint64_t address)
{
    UInt end = index_at(interrupted.code, address);

    paths_is_interrupted = false;
    if (end < interrupted.code->count)
        end_before(&interrupted, end);
    else
        end_whole(&interrupted);
    interrupted.head = NULL;
}

/* Whether the next piece of code is a single instruction of the code that has just run. An instruction that writes
   to code is executed again, alone. One that crosses the end of a page is announced as the last of the code before
   it, but is not translated with it. */
static bool is_repeated(const struct code *code)
{
    UInt index;

    if (code->count != 1 || now.path->word || code->address - now.code->address >= now.code->bytes)
        return false;
    index = index_at(now.code, code->address);
    return index < now.code->count && !(now.path->instruction && index_of(now.path->instruction) >= index);
}

static void begin(struct code *code)
{
    now.head = stream_cursor++;
    now.path = code->start;
    now.code = code;
}

/* Handles an exception that interrupts the code. The entry of the exception will show the address. */
static void interrupt(void)
{
    interrupted = now;
    now.head = NULL;
    paths_is_interrupted = true;
    interrupted_since = 0;
}

__attribute__((noinline, cold)) static void between(struct code *code)
{
    if (paths_is_interrupted && (code->is_entry || ++interrupted_since > LONGEST_INTERRUPTION))
        paths_cut_before(0);
    if (now.head) {
        if (code->is_entry) {
            interrupt();
            return;
        }
        if (is_repeated(code))
            end_before(&now, index_at(now.code, code->address));
        else
            end_whole(&now);
        now.head = NULL;
    }
    /* Words that were written after the point at which code was left may still move. */
    if (paths_is_interrupted)
        return;
    if (paths_has_pending)
        switches_flush();
    if (is_stopping) {
        stream_end();
        stream_abandon();
        is_stopping = false;
    }
    if (stream_cursor >= stream_limit)
        stream_turn();
}

/* Handles a piece of code before it runs. */
void paths_run(unsigned cpu, void *data)
{
    struct code *code = data;

    (void)cpu;
    if (UNLIKELY(!now.head || !now.path->word || code->is_entry || paths_is_interrupted || paths_has_pending
                 || stream_cursor >= stream_limit))
        between(code);
    else
        *now.head = now.path->word;
    begin(code);
}

/* Whether an access is too long to be a reference. Such accesses belong to instructions that save or load all
   registers. */
static bool is_too_long(const struct instruction *instruction)
{
    return now.path->references >= MOST_REFERENCES && now.path->instruction == instruction;
}

static void take(struct path *path, uint64_t address)
{
    if (path->starts_segment) {
        if (!path->segment_word)
            path->segment_word = define(&now, path->up, path->first);
        *now.head = path->segment_word;
        now.head = stream_cursor++;
    }
    if (path->how == SC_EXPLICIT)
        *stream_cursor++ = address;
    now.path = path;
}

/* Follows an instruction that accesses a device. QEMU executes the instruction again, alone, without announcing it. */
static bool follow_alone(struct code *code)
{
    UInt index = now.head && code->count == 1 ? index_at(now.code, code->address) : 0;

    if (!now.head || code->count != 1 || index == now.code->count)
        return false;
    end_before(&now, index);
    now.head = NULL;
    begin(code);
    return true;
}

/* Not inlined, so that the fast path saves no registers. */
__attribute__((noinline, cold)) static void touch_slowly(struct instruction *instruction, qemu_plugin_meminfo_t info,
                                                         uint64_t address)
{
    struct path *path;
    bool is_other = false;

    if (instruction->touches == TOUCHES_LOADS && qemu_plugin_mem_is_store(info))
        return;
    if ((!now.head || instruction->code != now.code) && !follow_alone(instruction->code))
        return;
    if (is_too_long(instruction))
        return;
    for (path = now.path->child; path; path = path->sibling) {
        if (path->instruction != instruction || path->info != info)
            continue;
        if (path->how == SC_EXPLICIT || derived(path, now.head) == address)
            break;
        is_other = true;
    }
    take(path ? path : learn(now.path, instruction, info, address, now.head, is_other), address);
}

/* Handles an access after it has been made. */
void paths_touch(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
    struct instruction *instruction = data;
    struct path *path = now.path ? now.path->child : NULL;

    (void)cpu;
    if (LIKELY(path && path->instruction == instruction && path->info == info && !path->starts_segment)) {
        if (path->how == SC_EXPLICIT) {
            *stream_cursor++ = address;
            now.path = path;
            return;
        }
        if (derived(path, now.head) == address) {
            now.path = path;
            return;
        }
    }
    touch_slowly(instruction, info, address);
}

void paths_stop(void)
{
    is_stopping = true;
    paths_has_pending = true;
}

void paths_end(void)
{
    if (paths_is_interrupted)
        paths_cut_before(0);
    if (now.head)
        end_whole(&now);
    now.head = NULL;
    now.path = NULL;
    if (paths_has_pending)
        switches_flush();
}
