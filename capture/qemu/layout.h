/* Where in the kernel the plugin has to look, and what lies where. GPL-2.0-or-later, see ../valgrind/COPYING. */
#ifndef SWITCHCOST_LAYOUT_H
#define SWITCHCOST_LAYOUT_H

#include <stddef.h>

#include "guest.h"

/* Lines `ADDRESS NAME`; they stay where they are in the guest's memory. A name of "-": here nothing known begins. */
struct listing {
    char *text;
    size_t bytes, most;
};

/* Room for so many bytes. Without room, what is added is not listed. */
void listing_open(struct listing *listing, size_t most);
void listing_add(struct listing *listing, uint64_t address, const char *name);

/* Of the kernel's memory. */
struct layout {
    /* Where all physical memory is mapped, and its struct pages are. */
    uint64_t direct_map, pages;
    size_t page_bytes;
    /* Of the first CPU's memory; 0 where that is not known. */
    uint64_t per_cpu_end;
    /* Offsets in struct slab and struct kmem_cache, where there are these. */
    int has_slabs;
    size_t slab_cache, cache_name;
};

/* By the kernel's own tables; ends the guest where they do not say. Lists the functions and variables of its image, and the variables
   that each CPU has, those of the first one. */
void layout_find(struct sc_guest *guest, struct layout *layout, struct listing *symbols);

static inline int is_of_kernel(uint64_t address)
{
    return address >> 47 != 0;
}

/* A word of the kernel's memory; 0 where it cannot be read. */
uint64_t kernel_word(uint64_t address);

/* What areas of vmalloc there are, and what all pages hold. */
void contents_list_areas(struct listing *listing);
void contents_list(const struct layout *layout, struct listing *listing);

/* For root, addresses are no secret, as they are of kallsyms. */
void layout_show_addresses(void);

/* All that the kernel wants, the same each time. */
void entropy_give(void);

/* In nanoseconds; -1 where the scheduler has no such setting. */
int layout_set_slice(long nanoseconds);

/* Says what was found, and ends the guest. */
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
