/* Which superblocks run so often that it pays to translate them again, as longer ones. GPL-2.0-or-later, see COPYING.

   How often is estimated from what was written, some of it whenever twice as much has run as the last time. So it is the
   same each time that a program runs. */
#include "switchcost.h"

#include "pub_tool_hashtable.h"
#include "pub_tool_mallocfree.h"

/* The first time, after so many superblocks. */
#define FIRST_LOOK 4000000
/* Shapes that are looked at then. */
#define SAMPLE 20000
/* To translate a superblock takes as long as it saves in so many runs, roughly: 0.1 ms, and 1 ns. */
#define WORTH 100000

/* coregrind/pub_core_transtab.h */
extern void VG_(discard_translations)(Addr start, ULong bytes, const HChar *who);
extern Bool VG_(search_transtab)(Addr *code, UInt *section, UInt *entry, Addr address, Bool is_remembered);

/* Where superblocks begin. The first two fields are a VgHashNode. */
struct place {
    struct place *next;
    UWord address;
    ULong hits;     /* in the sample */
    ULong repeats;  /* of these directly behind themselves */
    UWord follower; /* where mostly the program goes on */
    ULong lead;     /* of that over all others together, at least */
    Bool is_hot;
    Bool is_loop;  /* mostly it runs behind itself */
    Bool is_fresh; /* hot, and not translated again yet */
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

/* Shapes that a superblock has besides its first begin where no superblock does. */
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

/* Boyer and Moore's majority vote: what has more than half of the votes has it in the end. */
static void vote(struct place *place, Addr next)
{
    if (place->lead == 0)
        place->follower = next;
    if (place->follower == next)
        place->lead += 1;
    else
        place->lead -= 1;
}

/* So many superblocks have run, large ones counted as several, and written these words: shapes and nothing else. */
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
        /* Once it is hot, its superblock ends elsewhere. */
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

/* Throws away what is to be translated again: where Valgrind holds no address of a translation. */
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

/* Where the program mostly went on behind the shape that begins there; 0 where that is not known. */
Addr hot_next(Addr address)
{
    const struct place *place = places ? VG_(HT_lookup)(places, address) : NULL;

    return place && place->lead > 0 ? place->follower : 0;
}
