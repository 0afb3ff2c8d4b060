/* Learns the references of a piece of code. QEMU does not report references at translation, so they are learnt as
   they occur, each as an extension of the path before it. The address of a reference is derived if it is always the
   same, or follows from an earlier one; otherwise it is explicit. GPL-2.0-or-later, see ../valgrind/COPYING. */
#include <stdlib.h>
#include <string.h>

#include "path.h"

/* Largest distance from an explicit address, in bytes, at which an address is tried as derived. */
#define NEAR 2048
/* Largest access, in bytes, whose parts are joined again. QEMU accesses at most 8 bytes at a time. */
#define LONGEST_JOINED 32

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

static UInt joined_bytes(const struct path *path)
{
    UInt bytes = bytes_of(path);

    for (; path->is_continuation; path = path->up)
        bytes += bytes_of(path->up);
    return bytes;
}

static uint64_t last_address(const struct path *path, const ULong *head)
{
    return path->how == SC_EXPLICIT ? head[path->explicit] : derived(path, head);
}

/* Tries to join a reference to the previous one, if both are parts of an access that QEMU has divided. */
static bool try_joined(struct path *path, uint64_t address, const ULong *head)
{
    struct path *up = path->up;

    if (!up->instruction || up->instruction != path->instruction || up->info != path->info || bytes_of(up) != 8
        || joined_bytes(up) + 8 > LONGEST_JOINED || last_address(up, head) + 8 != address)
        return false;
    path->is_continuation = true;
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

static bool try_relative(struct path *path, uint64_t address, const ULong *head)
{
    for (UInt base = path->up->explicit; base > 0; base--) {
        uint64_t distance = address - head[base];
        if (distance + NEAR < 2 * NEAR) {
            path->how = SC_RELATIVE;
            path->base = base;
            path->value = distance;
            return true;
        }
    }
    return false;
}

/* Whether a path has so many references that a new segment should begin. */
static bool is_long(const struct path *path)
{
    return path->references >= MOST_REFERENCES / 2;
}

static void make_explicit(struct path *path)
{
    const struct path *up = path->up;

    path->how = SC_EXPLICIT;
    if ((up->explicit >= SC_LANES || is_long(up)) && up->instruction != path->instruction) {
        path->starts_segment = true;
        path->first = index_of(path->instruction);
        path->explicit = 0;
        path->references = 1;
    }
    path->explicit++;
}

/* Learns a reference that has not occurred at this point of the path before. */
struct path *learn(struct path *up, struct instruction *instruction, qemu_plugin_meminfo_t info, uint64_t address,
                   const ULong *head, bool is_other)
{
    struct path *path = extended(up, instruction, info);

    /* Explicit if the address had wrongly been taken for a derived one, or to begin another segment. */
    if (is_other || (is_long(up) && up->instruction != instruction))
        make_explicit(path);
    else if (!try_joined(path, address, head) && !try_fixed(path, address) && !try_relative(path, address, head))
        make_explicit(path);
    path->sibling = up->child;
    up->child = path;
    return path;
}
