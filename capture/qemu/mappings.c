/* Reports the files that a process has mapped, when the process first enters its own code, and after system calls
   that change mappings. The mappings are read from the guest's list of areas (struct vm_area_struct), which is a
   maple tree (https://docs.kernel.org/core-api/maple_tree.html; since Linux 6.1). GPL-2.0-or-later, see
   ../valgrind/COPYING. */
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

#define PAGE 4096ULL
#define IS_EXECUTABLE 4ULL
#define LONGEST_PATH 1024
#define DEEPEST 32

/* Size in bytes of a node of the tree (include/linux/maple_tree.h, 64 bits). The address of a node encodes its kind. */
#define NODE_BYTES 256
#define KIND(node) ((node) >> 3 & 15)
#define IS_ROOT_NODE(entry) (((entry) & 3) == 2 && (entry) > 4096)
enum { LEAF_64 = 1, RANGE_64, ARANGE_64 };
#define RANGE_SLOTS 16
#define ARANGE_SLOTS 10
#define DEEPEST_TREE 8

struct mapping {
    uint64_t start, bytes, offset, entry; /* entry: address of the file's directory entry */
    bool is_executable;
};

/* Mappings in the order of their addresses. */
struct list {
    size_t count, room;
    struct mapping *all;
};

/* Mappings of one address space as they were last reported. */
struct reported {
    uint32_t space;
    bool is_checked; /* the mappings were compared with the guest's own list */
    struct list list;
};

static struct sc_mapping_layout layout;
static struct reported *all_reported;
static size_t reported_count, reported_room;
/* Number of the address space that was compared last. The number is needed each time the kernel is left. */
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

/* Whether a mapping continues the one before it, in addresses and in the same file. */
static bool goes_on(const struct mapping *before, const struct mapping *mapping)
{
    return mapping->start == before->start + before->bytes && mapping->offset == before->offset + before->bytes
           && mapping->entry == before->entry && mapping->is_executable == before->is_executable;
}

static void make_room(struct list *list, size_t count)
{
    if (count <= list->room)
        return;
    list->room = 2 * count;
    list->all = realloc(list->all, list->room * sizeof *list->all);
    if (!list->all)
        ring_fail("no memory for another mapping");
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
    if (list->count > 0 && goes_on(&list->all[list->count - 1], &mapping)) {
        list->all[list->count - 1].bytes += mapping.bytes;
        return;
    }
    make_room(list, list->count + 1);
    list->all[list->count++] = mapping;
}

/* Adds the areas in a node of the tree. Pivots are the ends of the slots' ranges; the last pivot is the end of the
   whole node, or 0. */
static void walk(struct list *list, uint64_t node, uint64_t last, int depth)
{
    uint64_t words[NODE_BYTES / 8], address = node & ~(NODE_BYTES - 1ULL);
    size_t slots = KIND(node) == ARANGE_64 ? ARANGE_SLOTS : RANGE_SLOTS;
    const uint64_t *pivots = words + 1, *slot = pivots + slots - 1;

    if (depth == DEEPEST_TREE || KIND(node) < LEAF_64 || KIND(node) > ARANGE_64
        || !memory_read_kernel(address, words, sizeof words))
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

/* Whether two mappings map the same bytes of a file to the addresses that both have. */
static bool agree(const struct mapping *one, const struct mapping *other)
{
    return one->entry == other->entry && one->offset - one->start == other->offset - other->start
           && one->is_executable == other->is_executable;
}

/* Reports the parts of a mapping that the others do not cover. So splitting an area changes nothing. */
static void report_rest(const struct mapping *mapping, const struct list *others,
                        void (*report)(const struct mapping *))
{
    uint64_t start = mapping->start, end = mapping->start + mapping->bytes;

    for (size_t index = 0; index <= others->count && start < end; index++) {
        const struct mapping *other = index < others->count ? &others->all[index] : NULL;
        uint64_t rest = other && other->start < end ? other->start : end;
        if (other && (!agree(mapping, other) || other->start + other->bytes <= start))
            continue;
        if (start < rest) {
            struct mapping part = *mapping;
            part.offset += start - part.start;
            part.start = start;
            part.bytes = rest - start;
            report(&part);
        }
        if (other)
            start = other->start + other->bytes;
    }
}

/* Writes the path of a file, from the root of its file system, to the end of `room`. Returns the start of the path. */
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

static void report_gone(const struct mapping *mapping)
{
    ULong words[2] = { mapping->start, mapping->bytes };

    switches_note(SC_UNMAP, 0, words, 2);
}

/* The kernel treats shared memory without a name as a file, too. */
static void report_new(const struct mapping *mapping)
{
    char room[LONGEST_PATH], *path = path_of(mapping->entry, room);
    size_t length = room + LONGEST_PATH - path;
    ULong words[4 + LONGEST_PATH / 8] = { mapping->start, mapping->bytes, mapping->offset,
                                          mapping->is_executable | (ULong)length << 16 };

    memcpy(words + 4, path, length);
    if (length > 0)
        switches_note(SC_MAP, 0, words, 4 + (length + 7) / 8);
}

static struct reported *reported_of(uint32_t space)
{
    for (size_t index = 0; index < reported_count; index++)
        if (all_reported[index].space == space)
            return &all_reported[index];
    return NULL;
}

/* Adds an address space, and removes those that no longer exist. */
static struct reported *add_reported(uint32_t space)
{
    size_t kept = 0;

    for (size_t index = 0; index < reported_count && reported_count == reported_room; index++) {
        if (switches_has_space(all_reported[index].space))
            all_reported[kept++] = all_reported[index];
        else
            free(all_reported[index].list.all);
    }
    if (reported_count == reported_room) {
        reported_count = kept;
        if (2 * kept >= reported_room) {
            reported_room = reported_room ? 2 * reported_room : 64;
            all_reported = realloc(all_reported, reported_room * sizeof *all_reported);
            if (!all_reported)
                ring_fail("no memory for another address space");
        }
    }
    all_reported[reported_count] = (struct reported){ .space = space };
    return &all_reported[reported_count++];
}

static void copy_list(struct list *to, const struct list *from)
{
    make_room(to, from->count);
    to->count = from->count;
    if (from->count > 0)
        memcpy(to->all, from->all, from->count * sizeof *from->all);
}

void mappings_fork(uint32_t parent, uint32_t child)
{
    /* This call may move or remove other entries. */
    struct reported *of_child = add_reported(child);
    const struct reported *of_parent = reported_of(parent);

    if (of_parent)
        copy_list(&of_child->list, &of_parent->list);
}

void mappings_changed(void)
{
    struct reported *reported = reported_of(switches_space());

    checked = 0;
    if (reported)
        reported->is_checked = false;
}

/* Reports what has changed: unmappings before mappings, which may use the same addresses. */
void mappings_look(void)
{
    static struct list now;
    uint32_t space = switches_space();
    struct reported *reported;
    uint64_t root;

    if (!layout.is_known || space == 0 || space == checked)
        return;
    checked = space;
    reported = reported_of(space);
    if (!reported)
        reported = add_reported(space);
    if (reported->is_checked)
        return;
    now.count = 0;
    root = word_at(switches_memory() + layout.tree);
    if (IS_ROOT_NODE(root))
        walk(&now, root, UINT64_MAX, 0);
    for (size_t index = 0; index < reported->list.count; index++)
        report_rest(&reported->list.all[index], &now, report_gone);
    for (size_t index = 0; index < now.count; index++)
        report_rest(&now.all[index], &reported->list, report_new);
    copy_list(&reported->list, &now);
    reported->is_checked = true;
}
