/* Shapes: what is the same each time that some blocks of code run one after the other. GPL-2.0-or-later, see COPYING.

   Usually a task translates code while it holds the virtual CPU. A thread that returns from an interrupted system
   call does not hold the CPU yet. In as-run captures, a thread that gets Valgrind's lock from another thread does
   not either, if it continues in code that is not translated, such as a signal handler. The shapes of these threads
   are stored here until they have the CPU. */
#include "switchcost.h"

#include "pub_tool_hashtable.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_mallocfree.h"

/* A defined shape with its definition, which has no record head. The first two fields are those of a VgHashNode. */
struct known {
    struct known *next;
    UWord hash;
    struct known *next_waiting;
    UInt id;
    UInt blocks;
    UInt count;
    Bool is_waiting;
    ULong words[];
};

static VgHashTable *all;
static struct known **by_id;
static UInt by_id_size;
static UInt next_id = 1;
static struct known *first_waiting;
static struct known **last_waiting = &first_waiting;

static Bool can_write(void)
{
    ThreadId tid = VG_(get_running_tid)();

    return tid != VG_INVALID_THREADID && tasks[tid].has_cpu;
}

/* Maximum number of words in a record. */
#define MOST_WORDS 255
_Static_assert(2 * MOST_BLOCKS + MOST_REFERENCES <= MOST_WORDS, "a definition is one record");

static UInt code_words(const struct shape *shape)
{
    UInt words = 0, index;

    for (index = 0; index < shape->blocks; index++)
        words += (shape->block[index].bytes + 7) / 8;
    return words;
}

/* Writes the definition of a shape: the words of its blocks, references, derived addresses and code. */
static UInt definition(const struct shape *shape, ULong *words)
{
    ULong *word = words;
    UInt index;

    for (index = 0; index < shape->blocks; index++) {
        const struct block *block = &shape->block[index];
        *word++ = block->address;
        *word++ = block->bytes | (ULong)block->instructions << 16 | (ULong)block->first_bytes << 32
                  | (ULong)block->references << 48;
    }
    for (index = 0; index < shape->references; index++)
        *word++ = shape->reference[index];
    for (index = 0; index < shape->derived; index++)
        *word++ = shape->derived_address[index];
    if (word - words + code_words(shape) > MOST_WORDS)
        return word - words;
    for (index = 0; index < shape->blocks; index++)
        word += stream_pack(word, (const HChar *)shape->block[index].address, shape->block[index].bytes);
    return word - words;
}

static UWord hash_of(const ULong *words, UInt count)
{
    UWord hash = count;
    UInt word;

    /* The factor is 2 to the 64 over the golden ratio, odd: Knuth's multiplicative hash. */
    for (word = 0; word < count; word++) {
        hash = (hash ^ words[word]) * 0x9e3779b97f4a7c15UL;
        hash = hash << 29 | hash >> 35;
    }
    return hash;
}

/* Compares two shapes that have the same hash; returns 0 if they are equal. */
static Word differ(const void *left, const void *right)
{
    const struct known *one = left, *other = right;

    return one->blocks != other->blocks || one->count != other->count
           || VG_(memcmp)(one->words, other->words, one->count * sizeof(ULong)) != 0;
}

static void publish(const struct known *known)
{
    stream_record(SC_DEFINE, (ULong)known->blocks << 32 | known->id, known->words, known->count);
}

static struct known *new_known(const ULong *words, UInt count, UInt blocks)
{
    struct known *known = VG_(malloc)("switchcost.shapes", sizeof *known + count * sizeof *words);

    known->next_waiting = NULL;
    known->id = 0;
    known->blocks = blocks;
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
    if (known->id >= by_id_size) {
        by_id_size = 2 * by_id_size + 1024;
        by_id = VG_(realloc)("switchcost.shapes", by_id, by_id_size * sizeof *by_id);
    }
    by_id[known->id] = known;
    if (can_write())
        publish(known);
    else
        wait_for_cpu(known);
    VG_(HT_add_node)(all, known);
    return known->id;
}

/* Defines a shape unless an equal one is defined, and returns its ID. A shape that is reached in several ways
   (through an unrolled loop, or a superblock that begins elsewhere) has one ID, by which the reader remembers its
   successors. */
UInt shapes_define(const struct shape *shape)
{
    ULong words[MOST_WORDS];
    struct known *fresh = new_known(words, definition(shape, words), shape->blocks);
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

/* Returns the address of the first block of a defined shape. */
Addr shapes_address(UInt id)
{
    return by_id[id]->words[0];
}

/* Writes the stored definitions, when a task has got the CPU. */
void shapes_publish(void)
{
    while (first_waiting) {
        struct known *known = first_waiting;
        publish(known);
        known->is_waiting = False;
        first_waiting = known->next_waiting;
    }
    last_waiting = &first_waiting;
}
