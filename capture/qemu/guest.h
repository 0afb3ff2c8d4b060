/* Data that the first process of the guest passes to the plugin. SPDX-License-Identifier: GPL-2.0-or-later OR MIT OR
   Apache-2.0

   The guest executes the instruction `movabs $SC_SIGNAL + kind, %rax`, and then an instruction that stores to a
   struct sc_guest or sc_said. The plugin sees both instructions when it translates them, and finds the struct, which
   lies in one page, in the guest's memory. */
#ifndef SWITCHCOST_GUEST_H
#define SWITCHCOST_GUEST_H

#include <stdint.h>

#define SC_SIGNAL 0x5343475545535400ULL /* "\0TSEUGCS" */
#define SC_GUEST_ARM 1   /* the layout is known: look out for the next switches, to learn which task this is */
#define SC_GUEST_BEGIN 2 /* record from here on */
#define SC_GUEST_END 3   /* no longer */
#define SC_GUEST_SAYS \
    4 /* at any time but while recording: a part of its report, which the plugin writes to QEMU's standard output */

/* Addresses at which the kernel is entered, and the purpose of each. */
#define SC_ENTRY_EXCEPTION 1      /* without an error code */
#define SC_ENTRY_EXCEPTION_CODE 2 /* with one */
#define SC_ENTRY_PAGE_FAULT 3
#define SC_ENTRY_INTERRUPT 4
#define SC_ENTRY_TIMER 5
#define SC_ENTRY_SYSCALL 6

#define SC_MOST_ENTRIES 96

struct sc_guest_entry {
    uint64_t address;
    uint64_t kind;
};

/* Offsets, by the kernel's BTF, that lead from an address to its file. */
struct sc_mapping_layout {
    uint32_t is_known;
    uint32_t tree;                          /* in struct mm_struct: the root of the areas */
    uint32_t start, end, page, file, flags; /* in struct vm_area_struct */
    uint32_t entry;                         /* in struct file: its struct dentry */
    uint32_t parent, name;                  /* in struct dentry */
};

struct sc_guest {
    uint64_t signal;    /* where the store goes */
    uint64_t switch_to; /* address of __switch_to_asm */
    /* Offsets in struct task_struct, by the kernel's BTF. */
    uint32_t sp, state, pid, tgid, comm, mm, active_mm, real_parent, nvcsw, nivcsw;
    /* In struct mm_struct. */
    uint32_t pgd, unused;
    struct sc_mapping_layout mappings;
    uint64_t entry_count;
    struct sc_guest_entry entries[SC_MOST_ENTRIES];
};

struct sc_said {
    uint64_t signal; /* where the store goes */
    uint64_t bytes;
    char text[4096 - 16];
};

#endif
