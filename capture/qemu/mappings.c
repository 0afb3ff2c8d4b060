/* What files lie behind the addresses of a process: told when it comes to its own code for the first time, and behind system calls that
   change that, by the guest's own list of its areas (struct vm_area_struct), which is a maple tree
   (https://docs.kernel.org/core-api/maple_tree.html; since Linux 6.1). GPL-2.0-or-later, see ../valgrind/COPYING. */
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

#define PAGE 4096ULL
#define IS_EXECUTABLE 4ULL
#define MOST_MAPPINGS 1024
#define LONGEST_PATH 1024
#define DEEPEST 32

/* Of the tree (include/linux/maple_tree.h, 64 bits): a node is 256 bytes large, and its address tells its kind. */
#define NODE_BYTES 256
#define KIND(node) ((node) >> 3 & 15)
#define IS_ROOT_NODE(entry) (((entry) & 3) == 2 && (entry) > 4096)
enum { LEAF_64 = 1, RANGE_64, ARANGE_64 };
#define RANGE_SLOTS 16
#define ARANGE_SLOTS 10
#define DEEPEST_TREE 8

struct mapping {
    uint64_t start, bytes, offset, entry; /* the last: of its file in a folder */
    bool is_executable;
};

struct list {
    size_t count;
    struct mapping all[MOST_MAPPINGS];
};

/* As it was told, by address space. */
struct told {
    uint32_t space;
    bool is_checked; /* against the guest's own list */
    size_t count;
    struct mapping *all;
};

static struct sc_mapping_layout layout;
static struct told *all_told;
static size_t told_count, told_room;
/* Which was checked last: asked each time that the kernel is left. */
static uint32_t checked;

void mappings_know(const struct sc_guest *guest)
{
    layout = guest->mappings;
}

static uint64_t word_at(uint64_t address)
{
    uint64_t word = 0;

    memory_read_kernel(address, &word, sizeof word);
    return word;
}

/* Whether one goes on where the other ends, in the same file. */
static bool goes_on(const struct mapping *before, const struct mapping *mapping)
{
    return mapping->start == before->start + before->bytes && mapping->offset == before->offset + before->bytes
        && mapping->entry == before->entry && mapping->is_executable == before->is_executable;
}

static void add_area(struct list *list, uint64_t area)
{
    uint64_t start = word_at(area + layout.start), end = word_at(area + layout.end), file = word_at(area + layout.file);
    struct mapping mapping = { .start = start, .bytes = end - start };

    if (!file || start >= end)
        return;
    mapping.offset = word_at(area + layout.page) * PAGE;
    mapping.entry = word_at(file + layout.entry);
    mapping.is_executable = word_at(area + layout.flags) & IS_EXECUTABLE;
    if (list->count > 0 && goes_on(&list->all[list->count - 1], &mapping))
        list->all[list->count - 1].bytes += mapping.bytes;
    else if (list->count < MOST_MAPPINGS)
        list->all[list->count++] = mapping;
}

/* Pivots say where the ranges of the slots end, up to one that has the end of the whole node, or 0 for that. */
static void walk(struct list *list, uint64_t node, uint64_t last, int depth)
{
    uint64_t words[NODE_BYTES / 8], address = node & ~(NODE_BYTES - 1ULL);
    size_t slots = KIND(node) == ARANGE_64 ? ARANGE_SLOTS : RANGE_SLOTS;
    const uint64_t *pivots = words + 1, *slot = pivots + slots - 1;

    if (depth == DEEPEST_TREE || KIND(node) < LEAF_64 || KIND(node) > ARANGE_64 || !memory_read_kernel(address, words, sizeof words))
        return;
    for (size_t index = 0; index < slots; index++) {
        uint64_t end = index < slots - 1 && pivots[index] ? pivots[index] : last;
        if (KIND(node) != LEAF_64 && slot[index])
            walk(list, slot[index], end, depth + 1);
        else if (KIND(node) == LEAF_64 && slot[index] && !(slot[index] & 3))
            add_area(list, slot[index]);
        if (end == last)
            return;
    }
}

/* Whether both have the same bytes of a file at the same addresses, where they overlap. */
static bool agree(const struct mapping *one, const struct mapping *other)
{
    return one->entry == other->entry && one->offset - one->start == other->offset - other->start
        && one->is_executable == other->is_executable;
}

/* What of a mapping the others do not have: an area that is divided stays what it is. They are in the order of their addresses. Whether
   there was room for all marks. */
static bool tell_rest(const struct mapping *mapping, const struct mapping *others, size_t count, bool (*tell)(const struct mapping *))
{
    uint64_t start = mapping->start, end = mapping->start + mapping->bytes;
    bool has_room = true;

    for (size_t index = 0; index <= count && start < end; index++) {
        const struct mapping *other = &others[index];
        uint64_t rest = index < count ? other->start : end;
        if (index < count && (!agree(mapping, other) || other->start + other->bytes <= start))
            continue;
        if (rest > end)
            rest = end;
        if (start < rest) {
            struct mapping part = *mapping;
            part.offset += start - part.start;
            part.start = start;
            part.bytes = rest - start;
            has_room = tell(&part) && has_room;
        }
        if (index < count)
            start = other->start + other->bytes;
    }
    return has_room;
}

/* From the file up to the root of its file system; gives where it begins in the room, at whose end it is. */
static char *path_of(uint64_t entry, char *room)
{
    char *path = room + LONGEST_PATH, name[256];

    for (int depth = 0; depth < DEEPEST && word_at(entry + layout.parent) != entry; depth++) {
        size_t length;
        memset(name, 0, sizeof name);
        memory_read_kernel(word_at(entry + layout.name), name, sizeof name - 1);
        length = strlen(name);
        if (length == 0 || length + 1 > (size_t)(path - room))
            break;
        path -= length;
        memcpy(path, name, length);
        *--path = '/';
        entry = word_at(entry + layout.parent);
    }
    return path;
}

static bool tell_gone(const struct mapping *mapping)
{
    ULong words[2] = { mapping->start, mapping->bytes };

    if (!switches_has_room(3))
        return false;
    switches_note(SC_UNMAP, 0, words, 2);
    return true;
}

/* Shared memory without a name is a file to the kernel, too. */
static bool tell_new(const struct mapping *mapping)
{
    char room[LONGEST_PATH], *path = path_of(mapping->entry, room);
    size_t length = room + LONGEST_PATH - path;
    ULong words[4 + LONGEST_PATH / 8] = { mapping->start, mapping->bytes, mapping->offset, mapping->is_executable | (ULong)length << 16 };
    UInt count = 4 + (length + 7) / 8;

    memcpy(words + 4, path, length);
    if (length == 0)
        return true;
    if (!switches_has_room(1 + count))
        return false;
    switches_note(SC_MAP, 0, words, count);
    return true;
}

static struct told *told_of(uint32_t space)
{
    for (size_t index = 0; index < told_count; index++)
        if (all_told[index].space == space)
            return &all_told[index];
    return NULL;
}

/* Those of address spaces that are gone make room. */
static struct told *add_told(uint32_t space)
{
    size_t kept = 0;

    for (size_t index = 0; index < told_count && told_count == told_room; index++) {
        if (switches_has_space(all_told[index].space))
            all_told[kept++] = all_told[index];
        else
            free(all_told[index].all);
    }
    if (told_count == told_room) {
        told_count = kept;
        if (2 * kept >= told_room) {
            told_room = told_room ? 2 * told_room : 64;
            all_told = realloc(all_told, told_room * sizeof *all_told);
            if (!all_told)
                ring_fail("no memory for another address space");
        }
    }
    all_told[told_count] = (struct told){ .space = space };
    return &all_told[told_count++];
}

static void remember(struct told *told, const struct mapping *all, size_t count)
{
    told->all = realloc(told->all, (count + 1) * sizeof *all);
    if (!told->all)
        ring_fail("no memory for another mapping");
    memcpy(told->all, all, count * sizeof *all);
    told->count = count;
}

void mappings_fork(uint32_t parent, uint32_t child)
{
    /* Making room for it may do away with others. */
    struct told *of_child = add_told(child);
    const struct told *of_parent = told_of(parent);

    if (of_parent)
        remember(of_child, of_parent->all, of_parent->count);
}

void mappings_changed(void)
{
    struct told *told = told_of(switches_space());

    checked = 0;
    if (told)
        told->is_checked = false;
}

/* What is gone is told before what has come, which may lie where that was. Where there is no room for all, all is told the next time. */
void mappings_look(void)
{
    static struct list now;
    uint32_t space = switches_space();
    struct told *told;
    uint64_t root;
    bool is_whole = true;

    if (!layout.is_known || space == 0 || space == checked)
        return;
    told = told_of(space);
    if (!told)
        told = add_told(space);
    checked = space;
    if (told->is_checked)
        return;
    now.count = 0;
    root = word_at(switches_memory() + layout.tree);
    if (IS_ROOT_NODE(root))
        walk(&now, root, UINT64_MAX, 0);
    for (size_t index = 0; index < told->count; index++)
        is_whole = tell_rest(&told->all[index], now.all, now.count, tell_gone) && is_whole;
    for (size_t index = 0; index < now.count; index++)
        is_whole = tell_rest(&now.all[index], told->all, told->count, tell_new) && is_whole;
    if (is_whole)
        remember(told, now.all, now.count);
    told->is_checked = is_whole;
    checked = is_whole ? space : 0;
}
