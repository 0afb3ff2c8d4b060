/* switchcost: a plugin for QEMU that writes what a whole guest executes, including its kernel, into shared memory.
   SPDX-License-Identifier: GPL-2.0-or-later

   QEMU is started by `switchcost trace --system`, which makes the shared memory (protocol.h) and reads the stream.
   README.md explains how the plugin works and what it counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin.h"

/* Version of QEMU's plugin interface for which this plugin is built. QEMU refuses a version older than it supports,
   or newer than its own. */
EXPORTED int qemu_plugin_version = PLUGIN_VERSION;

static uint64_t stage;
static bool has_pages;

static void on_translation_booting(struct qemu_plugin_tb *tb);

/* Returns the kind of the signal that this instruction begins; 0 if it begins none. */
static uint64_t signal_in(const struct qemu_plugin_insn *insn)
{
    uint8_t bytes[16];
    uint64_t value;

    if (code_bytes(insn, bytes, sizeof bytes) != 10 || bytes[0] != 0x48 || bytes[1] != 0xb8)
        return 0;
    memcpy(&value, bytes + 2, sizeof value);
    return value - SC_SIGNAL <= SC_GUEST_SAYS ? value - SC_SIGNAL : 0;
}

static void on_exit_of_qemu(void)
{
    if (stage == SC_GUEST_BEGIN) {
        paths_end();
        stream_end();
    }
}

static void on_translation_armed(struct qemu_plugin_tb *tb)
{
    switches_watch_current(tb);
    on_translation_booting(tb);
}

static void on_translation_recording(struct qemu_plugin_tb *tb)
{
    struct code *code = code_of(tb, entries_is_exception(qemu_plugin_tb_vaddr(tb)));

    qemu_plugin_register_vcpu_tb_exec_cb(tb, has_pages ? pages_run : paths_run, QEMU_PLUGIN_CB_NO_REGS, code);
    if (qemu_plugin_tb_vaddr(tb) >> 63) {
        entries_watch(tb);
        switches_watch(tb);
        if (has_pages)
            pages_watch(tb);
    } else {
        on_translation_booting(tb);
    }
    for (size_t index = 0; index < code->count; index++)
        if (code->instructions[index].touches != TOUCHES_NOTHING)
            qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, index), has_pages ? pages_touch : paths_touch,
                                             QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, &code->instructions[index]);
}

/* Makes QEMU translate all code again, with the same callbacks. */
static void on_flush(void)
{
    callbacks_at_exit(on_exit_of_qemu);
    callbacks_of_code(on_translation_recording);
}

void flush_translations(void)
{
    if (stage == SC_GUEST_BEGIN)
        callbacks_anew(on_flush);
}

/* Called when QEMU has discarded all code. Code that is translated from here on is observed as the stage requires. */
static void on_reset(void)
{
    callbacks_at_exit(on_exit_of_qemu);
    switch (stage) {
    case SC_GUEST_ARM:
        callbacks_of_code(on_translation_armed);
        break;
    case SC_GUEST_BEGIN:
        stream_begin();
        switches_begin();
        callbacks_of_code(on_translation_recording);
        break;
    }
}

static void forward_output(qemu_plugin_meminfo_t info, uint64_t address)
{
    static struct sc_said said;
    uint64_t physical;

    if (!physical_of(info, address, &physical) || !memory_read(physical, &said, sizeof said)
        || said.bytes > sizeof said.text)
        ring_fail("no readable report of the guest");
    for (size_t done = 0; done < said.bytes;) {
        ssize_t more = write(STDOUT_FILENO, said.text + done, said.bytes - done);
        if (more <= 0)
            ring_fail("no place for what the guest reports");
        done += more;
    }
}

static void on_signal(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *kind)
{
    static struct sc_guest guest;
    uint64_t physical;

    (void)cpu;
    if (!qemu_plugin_mem_is_store(info))
        return;
    if ((uintptr_t)kind == SC_GUEST_SAYS) {
        forward_output(info, address);
        return;
    }
    if ((uintptr_t)kind != stage + 1)
        return;
    if (stage == 0) {
        if (!physical_of(info, address, &physical) || !memory_read(physical, &guest, sizeof guest))
            ring_fail("no readable memory of the guest");
        entries_know(&guest);
        switches_know(&guest);
        mappings_know(&guest);
    }
    stage = (uintptr_t)kind;
    /* There is no reset at the end, because QEMU 7.2 may call callbacks that it has discarded. */
    if (stage == SC_GUEST_END)
        paths_stop();
    else
        callbacks_anew(on_reset);
}

static void on_translation_booting(struct qemu_plugin_tb *tb)
{
    size_t count = qemu_plugin_tb_n_insns(tb);

    for (size_t index = 0; index + 1 < count; index++) {
        uint64_t kind = signal_in(qemu_plugin_tb_get_insn(tb, index));
        if (kind)
            qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, index + 1), on_signal, QEMU_PLUGIN_CB_NO_REGS,
                                             QEMU_PLUGIN_MEM_RW, (void *)(uintptr_t)kind);
    }
}

/* Returns the value of an argument NAME=VALUE; NULL if the argument has another name. */
static const char *value_of(const char *argument, const char *name)
{
    size_t length = strlen(name);

    return strncmp(argument, name, length) == 0 && argument[length] == '=' ? argument + length + 1 : NULL;
}

EXPORTED int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int count, char **arguments);

EXPORTED int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int count, char **arguments)
{
    const char *ring = NULL, *memory = NULL, *value;

    for (int index = 0; index < count; index++) {
        if ((value = value_of(arguments[index], "ring")))
            ring = value;
        else if ((value = value_of(arguments[index], "memory")))
            memory = value;
        else if ((value = value_of(arguments[index], "physical")))
            has_pages = strcmp(value, "on") == 0;
    }
    if (!info->system_emulation || strcmp(info->target_name, "x86_64") != 0 || info->system.smp_vcpus != 1)
        ring_fail("another machine than x86_64 with one CPU");
    if (!ring || !ring_open(ring))
        ring_fail("no ring of this version");
    if (!memory || !memory_open(memory))
        ring_fail("no memory of the guest");
    callbacks_know(id);
    callbacks_of_code(on_translation_booting);
    return 0;
}
