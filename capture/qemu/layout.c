/* Where in the kernel the plugin has to look: functions by /proc/kallsyms, fields of struct task_struct by the kernel's BTF
   (https://docs.kernel.org/bpf/btf.html). GPL-2.0-or-later, see ../valgrind/COPYING. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

enum { KIND_INT = 1, KIND_ARRAY = 3, KIND_STRUCT, KIND_UNION, KIND_ENUM, KIND_FUNC_PROTO = 13, KIND_VAR, KIND_DATASEC,
       KIND_DECL_TAG = 17, KIND_ENUM64 = 19 };

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

static const struct btf_type *structure(const char *name)
{
    uint32_t id;

    for (id = 1; id < type_count; id++)
        if (kind_of(types[id]) == KIND_STRUCT && strcmp(strings + types[id]->name, name) == 0)
            return types[id];
    fail("BTF without struct %s", name);
}

/* In bytes; -1 where it has no such member, itself or in a nameless part of it. */
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
    /* Until Linux 5.13 it is a long, whose lower half has all of it. */
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

static int has_error_code(const char *exception)
{
    static const char *const with[] = { "double_fault", "invalid_tss", "segment_not_present", "stack_segment",
                                        "general_protection", "alignment_check", "control_protection", "vmm_communication" };
    size_t index;

    for (index = 0; index < sizeof with / sizeof *with; index++)
        if (strcmp(exception, with[index]) == 0)
            return 1;
    return 0;
}

/* 0 for what is no entry. */
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

#define MOST_FUNCTIONS_BYTES (8UL << 20)

char *layout_functions;
size_t layout_functions_bytes;

/* Room that neither copying on write nor the kernel's compaction moves. */
static void make_room(void)
{
    int fd = open("/proc/sys/vm/compact_unevictable_allowed", O_WRONLY | O_CLOEXEC);

    if (fd >= 0 && write(fd, "0", 1) == 1)
        layout_functions = mmap(NULL, MOST_FUNCTIONS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_LOCKED, -1, 0);
    if (fd < 0 || layout_functions == MAP_FAILED)
        layout_functions = NULL;
    close(fd);
}

static void keep_function(uint64_t address, char type, const char *name)
{
    char *at = layout_functions + layout_functions_bytes;
    size_t room = MOST_FUNCTIONS_BYTES - layout_functions_bytes;
    int length;

    if (!layout_functions || !strchr("tTwW", type))
        return;
    length = snprintf(at, room, "%lx %s\n", address, name);
    if (length > 0 && (size_t)length < room)
        layout_functions_bytes += length;
}

static void find_symbols(struct sc_guest *guest)
{
    FILE *symbols = fopen("/proc/kallsyms", "re");
    char line[512], name[256];
    uint64_t address;
    char type;

    if (!symbols)
        fail("a kernel without /proc/kallsyms");
    make_room();
    while (fgets(line, sizeof line, symbols) && !strchr(line, '['))
        if (sscanf(line, "%lx %c %255s", &address, &type, name) == 3) {
            find_symbol(guest, address, name);
            keep_function(address, type, name);
        }
    fclose(symbols);
    if (!guest->switch_to || !guest->entry_count)
        fail("a kernel whose /proc/kallsyms has no __switch_to_asm");
}

void layout_find(struct sc_guest *guest)
{
    find_fields(guest);
    find_symbols(guest);
}

static int put_number(const char *path, long number)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    int is_put = fd >= 0 && dprintf(fd, "%ld\n", number) > 0;

    close(fd);
    return is_put;
}

/* base_slice_ns from Linux 6.6 on. A task that wakes up may preempt as soon as it would by itself. */
int layout_set_slice(long nanoseconds)
{
    if (put_number("/sys/kernel/debug/sched/base_slice_ns", nanoseconds))
        return 0;
    return put_number("/sys/kernel/debug/sched/latency_ns", nanoseconds)
        && put_number("/sys/kernel/debug/sched/min_granularity_ns", nanoseconds) ? 0 : -1;
}
