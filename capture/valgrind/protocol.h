/* Data that a traced process and the controller share. SPDX-License-Identifier: GPL-2.0-or-later OR MIT OR Apache-2.0

   The data is one memory file, mapped by the controller (Rust, crates/capture) and by every traced process (the tool).
   All numbers are little-endian; every u32 called a futex is waited on with FUTEX_WAIT (not private).

   header | task slots | buffer infos | buffers (each buffer_words * 8 bytes, page aligned) */
#ifndef SWITCHCOST_PROTOCOL_H
#define SWITCHCOST_PROTOCOL_H

#define SC_MAGIC 0x6563617274637331ULL /* "1sctrace" */
#define SC_VERSION 13

/* Ways in which tasks share the CPU. */
#define SC_SCHEDULED 0 /* one at a time, when the controller grants it */
#define SC_AS_RUN 1    /* as the kernel runs them on one CPU; runs are ordered by time stamps */
#define SC_SYSTEM 2    /* as the kernel of a guest runs them; one writer, that of capture/qemu, and no slot is used */

struct sc_header { /* at offset 0 */
    ULong magic;
    UInt version;
    UInt mode;
    UInt controller_pid; /* 0 where tasks do not see it: the kernel then ends them with the first of their namespace */
    UInt slots;          /* number of task slots */
    UInt buffers;        /* number of buffers */
    UInt buffer_words;   /* words in each */
    ULong slots_offset;
    ULong infos_offset;
    ULong buffers_offset;
    ULong total_bytes;
    UInt doorbell; /* futex: any task adds 1 after a change of state; as run, after it submitted a buffer, too */
    UInt controller_sleeps; /* nonzero: a ring of the doorbell must FUTEX_WAKE it */
    UInt freed;             /* futex: the consumer adds 1 after it freed a buffer, and wakes all where it is worth it */
    UInt unused;
    UInt is_closing;      /* nonzero: run on untraced is not possible; exit at once */
    UInt fault;           /* nonzero: a task found that it cannot go on; SC_FAULT_* */
    ULong next_order;     /* order of the next submitted buffer, from 0; atomic add */
    ULong current_buffer; /* scheduled: the buffer that the running task writes, (ULong)-1 for none */
    ULong current_words;  /* scheduled: words in it so far; kept here while no task runs, and for the controller */
    ULong fault_detail;
    UInt is_alone;        /* scheduled: nonzero while there is one task: its turn does not end */
    UInt is_stopping;     /* nonzero: who runs gives the CPU up as soon as it can, whatever its budget */
    UInt cpu;             /* as run: the only CPU that tasks may run on */
    UInt slots_used;      /* slots from here on were never claimed */
    UInt submissions;     /* scheduled: futex: who submits a buffer adds 1 */
    UInt consumer_sleeps; /* scheduled: nonzero: who submits must FUTEX_WAKE it */
    UInt restricted_pid;  /* a process whose seccomp filter is not in force; 0 for none */
    UInt undecoded_pid;   /* a process that came to an instruction that Valgrind does not know; 0 for none */
    ULong undecoded;      /* the first bytes of that instruction */
    UInt tracing_pid;     /* a process that was refused to trace another, or to be traced; 0 for none */
    UInt namespace_pid;   /* a process that was refused a namespace of processes; 0 for none */
    UInt rights_pid;      /* a process that was refused a program with rights that it has not; 0 for none */
    UInt unused_too;
    ULong reserved[9];
};

#define SC_FAULT_SLOTS 1 /* no free task slot */
#define SC_FAULT_RSEQ 2  /* as run: the kernel registers no restartable sequence; detail: its error number */
#define SC_FAULT_CPU 3   /* as run: a task runs on another CPU; detail: that one */

/* States of a task, written by the task (SC_FREE and SC_GRANTED are written by the controller). */
#define SC_FREE 0
#define SC_CLAIMED 1    /* its facts are being filled in */
#define SC_QUEUED 2     /* wants the CPU, waits for `grant` */
#define SC_GRANTED 3    /* runs client code */
#define SC_IN_SYSCALL 4 /* in the kernel, perhaps blocked */
#define SC_ENDED 5      /* will not come back; the controller frees the slot */

/* Reasons for which a task is in SC_QUEUED. */
#define SC_WHY_BORN 0
#define SC_WHY_EXECED 1
#define SC_WHY_QUANTUM 2
#define SC_WHY_SYSCALL 3 /* has come back from slot.syscall */
#define SC_WHY_SLEPT 4   /* the same, in which it has slept */

struct sc_slot { /* 128 bytes */
    UInt state;
    UInt grant; /* futex: the controller sets 1; the task sets 0 when it goes on */
    UInt pid;
    UInt tid;    /* the kernel's; 0 once another has it */
    UInt parent; /* slot of the parent, (UInt)-1 for a command of the user */
    UInt why;
    UInt syscall;      /* number, in SC_IN_SYSCALL and behind it */
    UInt process_slot; /* slot of the first task of the same process: its own unless it is a thread */
    Long budget; /* instructions that it may still execute; set by the controller at a new turn, kept up by the task */
    ULong open_stamp; /* as run: its present run began no earlier; 0 without one */
    ULong back; /* as run: from its return from a system call on until its next, SC_COUNTS since it left | 1; else 0 */
    ULong
        lock_address; /* where its threads wait for the tool's own lock (0 unknown): a futex wait that is no client's */
    ULong voluntary;  /* as run: the kernel's counts at its last look */
    ULong involuntary;
    UInt is_making; /* nonzero: it makes a task (fork, clone) that has not queued up; as run: of no meaning */
    UInt unused;
    ULong reserved[5];
};

/* Switches of a task that the kernel has counted. */
#define SC_COUNTS(voluntary, involuntary) (((voluntary) & 0xffffff) << 8 | (involuntary) << 32)

/* States of a buffer. */
#define SC_EMPTY 0
#define SC_HELD 1 /* a task writes it (claimed by compare-and-swap) */
#define SC_FULL 2 /* submitted; the consumer sets SC_EMPTY when it has read it */

struct sc_info { /* 32 bytes */
    UInt state;
    UInt slot;   /* who holds or submitted it */
    ULong words; /* words in use */
    ULong order; /* from header.next_order; (ULong)-1 until it is drawn */
    ULong stamp; /* as run: time stamp of the run that its first word belongs to */
};

/* Words of a buffer. The top byte is the tag; no record crosses the end of a buffer.

   SC_BLOCK: the blocks of a shape ran. Bits 31..0 are the id, never 0, of one defined before by the same process (a forked
   child has its parent's shapes of the moment of the fork; an exec starts anew), bits 39..32 the number of address words
   that follow: one for each reference of the shape whose address is explicit; that of a guarded reference that did not happen
   is SC_NOT_DONE.

   Every other tag: bits 55..48 are the number of words that follow, bits 47..0 an immediate value. */
#define SC_TAG(word) ((word) >> 56)
#define SC_BLOCK 0x00ULL
#define SC_EXPLICIT_OF(head) ((UInt)((head) >> 32) & 0xff)
#define SC_NOT_DONE 0xffffffffffffffffULL

/* imm: id | blocks << 32. A shape is one or more blocks that run one after the other. words, for each of these: address;
   bytes | instructions << 16 | first_bytes << 32 | is_kernel << SC_KERNEL_BIT | references << 48; then, for all together, a word a reference: offset in
   its block of its instruction's last byte | size << 16 | is_store << 32 | is_update << 33 (a store by the same
   instruction to where it has just loaded from: Cachegrind counts the two as one load) | how << 34 | base << 40; then
   a word for each reference whose address is derived: the address itself (SC_FIXED), or how far it always lies behind that
   of reference number `base` of the shape, an explicit one before it (SC_RELATIVE); then, where there is room, the code of each
   block, padded with 0 to whole words. */
#define SC_EXPLICIT 0ULL
#define SC_FIXED 1ULL
#define SC_RELATIVE 2ULL
#define SC_GUARDED 3ULL /* explicit, and perhaps SC_NOT_DONE */
#define SC_DEFINE 0x02ULL
#define SC_KERNEL_BIT 47
/* Number of explicit addresses of a shape that the consumer takes at a time, in one vector register; shapes have no
   more of them if possible. This is not a rule of the format. */
#define SC_LANES 4
/* imm: number */
#define SC_SYSCALL_ENTER 0x03ULL
#define SC_SYSCALL_EXIT 0x04ULL
/* words: address; bytes | is_store << 63 */
#define SC_KERNEL_TOUCH 0x05ULL
/* By the controller, or as the kernel of a guest does it. words: from slot << 32 | to slot; is_voluntary | cause << 8 | syscall << 16.
   A slot is (UInt)-1 for none. Causes: 0 syscall, 1 page fault, 2 quantum, 3 wake-up, 4 interrupt, 5 exit, 6 unknown. */
#define SC_SWITCH 0x06ULL
/* By a new task when it first runs. imm: its slot. words: parent slot << 32 | process slot; pid << 32 | tid;
   length of the name; the name, padded with 0 */
#define SC_BIRTH 0x07ULL
/* imm: its slot. words: length of the name; the name */
#define SC_EXEC 0x08ULL
/* imm: its slot */
#define SC_EXIT 0x09ULL
/* words: start; bytes; offset; is_executable | length of build id << 8 | length of path << 16; build id; path; each padded */
#define SC_MAP 0x0aULL
/* words: start; bytes */
#define SC_UNMAP 0x0bULL
/* As run: a run begins, always in a buffer of its own. imm: 0. words: time stamp; SC_COUNTS since it left for a system
   call; SC_COUNTS while it waited for an empty buffer */
#define SC_STAMP 0x0cULL
/* Scheduled, by the controller, when a task has claimed its slot and before its parent goes on: the moment of the fork.
   imm: its slot. words: parent slot << 32 | process slot; pid << 32 | tid */
#define SC_BORN 0x0dULL
/* As run: a run ends. imm: why. words: SC_COUNTS of switches that ended it, as far as they are known here */
#define SC_LEAVE 0x0eULL
#define SC_LEFT_SYSCALL 0ULL   /* enters the kernel, where it may block: its next stamp says what came of it */
#define SC_LEFT_PREEMPTED 1ULL /* the kernel took the CPU away: reported by the task itself when it has it again */
#define SC_LEFT_WAITING 2ULL   /* waits for an empty buffer */
#define SC_LEFT_LOCK 3ULL      /* another thread of the process has Valgrind's lock */
#define SC_LEFT_ENDED 4ULL
/* As run: the running task makes another, which has this slot and, as a process, what its parent has now. It is not
   there before its own SC_BIRTH; SC_EXIT says that it will not come. imm: its slot. words: parent slot << 32 | process slot */
#define SC_FORK 0x0fULL
/* A page of the running process, or one of the kernel's, lies in physical memory. imm: 0. words: virtual address; physical address; bytes */
#define SC_PAGE 0x10ULL

#endif
