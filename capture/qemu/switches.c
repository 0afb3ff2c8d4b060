/* Records the switches that the guest's kernel makes, with both tasks and the cause, and the births, execs and exits
   of tasks. __switch_to_asm stores the stack pointer of the task that leaves and loads that of the task that
   arrives: the two addresses give their task_structs. GPL-2.0-or-later, see ../valgrind/COPYING. */
#include <string.h>

#include "plugin.h"

#define MOST_TASKS 2048 /* as many as the reader has slots */
#define NO_SLOT ((UInt) - 1)
#define NAME_BYTES 16
#define NAME_WORDS (NAME_BYTES / 8)
/* Room for the mappings of about two thousand files, which a process may have when it is first seen. These mappings
   fit into SLACK_WORDS. */
#define MOST_PENDING 24576
/* Maximum length of __switch_to_asm in bytes. */
#define LONGEST_FUNCTION 256
#define NO_MEMORY ((uint64_t)-1)
#define STATE_DEAD 0x80

/* Causes for which a task left the CPU, numbered as in protocol.h. */
enum { CAUSE_SYSCALL, CAUSE_PAGE_FAULT, CAUSE_QUANTUM, CAUSE_WAKE_UP, CAUSE_INTERRUPT, CAUSE_EXIT, CAUSE_UNKNOWN };

struct task {
    uint64_t pointer; /* address of the task_struct; 0 if the slot is free */
    UInt pid;
    uint64_t memory; /* struct mm_struct of the task; 0 for a kernel thread */
    uint32_t space;  /* number of the address space */
    uint64_t voluntary;
    struct entries entries;
};

static struct sc_guest guest;
static struct task tasks[MOST_TASKS];
static UInt tasks_used;
static uint32_t spaces;
static uint64_t leaving;
static uint64_t running;
static struct task *running_task;
static struct entries idle_entries;

static ULong pending[MOST_PENDING];
static UInt pending_words;

void switches_know(const struct sc_guest *known)
{
    guest = *known;
}

static uint64_t read_u64(uint64_t task, UInt offset)
{
    uint64_t word = 0;

    memory_read_kernel(task + offset, &word, sizeof word);
    return word;
}

static UInt read_u32(uint64_t task, UInt offset)
{
    UInt half = 0;

    memory_read_kernel(task + offset, &half, sizeof half);
    return half;
}

static UInt read_name(uint64_t task, ULong *words)
{
    char name[NAME_BYTES] = { 0 };

    memory_read_kernel(task + guest.comm, name, sizeof name - 1);
    words[0] = strlen(name);
    memset(name + words[0], 0, sizeof name - words[0]);
    memcpy(words + 1, name, sizeof name);
    return 1 + (words[0] + 7) / 8;
}

void switches_note(ULong tag, ULong immediate, const ULong *words, UInt count)
{
    if (pending_words + 1 + count > MOST_PENDING)
        ring_fail("more marks than fit between two pieces of code");
    pending[pending_words++] = tag << 56 | (ULong)count << 48 | (immediate & 0xffffffffffffULL);
    for (UInt word = 0; word < count; word++)
        pending[pending_words++] = words[word];
    paths_has_pending = true;
}

void switches_flush(void)
{
    memcpy(stream_cursor, pending, pending_words * sizeof *pending);
    stream_cursor += pending_words;
    pending_words = 0;
    paths_has_pending = false;
}

static UInt slot_at(uint64_t pointer)
{
    for (UInt slot = 0; slot < tasks_used; slot++)
        if (tasks[slot].pointer == pointer)
            return slot;
    return NO_SLOT;
}

static UInt free_slot(void)
{
    UInt slot = slot_at(0);

    if (slot != NO_SLOT)
        return slot;
    if (tasks_used == MOST_TASKS)
        ring_fail("more than 2048 tasks at once");
    return tasks_used++;
}

/* Returns the slot of a living task in the same address space. All kernel threads share one. */
static UInt neighbour_of(UInt slot)
{
    for (UInt other = 0; other < tasks_used; other++)
        if (other != slot && tasks[other].pointer && tasks[other].memory == tasks[slot].memory)
            return other;
    return slot;
}

static UInt task_create(uint64_t pointer)
{
    UInt slot = free_slot(), neighbour, parent;
    ULong words[3 + NAME_WORDS];

    tasks[slot] = (struct task){
        .pointer = pointer,
        .pid = read_u32(pointer, guest.pid),
        .memory = read_u64(pointer, guest.mm),
        .voluntary = read_u64(pointer, guest.nvcsw),
    };
    neighbour = neighbour_of(slot);
    tasks[slot].space = neighbour == slot ? ++spaces : tasks[neighbour].space;
    parent = slot_at(read_u64(pointer, guest.real_parent));
    if (neighbour == slot && parent != NO_SLOT)
        mappings_fork(tasks[parent].space, tasks[slot].space);
    words[0] = (ULong)parent << 32 | neighbour;
    words[1] = (ULong)read_u32(pointer, guest.tgid) << 32 | tasks[slot].pid;
    switches_note(SC_BIRTH, slot, words, 2 + read_name(pointer, words + 2));
    return slot;
}

/* Records the exit of a task. The task's slot is kept until the switch away from the task has been recorded, because
   that switch may be to a task that has no slot yet. The task's memory no longer counts as shared. */
static void task_exit(UInt slot)
{
    switches_note(SC_EXIT, slot, NULL, 0);
    tasks[slot].memory = NO_MEMORY;
}

/* Returns the slot of a task; NO_SLOT for the idle task. If the task was last seen after its exit, its memory may
   already belong to another task. */
static UInt slot_of(uint64_t pointer)
{
    UInt slot = slot_at(pointer);

    if (read_u32(pointer, guest.pid) == 0)
        return NO_SLOT;
    return slot == NO_SLOT ? task_create(pointer) : slot;
}

/* Checks for an exec, which gives the task a new address space, and a new name when the call returns. */
static void look_for_exec(UInt slot)
{
    struct task *task = &tasks[slot];
    uint64_t memory = read_u64(task->pointer, guest.mm);
    ULong words[1 + NAME_WORDS];

    if (memory == 0 || memory == task->memory)
        return;
    task->memory = memory;
    task->space = ++spaces;
    pages_forget();
    switches_note(SC_EXEC, slot, words, read_name(task->pointer, words));
}

/* Discards translations of other address spaces. From QEMU 8 on, a page of code is translated once, whatever its
   addresses in different tasks, and the plugin gets only the first address. So translations are kept for a single
   address space. */
static void translate_for(const struct task *task)
{
    static uint64_t translated;

    if (PLUGIN_VERSION < 2 || !task->memory || task->memory == translated)
        return;
    if (translated)
        flush_translations();
    translated = task->memory;
}

void switches_return(void)
{
    if (!running_task)
        return;
    look_for_exec(running_task - tasks);
    translate_for(running_task);
    mappings_look();
}

uint32_t switches_space(void)
{
    return running_task ? running_task->space : 0;
}

bool switches_has_space(uint32_t space)
{
    for (UInt slot = 0; slot < tasks_used; slot++)
        if (tasks[slot].pointer && tasks[slot].memory != NO_MEMORY && tasks[slot].space == space)
            return true;
    return false;
}

uint64_t switches_memory(void)
{
    return running_task ? read_u64(running, guest.mm) : 0;
}

uint64_t switches_page_tables(void)
{
    return physical_of_kernel(read_u64(read_u64(running, guest.active_mm), guest.pgd));
}

struct entries *switches_entries(void)
{
    return running_task ? &running_task->entries : &idle_entries;
}

static ULong cause_of(const struct entries *entries, bool is_dead, bool is_voluntary)
{
    const struct entry *last;

    if (is_dead)
        return CAUSE_EXIT;
    if (entries->depth == 0 || entries->depth > MOST_ENTRIES)
        return CAUSE_UNKNOWN;
    last = &entries->of[entries->depth - 1];
    switch (last->kind) {
    case SC_ENTRY_SYSCALL:
        return CAUSE_SYSCALL | (ULong)last->number << 8;
    case SC_ENTRY_PAGE_FAULT:
        return CAUSE_PAGE_FAULT;
    case SC_ENTRY_TIMER:
        return is_voluntary ? CAUSE_UNKNOWN : CAUSE_QUANTUM;
    case SC_ENTRY_INTERRUPT:
        return is_voluntary ? CAUSE_UNKNOWN : CAUSE_INTERRUPT;
    default:
        return CAUSE_UNKNOWN;
    }
}

/* Returns the second word of the mark of a switch: its kind and its cause, as the kernel counts them. */
static ULong reason_of(struct task *task, bool is_dead)
{
    uint64_t voluntary = read_u64(task->pointer, guest.nvcsw);
    bool is_voluntary = voluntary != task->voluntary;

    task->voluntary = voluntary;
    return is_voluntary | cause_of(&task->entries, is_dead, is_voluntary) << 8;
}

static void run(UInt slot, uint64_t pointer)
{
    running = pointer;
    running_task = slot == NO_SLOT ? NULL : &tasks[slot];
    pages_forget();
    if (!running_task)
        idle_entries.depth = 0;
    else
        translate_for(running_task);
}

static void switch_to(uint64_t pointer)
{
    UInt from = slot_of(leaving), to;
    bool is_dead = from != NO_SLOT && read_u32(leaving, guest.state) & STATE_DEAD;
    ULong words[2] = { 0, 1 | CAUSE_UNKNOWN << 8 };

    if (from != NO_SLOT) {
        words[1] = reason_of(&tasks[from], is_dead);
        if (is_dead)
            task_exit(from);
    }
    to = slot_of(pointer);
    words[0] = (ULong)from << 32 | to;
    switches_note(SC_SWITCH, 0, words, 2);
    if (is_dead)
        tasks[from].pointer = 0;
    run(to, pointer);
}

static void on_store(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
    (void)cpu;
    (void)data;
    if (qemu_plugin_mem_is_store(info))
        leaving = address - guest.sp;
}

static void on_load(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
    (void)cpu;
    (void)data;
    if (!qemu_plugin_mem_is_store(info))
        switch_to(address - guest.sp);
}

static void on_current(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
    (void)cpu;
    (void)data;
    if (!qemu_plugin_mem_is_store(info))
        running = address - guest.sp;
}

/* Whether an instruction is mov %rsp, sp(%rdi) or mov sp(%rsi), %rsp. sp is the offset in the kernel's BTF. */
static bool is_at_sp(const struct qemu_plugin_insn *insn, uint8_t opcode, uint8_t operands)
{
    uint8_t bytes[16];
    UInt offset;

    if (code_bytes(insn, bytes, sizeof bytes) != 7)
        return false;
    memcpy(&offset, bytes + 3, sizeof offset);
    return bytes[0] == 0x48 && bytes[1] == opcode && bytes[2] == operands && offset == guest.sp;
}

static void watch(struct qemu_plugin_tb *tb, qemu_plugin_vcpu_mem_cb_t store, qemu_plugin_vcpu_mem_cb_t load)
{
    size_t count = qemu_plugin_tb_n_insns(tb);

    for (size_t index = 0; index < count; index++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, index);
        if (qemu_plugin_insn_vaddr(insn) - guest.switch_to >= LONGEST_FUNCTION)
            continue;
        if (store && is_at_sp(insn, 0x89, 0xa7))
            qemu_plugin_register_vcpu_mem_cb(insn, store, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, NULL);
        if (is_at_sp(insn, 0x8b, 0xa6))
            qemu_plugin_register_vcpu_mem_cb(insn, load, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, NULL);
    }
}

void switches_watch(struct qemu_plugin_tb *tb)
{
    watch(tb, on_store, on_load);
}

void switches_watch_current(struct qemu_plugin_tb *tb)
{
    watch(tb, NULL, on_current);
}

/* Begins the recording with the running task. */
void switches_begin(void)
{
    UInt slot;
    ULong words[2];

    if (!running)
        ring_fail("no switch of the guest's before its programs began");
    slot = slot_of(running);
    words[0] = (ULong)NO_SLOT << 32 | slot;
    words[1] = 1 | CAUSE_UNKNOWN << 8;
    switches_note(SC_SWITCH, 0, words, 2);
    run(slot, running);
}
