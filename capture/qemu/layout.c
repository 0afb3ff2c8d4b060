/* Finds addresses in the kernel that the plugin needs, and names for other addresses: symbols from /proc/kallsyms,
   and fields of structures from the kernel's BTF (https://docs.kernel.org/bpf/btf.html). GPL-2.0-or-later, see
   ../valgrind/COPYING. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout.h"

#define BTF_PATH "/sys/kernel/btf/vmlinux"
#define BTF_MAGIC 0xeb9f

struct btf_header {
    uint16_t magic;
    uint8_t version, flags;
    uint32_t header_bytes, type_offset, type_bytes, string_offset, string_bytes;
};

struct btf_type {
    uint32_t name, info, size_or_type;
};

struct btf_member {
    uint32_t name, type, offset;
};

enum {
    KIND_INT = 1,
    KIND_ARRAY = 3,
    KIND_STRUCT,
    KIND_UNION,
    KIND_ENUM,
    KIND_FUNC_PROTO = 13,
    KIND_VAR,
    KIND_DATASEC,
    KIND_DECL_TAG = 17,
    KIND_ENUM64 = 19
};

static const char *strings;
static const struct btf_type **types;
static uint32_t type_count = 1;

static uint32_t kind_of(const struct btf_type *type)
{
    return type->info >> 24 & 31;
}

static uint32_t members_of(const struct btf_type *type)
{
    return type->info & 0xffff;
}

static size_t bytes_behind(const struct btf_type *type)
{
    switch (kind_of(type)) {
    case KIND_INT:
    case KIND_VAR:
    case KIND_DECL_TAG:
        return 4;
    case KIND_ARRAY:
        return 12;
    case KIND_STRUCT:
    case KIND_UNION:
    case KIND_DATASEC:
    case KIND_ENUM64:
        return 12 * (size_t)members_of(type);
    case KIND_ENUM:
    case KIND_FUNC_PROTO:
        return 8 * (size_t)members_of(type);
    default:
        return 0;
    }
}

static void read_btf(void)
{
    int fd = open(BTF_PATH, O_RDONLY | O_CLOEXEC);
    const struct btf_header *header;
    struct stat facts;
    const char *at, *end;
    char *bytes;
    size_t length = 0;
    ssize_t more;

    if (fd < 0 || fstat(fd, &facts) != 0)
        fail("a kernel without BTF");
    bytes = malloc(facts.st_size);
    while (bytes && (more = read(fd, bytes + length, facts.st_size - length)) > 0)
        length += more;
    close(fd);
    header = (const void *)bytes;
    if (!bytes || length < sizeof *header || header->magic != BTF_MAGIC
        || header->header_bytes + (uint64_t)header->string_offset + header->string_bytes > length
        || header->header_bytes + (uint64_t)header->type_offset + header->type_bytes > length)
        fail("unreadable BTF");
    strings = bytes + header->header_bytes + header->string_offset;
    at = bytes + header->header_bytes + header->type_offset;
    end = at + header->type_bytes;
    types = calloc(header->type_bytes / sizeof(struct btf_type) + 2, sizeof *types);
    for (; types && at + sizeof(struct btf_type) <= end; type_count++) {
        types[type_count] = (const void *)at;
        at += sizeof(struct btf_type) + bytes_behind(types[type_count]);
    }
}

static const struct btf_type *find_structure(const char *name)
{
    uint32_t id;

    for (id = 1; id < type_count; id++)
        if (kind_of(types[id]) == KIND_STRUCT && strcmp(strings + types[id]->name, name) == 0)
            return types[id];
    return NULL;
}

static const struct btf_type *structure(const char *name)
{
    const struct btf_type *found = find_structure(name);

    if (!found)
        fail("BTF without struct %s", name);
    return found;
}

/* Returns the offset of a member in bytes; -1 if neither the type nor an anonymous part of it has this member. */
static long offset_in(const struct btf_type *type, const char *name)
{
    const struct btf_member *member = (const void *)(type + 1);
    uint32_t index;

    for (index = 0; index < members_of(type); index++, member++) {
        uint32_t bits = type->info >> 31 ? member->offset & 0xffffff : member->offset;
        const struct btf_type *inner = member->type < type_count ? types[member->type] : NULL;
        long offset;
        if (strcmp(strings + member->name, name) == 0)
            return bits / 8;
        if (strings[member->name] || !inner || (kind_of(inner) != KIND_STRUCT && kind_of(inner) != KIND_UNION))
            continue;
        offset = offset_in(inner, name);
        if (offset >= 0)
            return bits / 8 + offset;
    }
    return -1;
}

static uint32_t field(const char *owner, const char *name)
{
    long offset = offset_in(structure(owner), name);

    if (offset < 0)
        fail("BTF whose struct %s has no %s", owner, name);
    return offset;
}

static void find_fields(struct sc_guest *guest)
{
    const struct btf_type *task;

    read_btf();
    task = structure("task_struct");
    guest->sp = field("task_struct", "thread") + field("thread_struct", "sp");
    /* Before Linux 5.14 the state is a long. The lower half of that long contains all states. */
    guest->state = field("task_struct", offset_in(task, "__state") < 0 ? "state" : "__state");
    guest->pid = field("task_struct", "pid");
    guest->tgid = field("task_struct", "tgid");
    guest->comm = field("task_struct", "comm");
    guest->mm = field("task_struct", "mm");
    guest->active_mm = field("task_struct", "active_mm");
    guest->real_parent = field("task_struct", "real_parent");
    guest->nvcsw = field("task_struct", "nvcsw");
    guest->nivcsw = field("task_struct", "nivcsw");
    guest->pgd = field("mm_struct", "pgd");
}

/* Returns the offset of an optional field; sets *are_all to 0 if there is none. */
static uint32_t optional(const char *owner, const char *name, int *are_all)
{
    const struct btf_type *type = find_structure(owner);
    long offset = type ? offset_in(type, name) : -1;

    *are_all = *are_all && offset >= 0;
    return offset;
}

/* Finds the fields that lead to mapped files. Without these fields, mappings are not reported. */
static void find_mappings(struct sc_mapping_layout *mappings)
{
    int are_all = 1;

    mappings->tree = optional("mm_struct", "mm_mt", &are_all) + optional("maple_tree", "ma_root", &are_all);
    mappings->start = optional("vm_area_struct", "vm_start", &are_all);
    mappings->end = optional("vm_area_struct", "vm_end", &are_all);
    mappings->page = optional("vm_area_struct", "vm_pgoff", &are_all);
    mappings->file = optional("vm_area_struct", "vm_file", &are_all);
    mappings->flags = optional("vm_area_struct", "vm_flags", &are_all);
    mappings->entry = optional("file", "f_path", &are_all) + optional("path", "dentry", &are_all);
    mappings->parent = optional("dentry", "d_parent", &are_all);
    mappings->name = optional("dentry", "d_name", &are_all) + optional("qstr", "name", &are_all);
    mappings->is_known = are_all;
}

static int has_error_code(const char *exception)
{
    static const char *const with[] = { "double_fault",       "invalid_tss",        "segment_not_present",
                                        "stack_segment",      "general_protection", "alignment_check",
                                        "control_protection", "vmm_communication" };
    size_t index;

    for (index = 0; index < sizeof with / sizeof *with; index++)
        if (strcmp(exception, with[index]) == 0)
            return 1;
    return 0;
}

/* Returns the kind of an entry to the kernel; 0 if the name is not that of an entry. */
static uint64_t entry_kind(const char *name)
{
    if (strcmp(name, "entry_SYSCALL_64") == 0)
        return SC_ENTRY_SYSCALL;
    if (strcmp(name, "asm_exc_page_fault") == 0)
        return SC_ENTRY_PAGE_FAULT;
    if (strcmp(name, "asm_sysvec_apic_timer_interrupt") == 0)
        return SC_ENTRY_TIMER;
    if (strncmp(name, "asm_sysvec_", 11) == 0 || strcmp(name, "asm_common_interrupt") == 0)
        return SC_ENTRY_INTERRUPT;
    if (strncmp(name, "asm_exc_xen", 11) != 0 && strncmp(name, "asm_exc_", 8) == 0)
        return has_error_code(name + 8) ? SC_ENTRY_EXCEPTION_CODE : SC_ENTRY_EXCEPTION;
    return 0;
}

static void find_symbol(struct sc_guest *guest, uint64_t address, const char *name)
{
    uint64_t kind = entry_kind(name);

    if (strcmp(name, "__switch_to_asm") == 0)
        guest->switch_to = address;
    if (kind && guest->entry_count < SC_MOST_ENTRIES) {
        guest->entries[guest->entry_count].address = address;
        guest->entries[guest->entry_count++].kind = kind;
    }
}

/* Per-CPU variables: the place of their initial values, and the distance to the copies of the first CPU. */
struct per_cpu {
    uint64_t start, end, offsets, unit_bytes;
};

/* Addresses of areas of the kernel's memory, unless the kernel randomizes addresses
   (https://docs.kernel.org/arch/x86/x86_64/mm.html). */
#define DIRECT_MAP 0xffff888000000000UL
#define PAGES 0xffffea0000000000UL
#define CPU_ENTRY_AREA 0xfffffe0000000000UL
#define CPU_ENTRY_AREA_END 0xfffffe8000000000UL

static void find_range(struct per_cpu *per_cpu, struct layout *layout, uint64_t address, const char *name)
{
    if (strcmp(name, "__per_cpu_start") == 0)
        per_cpu->start = address;
    else if (strcmp(name, "__per_cpu_end") == 0)
        per_cpu->end = address;
    else if (strcmp(name, "__per_cpu_offset") == 0)
        per_cpu->offsets = address;
    else if (strcmp(name, "pcpu_unit_size") == 0)
        per_cpu->unit_bytes = address;
    /* This symbol and the next ones are variables, whose values are read later. */
    else if (strcmp(name, "page_offset_base") == 0)
        layout->direct_map = address;
    else if (strcmp(name, "vmemmap_base") == 0)
        layout->pages = address;
}

/* Reads the next symbol of the kernel's image from /proc/kallsyms. Returns 0 at the first symbol of a module, or at
   the end. */
static int next_symbol(FILE *symbols, uint64_t *address, char *type, char *name)
{
    char line[512];

    while (fgets(line, sizeof line, symbols) && !strchr(line, '['))
        if (sscanf(line, "%lx %c %255s", address, type, name) == 3)
            return 1;
    return 0;
}

/* Lists the per-CPU variables. After the named variables there is room for unnamed ones; returns the end of that
   room. */
static uint64_t list_per_cpu(FILE *symbols, const struct per_cpu *per_cpu, struct listing *listing)
{
    uint64_t address, end, first_cpu = kernel_word(per_cpu->offsets);
    char type, name[256];

    rewind(symbols);
    while (first_cpu && next_symbol(symbols, &address, &type, name) && address <= per_cpu->end)
        if (address >= per_cpu->start && address < per_cpu->end)
            listing_add(listing, address + first_cpu, name);
    if (!first_cpu)
        return 0;
    listing_add(listing, per_cpu->end + first_cpu, "allocated for each CPU");
    end = per_cpu->start + first_cpu + (uint32_t)kernel_word(per_cpu->unit_bytes);
    if (end < per_cpu->end + first_cpu)
        end = per_cpu->end + first_cpu;
    listing_add(listing, end, "-");
    return end;
}

static void find_symbols(struct sc_guest *guest, struct layout *layout, struct listing *listing)
{
    FILE *symbols = fopen("/proc/kallsyms", "re");
    struct per_cpu per_cpu = { 0 };
    uint64_t address;
    char type, name[256];

    if (!symbols)
        fail("a kernel without /proc/kallsyms");
    while (next_symbol(symbols, &address, &type, name)) {
        find_symbol(guest, address, name);
        find_range(&per_cpu, layout, address, name);
        if (is_of_kernel(address) && strchr("tTwWdDbBrRvV", type))
            listing_add(listing, address, name);
    }
    layout->per_cpu_end = list_per_cpu(symbols, &per_cpu, listing);
    listing_add(listing, CPU_ENTRY_AREA, "CPU entry area");
    listing_add(listing, CPU_ENTRY_AREA_END, "-");
    fclose(symbols);
    if (!guest->switch_to || !guest->entry_count)
        fail("a kernel whose /proc/kallsyms has no __switch_to_asm");
}

/* Finds the fields by which slabs are named. If one is missing, slabs have no names. */
static void find_slabs(struct layout *layout)
{
    const struct btf_type *page = find_structure("page"), *slab = find_structure("slab"),
                          *cache = find_structure("kmem_cache");
    long in_slab = slab ? offset_in(slab, "slab_cache") : -1, in_cache = cache ? offset_in(cache, "name") : -1;

    layout->page_bytes = page ? page->size_or_type : 64;
    layout->has_slabs = in_slab >= 0 && in_cache >= 0;
    layout->slab_cache = in_slab;
    layout->cache_name = in_cache;
}

void layout_find(struct sc_guest *guest, struct layout *layout, struct listing *symbols)
{
    find_fields(guest);
    find_mappings(&guest->mappings);
    find_slabs(layout);
    find_symbols(guest, layout, symbols);
    layout->direct_map = layout->direct_map ? kernel_word(layout->direct_map) : DIRECT_MAP;
    layout->pages = layout->pages ? kernel_word(layout->pages) : PAGES;
}

static int put_number(const char *path, long number)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    int is_put = fd >= 0 && dprintf(fd, "%ld\n", number) > 0;

    close(fd);
    return is_put;
}

/* Makes /proc/vmallocinfo show real addresses. Otherwise the file shows invented addresses, which are not in the
   kernel's half. */
void layout_show_addresses(void)
{
    put_number("/proc/sys/kernel/kptr_restrict", 1);
}

/* Sets base_slice_ns (Linux 6.6 and later), or else latency_ns and min_granularity_ns. A task that wakes up may still
   preempt as early as by default. */
int layout_set_slice(long nanoseconds)
{
    if (put_number("/sys/kernel/debug/sched/base_slice_ns", nanoseconds))
        return 0;
    return put_number("/sys/kernel/debug/sched/latency_ns", nanoseconds)
                   && put_number("/sys/kernel/debug/sched/min_granularity_ns", nanoseconds)
               ? 0
               : -1;
}
