/* Reports the physical address of each touched page, before its first use in an address space, and again after a
   change. GPL-2.0-or-later, see ../valgrind/COPYING.

   A processor may use cached translations until they are invalidated (Intel's manual, volume 3A, section 4.10.4), so
   code that changes page tables invalidates them. The cache in this file is invalidated by the same instructions, so
   it is never more stale than a processor's. */
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

#define PAGE_BITS 12
#define PAGE (1ULL << PAGE_BITS)
/* Largest part of an access in bytes. Longer accesses come in several parts. */
#define LONGEST_ACCESS 16
#define KERNEL_SPACE 0
/* Bits of an entry of a page table. */
#define IS_PRESENT 1ULL
#define IS_LARGE 0x80ULL
#define WHERE 0x000ffffffffff000ULL

/* Number of 4 KiB pages in a cache of pages whose report is up to date, indexed by the lower bits of their numbers. */
#define NEAR 512
static uint64_t near[NEAR];

struct page {
    uint64_t physical; /* physical address of the requested address */
    uint8_t bits;      /* size of the page, as a power of two */
};

/* A page as it was last reported. */
struct reported {
    uint64_t number; /* number of the page, counted in pages of its size */
    uint64_t physical;
    uint64_t order; /* number of the report; if several cover an address, the latest counts */
    uint32_t space;
    uint8_t bits; /* size of the page, as a power of two; 0 if the entry is free */
};

static const uint8_t sizes[] = { 12, 21, 30 };

#define FIRST_ROOM (1 << 12)
static struct reported *all_reported;
static size_t room, used;
static uint64_t marks;

void pages_forget(void)
{
    memset(near, 0xff, sizeof near);
}

static bool is_near(uint64_t address)
{
    return near[address / PAGE % NEAR] == address / PAGE;
}

/* Walks the page tables of the running task, which also map the kernel's half. Returns false if the address is not
   mapped. */
static bool walk(uint64_t address, struct page *page)
{
    uint64_t table = switches_page_tables(), entry;

    for (uint8_t bits = 39; bits >= PAGE_BITS; bits -= 9) {
        if (!memory_read(table + (address >> bits & 511) * sizeof entry, &entry, sizeof entry) || !(entry & IS_PRESENT))
            return false;
        table = entry & WHERE;
        if (bits == PAGE_BITS || (bits <= 30 && entry & IS_LARGE)) {
            uint64_t within = (1ULL << bits) - 1;
            *page = (struct page){ .physical = (table & ~within) | (address & within), .bits = bits };
            return true;
        }
    }
    return false;
}

static struct reported *slot_for(struct reported *table, size_t slots, uint32_t space, uint64_t number, uint8_t bits)
{
    uint64_t hash = ((number << 8 ^ bits) * 0x9e3779b97f4a7c15ULL ^ space) * 0xbf58476d1ce4e5b9ULL;
    size_t at = (hash ^ hash >> 32) % slots;

    while (table[at].bits && (table[at].number != number || table[at].space != space || table[at].bits != bits))
        at = (at + 1) % slots;
    return &table[at];
}

static bool reported_at(uint32_t space, uint64_t address, uint64_t *physical)
{
    const struct reported *latest = NULL;

    for (size_t size = 0; used > 0 && size < sizeof sizes; size++) {
        const struct reported *reported = slot_for(all_reported, room, space, address >> sizes[size], sizes[size]);
        if (reported->bits && (!latest || reported->order > latest->order))
            latest = reported;
    }
    if (latest)
        *physical = latest->physical | (address & ((1ULL << latest->bits) - 1));
    return latest != NULL;
}

static bool is_kept(const struct reported *reported)
{
    return reported->bits && (reported->space == KERNEL_SPACE || switches_has_space(reported->space));
}

/* Makes a new table when this one is half full. Only pages of address spaces that still exist are copied, so the new
   table is at most a quarter full. */
static void make_room(void)
{
    size_t kept = 0, slots = room ? room : FIRST_ROOM;
    struct reported *table;

    for (size_t at = 0; at < room; at++)
        kept += is_kept(&all_reported[at]);
    if (4 * kept > room)
        slots *= 2;
    table = calloc(slots, sizeof *table);
    if (!table)
        ring_fail("no memory for another page");
    for (size_t at = 0; at < room; at++) {
        const struct reported *reported = &all_reported[at];
        if (is_kept(reported))
            *slot_for(table, slots, reported->space, reported->number, reported->bits) = *reported;
    }
    used = kept;
    free(all_reported);
    all_reported = table;
    room = slots;
}

static void report(uint32_t space, uint64_t address, const struct page *page)
{
    uint64_t within = (1ULL << page->bits) - 1;
    ULong words[3] = { address & ~within, page->physical & ~within, within + 1 };
    struct reported *reported;

    if (2 * (used + 1) > room)
        make_room();
    reported = slot_for(all_reported, room, space, address >> page->bits, page->bits);
    used += !reported->bits;
    *reported = (struct reported){
        .number = address >> page->bits,
        .physical = words[1],
        .order = ++marks,
        .space = space,
        .bits = page->bits,
    };
    paths_record_before(SC_PAGE, words, 3);
}

static void note(uint64_t address, const struct page *page)
{
    uint32_t space = address >> 63 ? KERNEL_SPACE : switches_space();
    uint64_t physical;

    /* The idle task has no user memory. */
    if (!(address >> 63) && space == KERNEL_SPACE)
        return;
    if (!reported_at(space, address, &physical) || physical != page->physical)
        report(space, address, page);
    near[address / PAGE % NEAR] = address / PAGE;
}

/* Reports the page of an access. The physical address comes from QEMU, and overrides that in the page tables: the
   kernel uses other tables to write to its own code. QEMU does not know the size of the page, which comes from the
   tables. */
static void look_for_data(qemu_plugin_meminfo_t info, uint64_t address)
{
    struct page page = { 0 };
    uint64_t physical;
    bool is_mapped;

    if (is_near(address))
        return;
    is_mapped = walk(address, &page);
    if (physical_of(info, address, &physical) && (!is_mapped || physical != page.physical)) {
        page = (struct page){ .physical = physical, .bits = PAGE_BITS };
        is_mapped = true;
    }
    if (is_mapped)
        note(address, &page);
}

static void look_for_code(uint64_t address)
{
    struct page page;

    if (!is_near(address) && walk(address, &page))
        note(address, &page);
}

__attribute__((noinline, cold)) static void touch_slowly(qemu_plugin_meminfo_t info, uint64_t address)
{
    look_for_data(info, address);
    look_for_data(info, address + (1ULL << qemu_plugin_mem_size_shift(info)) - 1);
}

void pages_touch(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *instruction)
{
    if (UNLIKELY(!is_near(address) || address % PAGE > PAGE - LONGEST_ACCESS))
        touch_slowly(info, address);
    paths_touch(cpu, info, address, instruction);
}

/* Reports pages before a piece of code runs. Marks of this code come after those of earlier events. */
void pages_run(unsigned cpu, void *data)
{
    const struct code *code = data;
    uint64_t last = code->address + code->bytes - 1;

    paths_run(cpu, data);
    if (UNLIKELY(!is_near(code->address)))
        look_for_code(code->address);
    if (UNLIKELY(!is_near(last)))
        look_for_code(last);
}

static void on_forgetting(unsigned cpu, void *data)
{
    (void)cpu;
    (void)data;
    pages_forget();
}

/* Whether an instruction invalidates cached translations: a move to a control register, invlpg, invpcid. */
static bool is_forgetting(const uint8_t *bytes, size_t length)
{
    while (length > 0 && (*bytes == 0x66 || (*bytes & 0xf0) == 0x40))
        bytes++, length--;
    if (length < 3 || bytes[0] != 0x0f)
        return false;
    return bytes[1] == 0x22 || (bytes[1] == 0x01 && (bytes[2] & 0x38) == 0x38 && bytes[2] < 0xc0)
           || (bytes[1] == 0x38 && bytes[2] == 0x82);
}

void pages_watch(struct qemu_plugin_tb *tb)
{
    size_t count = qemu_plugin_tb_n_insns(tb);

    for (size_t index = 0; index < count; index++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, index);
        uint8_t bytes[16];
        if (is_forgetting(bytes, code_bytes(insn, bytes, sizeof bytes)))
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_forgetting, QEMU_PLUGIN_CB_NO_REGS, NULL);
    }
}
