/* A path: consecutive references of a piece of code. GPL-2.0-or-later, see ../valgrind/COPYING. */
#ifndef SWITCHCOST_PATH_H
#define SWITCHCOST_PATH_H

#include "plugin.h"

/* Largest number of references, because more would not fit in the record of a definition. */
#define MOST_REFERENCES 80

/* Way in which code was left before its end. */
struct cut {
    struct cut *next;
    UInt end;
    ULong word;
};

/* A reference with the path before it. The data that following a path needs lies in one cache line. */
struct path {
    struct instruction *instruction; /* NULL at the start of a piece of code */
    qemu_plugin_meminfo_t info;
    uint8_t how;          /* SC_EXPLICIT, SC_FIXED or SC_RELATIVE */
    uint8_t base;         /* relative: to which explicit address of the segment, from 1 */
    bool starts_segment;  /* the first of a segment, an explicit one */
    bool is_continuation; /* a further part of the access before */
    uint64_t value;       /* the address, or how far it lies behind the base */
    struct path *child, *sibling, *up;
    ULong word;                      /* written if the code ends after it; 0: not yet known */
    _Alignas(64) ULong segment_word; /* if it starts a segment: written for the one before */
    struct cut *cuts;
    UInt first;    /* instruction that its segment begins with */
    UInt explicit; /* addresses of the segment so far */
    UInt references;
};

static inline UInt index_of(const struct instruction *instruction)
{
    return instruction - instruction->code->instructions;
}

static inline UInt bytes_of(const struct path *path)
{
    return 1 << qemu_plugin_mem_size_shift(path->info);
}

/* Returns the address of a derived reference, given the explicit addresses of its segment, which follow the head. */
static inline uint64_t derived(const struct path *path, const ULong *head)
{
    return path->how == SC_FIXED ? path->value : head[path->base] + path->value;
}

/* learn.c: extends `up` by a reference that is new at this point; `is_other` if a reference was tried as derived,
   and is not. `head` is the head of the segment. */
struct path *learn(struct path *up, struct instruction *instruction, qemu_plugin_meminfo_t info, uint64_t address,
                   const ULong *head, bool is_other);

#endif
