/* Which references a piece of code makes. QEMU does not say that when it translates; so they are learnt as they come. A path is a
   sequence of references from the start of a piece of code. Each time that it is run it is followed along the paths that are known, and
   most often that is the one of the last time: then only addresses are written that do not follow from others.

   A path is divided into segments of no more explicit addresses than the reader takes at once. A segment is a shape of the stream once it
   is known where it ends. GPL-2.0-or-later, see ../valgrind/COPYING. */
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

/* So near to an explicit address, a reference is tried relative to it. */
#define NEAR 2048
/* Parts of one access of an instruction, joined again: QEMU accesses no more than 8 bytes at once. */
#define LONGEST_JOINED 32
/* More would not fit into the record of a definition. */
#define MOST_REFERENCES 80
#define MOST_WORDS 255

/* How code was left before its end. */
struct cut {
    struct cut *next;
    UInt end;
    ULong word;
};

/* A reference, and what comes before it. What following it needs lies in one line of the cache. */
struct path {
    struct instruction *instruction; /* NULL at the start of a piece of code */
    qemu_plugin_meminfo_t info;
    uint8_t how;       /* SC_EXPLICIT, SC_FIXED or SC_RELATIVE */
    uint8_t base;      /* relative: to which explicit address of the segment, from 1 */
    bool opens;        /* the first of its segment, an explicit one */
    bool joins;        /* a further part of the access before */
    uint64_t value;    /* the address, or how far it lies behind the base */
    struct path *child, *sibling, *up;
    ULong word;        /* what is written where the code ends behind it; 0 not yet known */
    _Alignas(64)
    ULong closes;      /* what is written for the segment that ends before it, where it opens one */
    struct cut *cuts;
    UInt first;        /* instruction that its segment begins with */
    UInt explicit;     /* addresses of the segment so far */
    UInt references;
};

/* What is run: the code, how far it has come, and where the head of its segment will stand. */
struct run {
    struct code *code;
    struct path *here;
    ULong *head;
};

static struct run now;
/* Left before its end, nobody knows yet where. */
static struct run torn;
bool paths_is_torn;
/* Pieces of code of the entry of the exception so far; it has pushed something within so many. */
static UInt torn_since;
#define LONGEST_TEAR 3
bool paths_has_news;
static UInt next_id = 1;
static bool is_stopping;

static UInt index_of(const struct instruction *instruction)
{
    return instruction - instruction->code->instructions;
}

static UInt bytes_of(const struct path *path)
{
    return 1 << qemu_plugin_mem_size_shift(path->info);
}

static bool is_first(const struct path *path)
{
    return !path->instruction || path->opens;
}

/* Makes room for words in front of a segment. */
static void insert(ULong *before, const ULong *words, UInt count)
{
    memmove(before + count, before, (stream_cursor - before) * sizeof *before);
    memcpy(before, words, count * sizeof *before);
    stream_cursor += count;
    if (now.head && now.head >= before)
        now.head += count;
    if (torn.head && torn.head >= before)
        torn.head += count;
}

void paths_record_before(ULong tag, const ULong *words, UInt count)
{
    ULong record[1 + MOST_WORDS];

    record[0] = tag << 56 | (ULong)count << 48;
    memcpy(record + 1, words, count * sizeof *words);
    insert(now.head ? now.head : stream_cursor, record, 1 + count);
}

static void take_out(ULong *from, UInt count)
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

/* The references of the segment that `path` is the end of so far. */
static UInt collect(const struct path *path, struct shape_reference *references)
{
    const struct path *way[MOST_REFERENCES + 1];
    UInt length = 0, count = 0;

    for (; path->instruction; path = path->up) {
        way[length++] = path;
        if (path->opens)
            break;
    }
    while (length > 0) {
        const struct path *at = way[--length];
        if (at->joins) {
            references[count - 1].bytes += bytes_of(at);
            continue;
        }
        references[count] = (struct shape_reference){
            .instruction = at->instruction, .bytes = bytes_of(at), .is_store = qemu_plugin_mem_is_store(at->info),
            .how = at->how, .value = at->value,
        };
        if (at->how == SC_RELATIVE)
            references[count].base = number_of_explicit(references, at->base);
        count++;
    }
    return count;
}

/* Defines what ran from the start of a segment up to `path` and the instruction before `end`; gives the head for it. */
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
    struct path *here = run->here;

    if (UNLIKELY(!here->word))
        here->word = define(run, here, run->code->count);
    *run->head = here->word;
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

/* Instruction number `end` could not be done, and will be done again: what it touched is left out. */
static void end_before(struct run *run, UInt end)
{
    struct path *path = run->here;
    ULong word;

    while (!is_first(path) && index_of(path->instruction) >= end)
        path = path->up;
    if ((path->opens && index_of(path->instruction) >= end) || path->first >= end) {
        take_out(run->head, 1 + run->here->explicit);
        return;
    }
    take_out(run->head + 1 + path->explicit, run->here->explicit - path->explicit);
    /* A definition moves the head. */
    word = cut_word(run, path, end);
    *run->head = word;
}

/* Number of the instruction at an address; the count where there is none. */
static UInt index_at(const struct code *code, uint64_t address)
{
    UInt index = 0;

    while (index < code->count && code->instructions[index].address != address)
        index++;
    return index;
}

void paths_cut_before(uint64_t address)
{
    UInt end = index_at(torn.code, address);

    paths_is_torn = false;
    if (end < torn.code->count)
        end_before(&torn, end);
    else
        end_whole(&torn);
    torn.head = NULL;
}

/* The next instruction is one of the code that has just run, alone: one that writes to code is done again alone; and one that crosses the
   end of a page is told as the last of the code before it, but is not translated with it. */
static bool is_repeated(const struct code *code)
{
    UInt index;

    if (code->count != 1 || now.here->word || code->address - now.code->address >= now.code->bytes)
        return false;
    index = index_at(now.code, code->address);
    return index < now.code->count && !(now.here->instruction && index_of(now.here->instruction) >= index);
}

static void begin(struct code *code)
{
    now.head = stream_cursor++;
    now.here = code->start;
    now.code = code;
}

/* Code ends, and an exception comes. Its entry will say where that was. */
static void tear(void)
{
    torn = now;
    now.head = NULL;
    paths_is_torn = true;
    torn_since = 0;
}

__attribute__((noinline, cold)) static void between(struct code *code)
{
    if (paths_is_torn && (code->is_entry || ++torn_since > LONGEST_TEAR))
        paths_cut_before(0);
    if (now.head) {
        if (code->is_entry) {
            tear();
            return;
        }
        if (is_repeated(code))
            end_before(&now, index_at(now.code, code->address));
        else
            end_whole(&now);
        now.head = NULL;
    }
    /* What stands behind where code was left may still move. */
    if (paths_is_torn)
        return;
    if (paths_has_news)
        switches_tell();
    if (is_stopping) {
        stream_end();
        stream_abandon();
        is_stopping = false;
    }
    if (stream_cursor >= stream_limit)
        stream_turn();
}

/* Before code runs. */
void paths_run(unsigned cpu, void *data)
{
    struct code *code = data;

    (void)cpu;
    if (UNLIKELY(!now.head || !now.here->word || code->is_entry || paths_is_torn || paths_has_news
                 || stream_cursor >= stream_limit))
        between(code);
    else
        *now.head = now.here->word;
    begin(code);
}

static struct path *new_path(void)
{
    struct path *path = aligned_alloc(_Alignof(struct path), sizeof *path);

    if (!path)
        ring_fail("no memory for another path");
    return memset(path, 0, sizeof *path);
}

static struct path *extended(struct path *up, struct instruction *instruction, qemu_plugin_meminfo_t info)
{
    struct path *path = new_path();

    path->instruction = instruction;
    path->info = info;
    path->up = up;
    path->first = up->first;
    path->explicit = up->explicit;
    path->references = up->references + 1;
    return path;
}

struct path *paths_start(void)
{
    return new_path();
}

/* The address that a derived reference has, by those before. */
static uint64_t derived(const struct path *path)
{
    return path->how == SC_FIXED ? path->value : now.head[path->base] + path->value;
}

static UInt joined_bytes(const struct path *path)
{
    UInt bytes = bytes_of(path);

    for (; path->joins; path = path->up)
        bytes += bytes_of(path->up);
    return bytes;
}

static uint64_t last_address(const struct path *path)
{
    return path->how == SC_EXPLICIT ? now.head[path->explicit] : derived(path);
}

/* A part of an access that QEMU has divided. */
static bool try_joined(struct path *path, uint64_t address)
{
    struct path *up = path->up;

    if (!up->instruction || up->instruction != path->instruction || up->info != path->info || bytes_of(up) != 8
        || joined_bytes(up) + 8 > LONGEST_JOINED || last_address(up) + 8 != address)
        return false;
    path->joins = true;
    path->how = up->how == SC_FIXED ? SC_FIXED : SC_RELATIVE;
    path->base = up->how == SC_EXPLICIT ? up->explicit : up->base;
    path->value = up->how == SC_EXPLICIT ? 8 : up->value + 8;
    return true;
}

static bool try_fixed(struct path *path, uint64_t address)
{
    if (path->instruction->is_fixed) {
        path->how = SC_FIXED;
        path->value = address;
    }
    return path->instruction->is_fixed;
}

static bool try_relative(struct path *path, uint64_t address)
{
    for (UInt base = path->up->explicit; base > 0; base--) {
        uint64_t distance = address - now.head[base];
        if (distance + NEAR < 2 * NEAR) {
            path->how = SC_RELATIVE;
            path->base = base;
            path->value = distance;
            return true;
        }
    }
    return false;
}

/* Of so many references that another segment had better begin. */
static bool is_long(const struct path *path)
{
    return path->references >= MOST_REFERENCES / 2;
}

static void make_explicit(struct path *path)
{
    const struct path *up = path->up;

    path->how = SC_EXPLICIT;
    if ((up->explicit >= SC_LANES || is_long(up)) && up->instruction != path->instruction) {
        path->opens = true;
        path->first = index_of(path->instruction);
        path->explicit = 0;
        path->references = 1;
    }
    path->explicit++;
}

/* Nothing like it came after what came before. */
static struct path *learn(struct instruction *instruction, qemu_plugin_meminfo_t info, uint64_t address, bool is_other)
{
    struct path *up = now.here, *path = extended(up, instruction, info);

    /* What was tried before was wrong. */
    if (is_other || (is_long(up) && up->instruction != instruction))
        make_explicit(path);
    else if (!try_joined(path, address) && !try_fixed(path, address) && !try_relative(path, address))
        make_explicit(path);
    path->sibling = up->child;
    up->child = path;
    return path;
}

/* Such accesses are of instructions that save or load all registers at once. */
static bool is_too_long(const struct instruction *instruction)
{
    return now.here->references >= MOST_REFERENCES && now.here->instruction == instruction;
}

static void take(struct path *path, uint64_t address)
{
    if (path->opens) {
        if (!path->closes)
            path->closes = define(&now, path->up, path->first);
        *now.head = path->closes;
        now.head = stream_cursor++;
    }
    if (path->how == SC_EXPLICIT)
        *stream_cursor++ = address;
    now.here = path;
}

/* An instruction that talks to a device is done again, alone, without being announced. */
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

/* Apart, so that the fast way saves no registers. */
__attribute__((noinline, cold)) static void touch_slowly(struct instruction *instruction, qemu_plugin_meminfo_t info, uint64_t address)
{
    struct path *path;
    bool is_other = false;

    if (instruction->touches == TOUCHES_LOADS && qemu_plugin_mem_is_store(info))
        return;
    if ((!now.head || instruction->code != now.code) && !follow_alone(instruction->code))
        return;
    if (is_too_long(instruction))
        return;
    for (path = now.here->child; path; path = path->sibling) {
        if (path->instruction != instruction || path->info != info)
            continue;
        if (path->how == SC_EXPLICIT || derived(path) == address)
            break;
        is_other = true;
    }
    take(path ? path : learn(instruction, info, address, is_other), address);
}

/* Behind each access. */
void paths_touch(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
    struct instruction *instruction = data;
    struct path *path = now.here ? now.here->child : NULL;

    (void)cpu;
    if (LIKELY(path && path->instruction == instruction && path->info == info && !path->opens)) {
        if (path->how == SC_EXPLICIT) {
            *stream_cursor++ = address;
            now.here = path;
            return;
        }
        if (derived(path) == address) {
            now.here = path;
            return;
        }
    }
    touch_slowly(instruction, info, address);
}

void paths_stop(void)
{
    is_stopping = true;
    paths_has_news = true;
}

void paths_end(void)
{
    if (paths_is_torn)
        paths_cut_before(0);
    if (now.head)
        end_whole(&now);
    now.head = NULL;
    now.here = NULL;
    if (paths_has_news)
        switches_tell();
}
