/* Data that the first process of the guest passes to the plugin. SPDX-License-Identifier: GPL-2.0-or-later OR MIT OR
   Apache-2.0

   The guest executes the instruction `movabs $SC_SIGNAL + kind, %rax`, and then an instruction that stores to a
   struct sc_guest or sc_said. The plugin sees both instructions when it translates them, and finds the struct, which
   lies in one page, in the guest's memory. */
#ifndef SWITCHCOST_GUEST_H
#define SWITCHCOST_GUEST_H

#include <stdint.h>

#define SC_SIGNAL 0x5343475545535400ULL /* "\0TSEUGCS" */
#define SC_GUEST_ARM 1                  /* the layout is known; the next switches show which task this process is */
#define SC_GUEST_BEGIN 2                /* recording begins here */
#define SC_GUEST_END 3                  /* recording ends here */
#define SC_GUEST_SAYS \
    4 /* outside the recording: a part of the guest's report, which the plugin writes to QEMU's standard output */

/* Addresses at which the kernel is entered, with the kind of each. */
#define SC_ENTRY_EXCEPTION 1      /* exception without an error code */
#define SC_ENTRY_EXCEPTION_CODE 2 /* exception with an error code */
#define SC_ENTRY_PAGE_FAULT 3
#define SC_ENTRY_INTERRUPT 4
#define SC_ENTRY_TIMER 5
#define SC_ENTRY_SYSCALL 6

#define SC_MOST_ENTRIES 96

struct sc_guest_entry {
    uint64_t address;
    uint64_t kind;
};

/* Offsets, from the kernel's BTF, that lead from an address to its file. */
struct sc_mapping_layout {
    uint32_t is_known;
    uint32_t tree;                          /* in struct mm_struct: the root of the tree of areas */
    uint32_t start, end, page, file, flags; /* in struct vm_area_struct */
    uint32_t entry;                         /* in struct file: its struct dentry */
    uint32_t parent, name;                  /* in struct dentry */
};

struct sc_guest {
    uint64_t signal;    /* the store that follows the signal goes here */
    uint64_t switch_to; /* address of __switch_to_asm */
    /* Offsets in struct task_struct, from the kernel's BTF. */
    uint32_t sp, state, pid, tgid, comm, mm, active_mm, real_parent, nvcsw, nivcsw;
    /* Offset in struct mm_struct. */
    uint32_t pgd, unused;
    struct sc_mapping_layout mappings;
    uint64_t entry_count;
    struct sc_guest_entry entries[SC_MOST_ENTRIES];
};

struct sc_said {
    uint64_t signal; /* the store that follows the signal goes here */
    uint64_t bytes;
    char text[4096 - 16];
};

#endif
