/* Finds out how the kernel was entered, and when it is left. QEMU does not report the processor's own accesses at an
   entry, so the values that the processor has pushed are read from the guest's memory. GPL-2.0-or-later, see
   ../valgrind/COPYING. */
#include <string.h>

#include "plugin.h"

/* Number of bytes from the start of entry_SYSCALL_64 within which the number of the system call is pushed. */
#define LONGEST_ENTRY 256
#define PUSH_RAX 0x50
/* Number of bytes from the start of an exception's entry within which something is pushed, after endbr64, clac and
   cld. */
#define FIRST_PUSH 12

static struct sc_guest_entry known[SC_MOST_ENTRIES];
static size_t known_count;
static uint64_t call_entry;

void entries_know(const struct sc_guest *guest)
{
    known_count = guest->entry_count < SC_MOST_ENTRIES ? guest->entry_count : SC_MOST_ENTRIES;
    memcpy(known, guest->entries, known_count * sizeof *known);
    for (size_t index = 0; index < known_count; index++)
        if (known[index].kind == SC_ENTRY_SYSCALL)
            call_entry = known[index].address;
}

static uint64_t kind_of(uint64_t address)
{
    for (size_t index = 0; index < known_count; index++)
        if (known[index].address == address)
            return known[index].kind;
    return 0;
}

static bool is_exception(uint64_t kind)
{
    return kind == SC_ENTRY_EXCEPTION || kind == SC_ENTRY_EXCEPTION_CODE || kind == SC_ENTRY_PAGE_FAULT;
}

bool entries_is_exception(uint64_t address)
{
    return is_exception(kind_of(address));
}

static void enter(uint8_t kind, uint16_t number)
{
    struct entries *entries = switches_entries();

    if (entries->depth < MOST_ENTRIES)
        entries->of[entries->depth] = (struct entry){ .kind = kind, .number = number };
    entries->depth++;
}

static void on_entry(unsigned cpu, void *kind)
{
    (void)cpu;
    enter((uintptr_t)kind, 0);
}

/* Handles the first access in the entry of an exception. The access is a push directly below the words that the
   processor has pushed: the address of the faulting instruction, after the error code, if there is one. */
static void on_first_push(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *kind)
{
    uint64_t physical, instruction;

    (void)cpu;
    if (!paths_is_interrupted)
        return;
    physical = 0;
    if (!qemu_plugin_mem_is_store(info) || !physical_of(info, address, &physical)
        || !memory_read(physical + ((uintptr_t)kind == SC_ENTRY_EXCEPTION ? 8 : 16), &instruction, sizeof instruction))
        instruction = 0;
    paths_cut_before(instruction);
}

static void on_number(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
    uint64_t physical, number;

    (void)cpu;
    (void)data;
    if (physical_of(info, address, &physical) && memory_read(physical, &number, sizeof number)) {
        enter(SC_ENTRY_SYSCALL, number);
        switches_note(SC_SYSCALL_ENTER, number & 0xffff, NULL, 0);
    }
}

/* Whether a system call changes mappings: mmap, mprotect, munmap, mremap, shmat, shmdt, remap_file_pages. execve is
   left out, because it makes another address space. */
static bool changes_mappings(uint16_t number)
{
    static const uint16_t changing[] = { 9, 10, 11, 25, 30, 67, 216 };

    for (size_t index = 0; index < sizeof changing / sizeof *changing; index++)
        if (changing[index] == number)
            return true;
    return false;
}

static void on_return(unsigned cpu, void *data)
{
    struct entries *entries = switches_entries();

    (void)cpu;
    (void)data;
    if (entries->depth > 0)
        entries->depth--;
    if (entries->depth > 0)
        return;
    if (entries->of[0].kind == SC_ENTRY_SYSCALL && changes_mappings(entries->of[0].number))
        mappings_changed();
    switches_return();
    if (entries->of[0].kind == SC_ENTRY_SYSCALL)
        switches_note(SC_SYSCALL_EXIT, entries->of[0].number, NULL, 0);
    entries->of[0].kind = 0;
}

/* Returns the kind of the entry in whose first bytes an address lies. */
static uint64_t kind_near(uint64_t address)
{
    for (uint64_t start = address; address - start < FIRST_PUSH; start--)
        if (kind_of(start))
            return kind_of(start);
    return 0;
}

static void watch_start(struct qemu_plugin_insn *insn, uint64_t address)
{
    uint64_t kind = kind_of(address), near = kind_near(address);

    if (kind != 0 && kind != SC_ENTRY_SYSCALL)
        qemu_plugin_register_vcpu_insn_exec_cb(insn, on_entry, QEMU_PLUGIN_CB_NO_REGS, (void *)(uintptr_t)kind);
    if (is_exception(near))
        qemu_plugin_register_vcpu_mem_cb(insn, on_first_push, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                         (void *)(uintptr_t)near);
}

static bool is_return(const uint8_t *bytes, size_t length)
{
    static const uint8_t iretq[] = { 0x48, 0xcf }, sysretq[] = { 0x48, 0x0f, 0x07 };

    return (length == sizeof iretq && memcmp(bytes, iretq, sizeof iretq) == 0)
           || (length == sizeof sysretq && memcmp(bytes, sysretq, sizeof sysretq) == 0);
}

void entries_watch(struct qemu_plugin_tb *tb)
{
    size_t count = qemu_plugin_tb_n_insns(tb);

    if (!(qemu_plugin_tb_vaddr(tb) >> 63))
        return;
    for (size_t index = 0; index < count; index++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, index);
        uint64_t address = qemu_plugin_insn_vaddr(insn);
        uint8_t bytes[16];
        size_t length = code_bytes(insn, bytes, sizeof bytes);
        watch_start(insn, address);
        if (is_return(bytes, length))
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_return, QEMU_PLUGIN_CB_NO_REGS, NULL);
        if (address - call_entry < LONGEST_ENTRY && length == 1 && bytes[0] == PUSH_RAX)
            qemu_plugin_register_vcpu_mem_cb(insn, on_number, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, NULL);
    }
}
