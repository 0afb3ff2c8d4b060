/* Shapes: what is the same each time that a block of code runs. GPL-2.0-or-later, see COPYING.

   Translation happens only for a task that holds the virtual CPU, but for one: a thread that comes out of an interrupted
   system call. Its shapes wait here until it has the CPU. */
#include "switchcost.h"

#include "pub_tool_hashtable.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_mallocfree.h"

/* A shape and its definition, without the head of the record. The first two fields are a VgHashNode. */
struct known {
    struct known *next;
    UWord hash;
    struct known *next_waiting;
    UInt id;
    UInt count;
    Bool is_waiting;
    ULong words[];
};

static VgHashTable *all;
static UInt next_id;
static struct known *first_waiting;
static struct known **last_waiting = &first_waiting;

static Bool can_write(void)
{
    ThreadId tid = VG_(get_running_tid)();

    return tid != VG_INVALID_THREADID && tasks[tid].has_cpu;
}

static UInt definition(const struct shape *shape, ULong *words)
{
    UInt reference;

    words[0] = shape->address;
    words[1] = shape->bytes | (ULong)shape->instructions << 16 | (ULong)shape->first_bytes << 32
             | (ULong)shape->references << 48;
    for (reference = 0; reference < shape->references; reference++)
        words[2 + reference] = shape->reference[reference];
    for (reference = 0; reference < shape->untold; reference++)
        words[2 + shape->references + reference] = shape->untold_address[reference];
    return 2 + shape->references + shape->untold;
}

static UWord hash_of(const ULong *words, UInt count)
{
    UWord hash = count;
    UInt word;

    /* 2 to the 64 over the golden ratio, odd: Knuth's multiplicative hash. */
    for (word = 0; word < count; word++) {
        hash = (hash ^ words[word]) * 0x9e3779b97f4a7c15UL;
        hash = hash << 29 | hash >> 35;
    }
    return hash;
}

/* 0 where the two, whose hashes are equal, are the same. */
static Word differ(const void *left, const void *right)
{
    const struct known *one = left, *other = right;

    return one->count != other->count || VG_(memcmp)(one->words, other->words, one->count * sizeof(ULong)) != 0;
}

static struct known *new_known(const ULong *words, UInt count)
{
    struct known *known = VG_(malloc)("switchcost.shapes", sizeof *known + count * sizeof *words);

    known->next_waiting = NULL;
    known->id = 0;
    known->count = count;
    known->is_waiting = False;
    known->hash = hash_of(words, count);
    VG_(memcpy)(known->words, words, count * sizeof *words);
    return known;
}

static void wait_for_cpu(struct known *known)
{
    known->is_waiting = True;
    *last_waiting = known;
    last_waiting = &known->next_waiting;
}

static UInt define(struct known *known)
{
    known->id = next_id++;
    tl_assert(next_id != 0);
    if (can_write())
        stream_record(SC_DEFINE, known->id, known->words, known->count);
    else
        wait_for_cpu(known);
    VG_(HT_add_node)(all, known);
    return known->id;
}

/* Defines a shape, if none like it was defined; returns its id. One that runs on many ways (a loop that was unrolled, a
   superblock that begins elsewhere) has one id: the reader remembers what follows what by these. */
UInt shapes_define(const struct shape *shape)
{
    ULong words[2 + 2 * MOST_REFERENCES];
    struct known *fresh = new_known(words, definition(shape, words));
    struct known *known;

    if (!all)
        all = VG_(HT_construct)("switchcost.shapes");
    known = VG_(HT_gen_lookup)(all, fresh, differ);
    if (!known)
        return define(fresh);
    VG_(free)(fresh);
    if (known->is_waiting && can_write())
        shapes_publish();
    return known->id;
}

/* Writes what has waited: when a task has got the CPU. */
void shapes_publish(void)
{
    while (first_waiting) {
        struct known *known = first_waiting;
        stream_record(SC_DEFINE, known->id, known->words, known->count);
        known->is_waiting = False;
        first_waiting = known->next_waiting;
    }
    last_waiting = &first_waiting;
}
