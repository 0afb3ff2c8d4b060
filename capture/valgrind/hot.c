/* Superblocks that run so often that it pays to translate them again, as longer ones. GPL-2.0-or-later, see COPYING.

   The number of runs is estimated from the written words, whenever twice as much has run as at the last estimate.
   The result is therefore the same in each run of a program. */
#include "switchcost.h"

#include "pub_tool_hashtable.h"
#include "pub_tool_mallocfree.h"

/* Number of superblocks that run before the first estimate. */
#define FIRST_LOOK 4000000
/* Number of shapes in an estimate. */
#define SAMPLE 20000
/* Number of runs that save as much time as a translation takes: about 0.1 ms, at 1 ns per run. */
#define WORTH 100000

/* coregrind/pub_core_transtab.h */
extern void VG_(discard_translations)(Addr start, ULong bytes, const HChar *who);
extern Bool VG_(search_transtab)(Addr *code, UInt *section, UInt *entry, Addr address, Bool is_remembered);

/* An address at which superblocks begin. The first two fields are those of a VgHashNode. */
struct place {
    struct place *next;
    UWord address;
    ULong hits;     /* runs in the sample */
    ULong repeats;  /* runs in the sample that directly follow a run of the same superblock */
    UWord follower; /* address at which the program mostly continues */
    ULong lead;     /* lower limit for the lead of `follower` over all other addresses together */
    Bool is_hot;
    Bool is_loop;  /* mostly runs directly after itself */
    Bool is_fresh; /* hot, but not translated again yet */
};

static VgHashTable *places;
static ULong ran;
static ULong next_look = FIRST_LOOK;
static UInt sample;
static Bool is_any_fresh;

static struct place *place_at(Addr address)
{
    struct place *place = VG_(HT_lookup)(places, address);

    if (!place) {
        place = VG_(calloc)("switchcost.places", 1, sizeof *place);
        place->address = address;
        VG_(HT_add_node)(places, place);
    }
    return place;
}

static Bool is_translated(Addr address)
{
    Addr code;
    UInt section, entry;

    return VG_(search_transtab)(&code, &section, &entry, address, False);
}

/* Decides which superblocks are hot. A superblock may have several shapes. Shapes after the first begin at no
   superblock's address, so they do not count. */
static void decide(void)
{
    struct place *place;

    VG_(HT_ResetIter)(places);
    while ((place = VG_(HT_Next)(places))) {
        if (!place->is_hot && place->hits * ran / sample >= WORTH && is_translated(place->address)) {
            place->is_hot = True;
            place->is_loop = 2 * place->repeats > place->hits;
            place->is_fresh = True;
            is_any_fresh = True;
        }
        place->hits = 0;
        place->repeats = 0;
    }
}

/* Boyer and Moore's majority vote: a value with more than half of the votes wins. */
static void vote(struct place *place, Addr next)
{
    if (place->lead == 0)
        place->follower = next;
    if (place->follower == next)
        place->lead += 1;
    else
        place->lead -= 1;
}

/* Records that `count` superblocks have run, large ones counted as several. The superblocks have written the words
   from `word` to `end`, all of which are shapes. */
void hot_ran(UInt count, const ULong *word, const ULong *end)
{
    struct place *before = NULL;

    ran += count;
    if (ran < next_look)
        return;
    if (!places)
        places = VG_(HT_construct)("switchcost.places");
    for (; word < end; word += 1 + SC_EXPLICIT_OF(*word)) {
        struct place *place = place_at(shapes_address((UInt)*word));
        place->hits += 1;
        place->repeats += place == before;
        /* If the superblock at this place is hot, it ends elsewhere. */
        if (before && !before->is_hot)
            vote(before, place->address);
        before = place;
        sample += 1;
    }
    if (sample < SAMPLE)
        return;
    decide();
    sample = 0;
    next_look = 2 * ran;
}

/* Discards superblocks that are to be translated again. Must be called when Valgrind holds no address of a
   translation. */
void hot_translate_again(void)
{
    struct place *place;

    if (!is_any_fresh)
        return;
    is_any_fresh = False;
    VG_(HT_ResetIter)(places);
    while ((place = VG_(HT_Next)(places))) {
        if (place->is_fresh)
            VG_(discard_translations)(place->address, 1, "switchcost: a longer superblock");
        place->is_fresh = False;
    }
}

enum heat hot_at(Addr address)
{
    const struct place *place = places ? VG_(HT_lookup)(places, address) : NULL;

    if (!place || !place->is_hot)
        return COLD;
    return place->is_loop ? HOT_LOOP : HOT;
}

/* Returns the address at which the program usually continued after the shape at an address; 0 if unknown. */
Addr hot_next(Addr address)
{
    const struct place *place = places ? VG_(HT_lookup)(places, address) : NULL;

    return place && place->lead > 0 ? place->follower : 0;
}
