/* Finds addresses in the kernel that the plugin needs, and names for other addresses. GPL-2.0-or-later, see
   ../valgrind/COPYING. */
#ifndef SWITCHCOST_LAYOUT_H
#define SWITCHCOST_LAYOUT_H

#include <stddef.h>

#include "guest.h"

/* Text of lines `ADDRESS NAME`. The text does not move in the guest's memory. The name "-" means that nothing is
   known from that address on. */
struct listing {
    char *text;
    size_t bytes, most;
};

/* Makes room for a listing of `most` bytes. Lines that find no room are left out. */
void listing_open(struct listing *listing, size_t most);
void listing_add(struct listing *listing, uint64_t address, const char *name);

/* Layout of the kernel's memory. */
struct layout {
    /* Addresses at which all physical memory, and its struct pages, are mapped. */
    uint64_t direct_map, pages;
    size_t page_bytes;
    /* End of the first CPU's per-CPU memory; 0 if it is unknown. */
    uint64_t per_cpu_end;
    /* Offsets in struct slab and struct kmem_cache, if the kernel has both structures. */
    int has_slabs;
    size_t slab_cache, cache_name;
};

/* Finds the layout from the kernel's own tables, and ends the guest if they are incomplete. Lists the functions and
   variables of the kernel's image, and the first CPU's copies of per-CPU variables. */
void layout_find(struct sc_guest *guest, struct layout *layout, struct listing *symbols);

static inline int is_of_kernel(uint64_t address)
{
    return address >> 47 != 0;
}

/* Returns a word of the kernel's memory; 0 if it cannot be read. */
uint64_t kernel_word(uint64_t address);

/* The first function lists the areas of vmalloc; the second also lists the contents of all pages. */
void contents_list_areas(struct listing *listing);
void contents_list(const struct layout *layout, struct listing *listing);

/* Makes the kernel show addresses to root, as in kallsyms. */
void layout_show_addresses(void);

/* Gives the kernel all the randomness that it needs. The randomness is the same in every run. */
void entropy_give(void);

/* Sets the length of a time slice, in nanoseconds. Returns -1 if the scheduler has no such setting. */
int layout_set_slice(long nanoseconds);

/* Reports a fault, and ends the guest. */
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
