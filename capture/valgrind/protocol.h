/* Data that a traced process and the controller share. SPDX-License-Identifier: GPL-2.0-or-later OR MIT OR Apache-2.0

   The data is one memory file, mapped by the controller (Rust, crates/capture) and by every traced process (the tool).
   All numbers are little-endian; every u32 called a futex is waited on with FUTEX_WAIT (not private).

   header | task slots | buffer infos | buffers (each buffer_words * 8 bytes, page aligned) */
#ifndef SWITCHCOST_PROTOCOL_H
#define SWITCHCOST_PROTOCOL_H

#define SC_MAGIC 0x6563617274637331ULL /* "1sctrace" */
#define SC_VERSION 13

/* How tasks share the CPU. */
#define SC_SCHEDULED 0 /* one task at a time, which the controller chooses */
#define SC_AS_RUN 1    /* as the kernel schedules them on one CPU; runs are ordered by time stamps */
/* as the kernel of a guest schedules them; capture/qemu is the only writer, and no slot is used */
#define SC_SYSTEM 2

struct sc_header { /* at offset 0 */
    ULong magic;
    UInt version;
    UInt mode;
    /* 0 if tasks cannot see it: the kernel then ends them with the first process of their namespace */
    UInt controller_pid;
    UInt slots;        /* number of task slots */
    UInt buffers;      /* number of buffers */
    UInt buffer_words; /* words in each buffer */
    ULong slots_offset;
    ULong infos_offset;
    ULong buffers_offset;
    ULong total_bytes;
    /* futex: a task adds 1 after each change of its state, and in as-run captures after each submitted buffer */
    UInt doorbell;
    UInt controller_sleeps; /* nonzero: who adds 1 to `doorbell` must also FUTEX_WAKE it */
    /* futex: the consumer adds 1 after it has freed a buffer, and wakes all waiters if that is worth it */
    UInt freed;
    UInt unused;
    UInt is_closing;      /* nonzero: the capture ends, and each task must exit at once */
    UInt fault;           /* nonzero: a task cannot continue; SC_FAULT_* */
    ULong next_order;     /* order of the next submitted buffer, from 0; incremented atomically */
    ULong current_buffer; /* scheduled: the buffer that the running task writes; (ULong)-1 for none */
    /* scheduled: words in the current buffer; stored here while no task runs, and for the controller */
    ULong current_words;
    ULong fault_detail;
    UInt is_alone;        /* scheduled: nonzero while there is a single task, whose time slice does not end */
    UInt is_stopping;     /* nonzero: the running task gives up the CPU as soon as it can, whatever its budget */
    UInt cpu;             /* as run: the only CPU that tasks may run on */
    UInt slots_used;      /* number of the first slot that was never claimed */
    UInt submissions;     /* scheduled, futex: a task that submits a buffer adds 1 */
    UInt consumer_sleeps; /* scheduled: nonzero: who adds 1 to `submissions` must also FUTEX_WAKE it */
    UInt restricted_pid;  /* a process whose seccomp filter is not enforced; 0 for none */
    UInt undecoded_pid;   /* a process that came to an instruction which Valgrind does not know; 0 for none */
    ULong undecoded;      /* first bytes of that instruction */
    UInt tracing_pid;     /* a process that was not permitted to trace another or to be traced; 0 for none */
    UInt namespace_pid;   /* a process that was not permitted a new PID namespace; 0 for none */
    UInt rights_pid;      /* a process that was not permitted to execute a program with additional rights; 0 for none */
    UInt unused_too;
    ULong reserved[9];
};

#define SC_FAULT_SLOTS 1 /* no free task slot */
#define SC_FAULT_RSEQ 2  /* as run: the kernel cannot register a restartable sequence; detail: its error number */
#define SC_FAULT_CPU 3   /* as run: a task runs on another CPU; detail: that CPU */

/* States of a task. The controller writes SC_FREE and SC_GRANTED, the task writes the others. As run, the task also
   writes SC_GRANTED. */
#define SC_FREE 0
#define SC_CLAIMED 1    /* the task is filling in the fields of its slot */
#define SC_QUEUED 2     /* the task wants the CPU, and waits for `grant` */
#define SC_GRANTED 3    /* the task runs client code */
#define SC_IN_SYSCALL 4 /* the task is in the kernel, and may be blocked */
#define SC_ENDED 5      /* the task has ended; the controller frees the slot */

/* Reasons why a task is in state SC_QUEUED. */
#define SC_WHY_BORN 0
#define SC_WHY_EXECED 1
#define SC_WHY_QUANTUM 2
#define SC_WHY_SYSCALL 3 /* the task has returned from slot.syscall */
#define SC_WHY_SLEPT 4   /* the task has returned from slot.syscall, and has slept in it */

struct sc_slot { /* 128 bytes */
    UInt state;
    UInt grant; /* futex: the controller sets 1; the task sets 0 when it continues */
    UInt pid;
    UInt tid;    /* the kernel's thread ID; 0 after another task has taken it */
    UInt parent; /* slot of the parent, (UInt)-1 for a command of the user */
    UInt why;
    UInt syscall;      /* number of the system call that the task is in, or was in last */
    UInt process_slot; /* slot of the first task of the same process; for that task, its own */
    /* instructions that the task may still execute; set by the controller for a time slice, updated by the task */
    Long budget;
    ULong open_stamp; /* as run: a lower limit for the start of the present run; 0 without a run */
    /* as run: SC_COUNTS since the task left for a system call, | 1, from the return until the next call; else 0 */
    ULong back;
    ULong
        /* always 0: the tool does not report the futex of Valgrind's lock */
        lock_address;
    ULong voluntary; /* as run: the kernel's counts when the task last looked */
    ULong involuntary;
    /* nonzero: the task is creating another one (fork, clone) that has not queued up yet; not used as run */
    UInt is_making;
    UInt unused;
    ULong reserved[5];
};

/* Number of switches of a task, as counted by the kernel. */
#define SC_COUNTS(voluntary, involuntary) (((voluntary) & 0xffffff) << 8 | (involuntary) << 32)

/* States of a buffer. */
#define SC_EMPTY 0
#define SC_HELD 1 /* a task writes into it (claimed by compare-and-swap) */
#define SC_FULL 2 /* submitted; the consumer sets SC_EMPTY when it has read it */

struct sc_info { /* 32 bytes */
    UInt state;
    UInt slot;   /* slot of the task that holds or has submitted the buffer */
    ULong words; /* words written */
    ULong order; /* from header.next_order; (ULong)-1 before the buffer has an order */
    ULong stamp; /* as run: time stamp of the run to which the first word belongs */
};

/* Words of a buffer. The top byte is the tag. No record crosses the end of a buffer.

   SC_BLOCK: the blocks of a shape ran. Bits 31..0 are the ID, never 0, of a shape that the same process has defined
   before. (A forked child has the shapes that its parent had at the fork; an exec starts without shapes.) Bits 39..32
   are the number of address words that follow: one for each reference of the shape whose address is explicit. The word
   of a guarded reference that did not happen is SC_NOT_DONE.

   All other tags: bits 55..48 are the number of words that follow, bits 47..0 an immediate value (imm). */
#define SC_TAG(word) ((word) >> 56)
#define SC_BLOCK 0x00ULL
#define SC_EXPLICIT_OF(head) ((UInt)((head) >> 32) & 0xff)
#define SC_NOT_DONE 0xffffffffffffffffULL

/* Defines a shape: one or more blocks that run one after the other. imm: ID | number of blocks << 32. words: for
   each block two words, address, and bytes | instructions << 16 | first_bytes << 32 | is_kernel << SC_KERNEL_BIT |
   references << 48; then for each reference of all blocks one word, offset in the block of the last byte of its
   instruction | size << 16 | is_store << 32 | is_update << 33 (a store to the address from which the same
   instruction has just loaded: Cachegrind counts both as one load) | how << 34 | base << 40; then for each reference
   whose address is derived one word, the address (SC_FIXED), or its constant distance from the address of reference
   number `base` of the shape, which is an earlier explicit one (SC_RELATIVE); then, if there is room, the code of
   each block, padded with 0 to whole words. */
#define SC_EXPLICIT 0ULL
#define SC_FIXED 1ULL
#define SC_RELATIVE 2ULL
#define SC_GUARDED 3ULL /* explicit, or SC_NOT_DONE */
#define SC_DEFINE 0x02ULL
#define SC_KERNEL_BIT 47
/* Number of explicit addresses of a shape that the consumer reads at a time, into one vector register. Shapes should
   not have more, but the format permits it. */
#define SC_LANES 4
/* imm: number of the system call */
#define SC_SYSCALL_ENTER 0x03ULL
#define SC_SYSCALL_EXIT 0x04ULL
/* The kernel touches user memory. words: address; bytes | is_store << 63 */
#define SC_KERNEL_TOUCH 0x05ULL
/* A switch, written by the controller, or as the kernel of a guest makes it. words: from slot << 32 | to slot;
   is_voluntary | cause << 8 | syscall << 16. A slot is (UInt)-1 for none. Causes: 0 syscall, 1 page fault, 2
   quantum, 3 wake-up, 4 interrupt, 5 exit, 6 unknown. */
#define SC_SWITCH 0x06ULL
/* Birth of a task, written by the task when it first runs. imm: its slot. words: parent slot << 32 | process slot;
   pid << 32 | tid; length of the name; the name, padded with 0 */
#define SC_BIRTH 0x07ULL
/* An exec. imm: slot of the task. words: length of the name; the name */
#define SC_EXEC 0x08ULL
/* End of a task. imm: its slot */
#define SC_EXIT 0x09ULL
/* A file is mapped. words: start; bytes; offset; is_executable | length of build ID << 8 | length of path << 16;
   build ID; path; both padded with 0 */
#define SC_MAP 0x0aULL
/* A range is unmapped. words: start; bytes */
#define SC_UNMAP 0x0bULL
/* As run: a run begins, always in a new buffer. imm: 0. words: time stamp; SC_COUNTS since the task left for a
   system call; SC_COUNTS while the task waited for an empty buffer */
#define SC_STAMP 0x0cULL
/* Scheduled: birth of a task, written by the controller after the task has claimed its slot and before its parent
   continues: the moment of the fork. imm: its slot. words: parent slot << 32 | process slot; pid << 32 | tid */
#define SC_BORN 0x0dULL
/* As run: a run ends. imm: SC_LEFT_*. words: SC_COUNTS of the switches that ended the run, as far as the task knows
   them */
#define SC_LEAVE 0x0eULL
#define SC_LEFT_SYSCALL 0ULL   /* the task enters the kernel and may block; its next SC_STAMP has the counts */
#define SC_LEFT_PREEMPTED 1ULL /* the kernel took the CPU away; the task reports it when it runs again */
#define SC_LEFT_WAITING 2ULL   /* the task waits for an empty buffer */
#define SC_LEFT_LOCK 3ULL      /* another thread of the process has Valgrind's lock */
#define SC_LEFT_ENDED 4ULL
/* As run: the running task creates another one. A process inherits its parent's present state. The new task exists
   from its own SC_BIRTH on; SC_EXIT means that it could not be created. imm: its slot. words: parent slot << 32 |
   process slot */
#define SC_FORK 0x0fULL
/* Physical address of a page of the running process or of the kernel. imm: 0. words: virtual address; physical
   address; bytes */
#define SC_PAGE 0x10ULL

#endif
