/* Paths: consecutive references of a piece of code. GPL-2.0-or-later, see ../valgrind/COPYING. */
#ifndef SWITCHCOST_PATH_H
#define SWITCHCOST_PATH_H

#include "plugin.h"

/* Maximum number of references. A definition with more would not fit into a record. */
#define MOST_REFERENCES 80

/* One way in which a piece of code was left before its end. */
struct cut {
    struct cut *next;
    UInt end;
    ULong word;
};

/* A reference, with the references before it (the path). The data for following a path is in one cache line. */
struct path {
    struct instruction *instruction; /* NULL at the start of a piece of code */
    qemu_plugin_meminfo_t info;
    uint8_t how;  /* SC_EXPLICIT, SC_FIXED or SC_RELATIVE */
    uint8_t base; /* number of the explicit address of the segment, from 1, to which a relative address is relative */
    bool starts_segment;  /* the first reference of a segment, which is explicit */
    bool is_continuation; /* a further part of the access before */
    uint64_t value;       /* fixed: the address; relative: its distance from the base */
    struct path *child, *sibling, *up;
    ULong word; /* head that is written if the code ends after this reference; 0 if not known yet */
    _Alignas(64) ULong segment_word; /* if the reference starts a segment: head of the segment before */
    struct cut *cuts;
    UInt first;    /* index of the instruction with which the segment begins */
    UInt explicit; /* number of explicit addresses of the segment so far */
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

/* Returns the address of a derived reference. `head` is followed by the explicit addresses of the segment. */
static inline uint64_t derived(const struct path *path, const ULong *head)
{
    return path->how == SC_FIXED ? path->value : head[path->base] + path->value;
}

/* learn.c: extends the path `up` by a reference that has not occurred there before. `is_other` means that the
   reference was taken for a derived one, and is not. `head` is the head of the segment. */
struct path *learn(struct path *up, struct instruction *instruction, qemu_plugin_meminfo_t info, uint64_t address,
                   const ULong *head, bool is_other);

#endif
