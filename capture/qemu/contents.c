/* Finds the contents of the kernel's pages, from /proc/kpageflags
   (https://docs.kernel.org/admin-guide/mm/pagemap.html) and /proc/vmallocinfo. A slab is named after its cache,
   whose name is read from the kernel's memory (/proc/kcore). Pages whose contents cannot be found have no name.
   GPL-2.0-or-later, see ../valgrind/COPYING. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "layout.h"

#define PAGE 4096UL
#define PAGES_AT_ONCE 8192
#define MOST_CACHES 1024
#define LONGEST_NAME 64

/* Bits of /proc/kpageflags. */
enum { LRU = 5, SLAB = 7, BUDDY = 10, ANONYMOUS = 12, TAIL = 16, NO_PAGE = 20, PAGE_TABLE = 26, RESERVED = 32 };

struct cache {
    uint64_t address;
    char name[LONGEST_NAME + 8];
};

static struct cache caches[MOST_CACHES];
static int cache_count;

/* Reads the kernel's memory. Returns whether all bytes could be read. */
static int read_kernel(uint64_t address, void *to, size_t bytes)
{
    static int fd = -1;
    static Elf64_Ehdr header;
    Elf64_Phdr segment;
    int index;

    if (fd < 0) {
        fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC);
        if (fd < 0 || pread(fd, &header, sizeof header, 0) != sizeof header)
            return 0;
    }
    for (index = 0; index < header.e_phnum; index++) {
        if (pread(fd, &segment, sizeof segment, header.e_phoff + index * sizeof segment) != sizeof segment)
            return 0;
        if (segment.p_type == PT_LOAD && address - segment.p_vaddr < segment.p_memsz)
            return pread(fd, to, bytes, segment.p_offset + (address - segment.p_vaddr)) == (ssize_t)bytes;
    }
    return 0;
}

uint64_t kernel_word(uint64_t address)
{
    uint64_t word = 0;

    return address && read_kernel(address, &word, sizeof word) ? word : 0;
}

/* Returns the name of a slab's cache. `page` is the first page of the slab. */
static const char *cache_name(const struct layout *layout, uint64_t page)
{
    uint64_t address = kernel_word(layout->pages + page * layout->page_bytes + layout->slab_cache);
    char name[LONGEST_NAME] = "";
    int index;

    for (index = 0; index < cache_count; index++)
        if (caches[index].address == address)
            return caches[index].name;
    if (!layout->has_slabs || cache_count == MOST_CACHES
        || !read_kernel(kernel_word(address + layout->cache_name), name, sizeof name - 1) || !*name)
        return "slab";
    caches[index].address = address;
    snprintf(caches[index].name, sizeof caches[index].name, "%s (slab)", name);
    cache_count++;
    return caches[index].name;
}

/* Returns the name of a page's contents, or "-" if they are unknown. */
static const char *contents_of(const struct layout *layout, uint64_t page, uint64_t flags, const char *before)
{
    if (flags >> NO_PAGE & 1)
        return "-";
    if (flags >> RESERVED & 1)
        return "allocated at boot";
    if (flags >> BUDDY & 1)
        return "freed page";
    if (flags >> TAIL & 1)
        return before;
    if (flags >> SLAB & 1)
        return cache_name(layout, page);
    if (flags >> PAGE_TABLE & 1)
        return "page table";
    if (flags >> ANONYMOUS & 1)
        return "page of a process";
    return flags >> LRU & 1 ? "page of a file" : "page of the kernel";
}

static void list_pages(const struct layout *layout, struct listing *listing)
{
    static uint64_t flags[PAGES_AT_ONCE];
    const char *last = "-", *next;
    int fd = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC);
    uint64_t page = 0, address;
    ssize_t bytes, index;

    while ((bytes = read(fd, flags, sizeof flags)) > 0)
        for (index = 0; index < bytes / (ssize_t)sizeof *flags; index++, page++) {
            next = contents_of(layout, page, flags[index], last);
            address = layout->direct_map + page * PAGE;
            if (strcmp(next, last) != 0 || address == layout->per_cpu_end)
                listing_add(listing, address, next);
            last = next;
        }
    listing_add(listing, layout->direct_map + page * PAGE, "-");
    close(fd);
    if (page > 0) {
        listing_add(listing, layout->pages, "struct page");
        listing_add(listing, layout->pages + page * layout->page_bytes, "-");
    }
}

/* Lists the areas of vmalloc, named after the function that requested each. Stacks of tasks are requested by several
   functions of fork. Some areas are free but not yet returned ("unpurged"). */
void contents_list_areas(struct listing *listing)
{
    static const char *const forks[] = { "kernel_clone", "copy_process", "dup_task_struct" };
    FILE *areas = fopen("/proc/vmallocinfo", "re");
    char line[512], caller[128], name[160];
    uint64_t start, end;
    size_t index;

    while (areas && fgets(line, sizeof line, areas)) {
        if (sscanf(line, "0x%" SCNx64 "-0x%" SCNx64 " %*u %127[^+ \n]", &start, &end, caller) != 3
            || !is_of_kernel(start) || start >= end)
            continue;
        snprintf(name, sizeof name, "vmalloc by %s", caller);
        if (strcmp(caller, "unpurged") == 0)
            strcpy(name, "freed vmalloc area");
        for (index = 0; index < sizeof forks / sizeof *forks; index++)
            if (strcmp(caller, forks[index]) == 0)
                strcpy(name, "kernel stack");
        listing_add(listing, start, name);
        listing_add(listing, end, "-");
    }
    if (areas)
        fclose(areas);
}

void contents_list(const struct layout *layout, struct listing *listing)
{
    list_pages(layout, listing);
    contents_list_areas(listing);
}
