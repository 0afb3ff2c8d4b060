/* Types, and the functions of each file, that the files of the tool share. No two files need each other (`make order`).
   SPDX-License-Identifier: GPL-2.0-or-later

   The files, roughly from the lowest level up: ring.c maps the shared memory and sleeps on it. buffers.c has the
   current buffer and its cursor. tasks.c is the table of tasks. stamps.c is the as-run mode. stream.c writes
   records. shapes.c, origins.c, builder.c and instrument.c turn superblocks into inline writes; hot.c finds the
   superblocks that run most, superblocks.c makes them longer, and liveness.c and exits.c remove work that is mostly
   not needed. lifecycle.c writes how tasks begin and end. turns.c takes and releases the virtual CPU, and sleeps.c
   finds out whether a task has slept in between. syscalls.c and mappings.c report what the kernel does, threads.c
   the births and ends of threads. gathers.c, generated.c, limits.c, execs.c, seccomp.c, tracers.c, namespaces.c,
   rights.c, forks.c, own_files.c and environment.c correct differences between Valgrind and the machine. main.c
   registers the tool. */
#ifndef SWITCHCOST_H
#define SWITCHCOST_H

#include <stddef.h>

#include "pub_tool_basics.h"
#include "libvex_guest_amd64.h"
#include "libvex.h"
#include "libvex_ir.h"
#include "pub_tool_threadstate.h"

#include "protocol.h"

#define NO_SLOT ((UInt) - 1)
#define NO_BUFFER ((ULong) - 1)

/* A client thread of this process, by Valgrind's thread ID. */
struct task {
    UInt slot;          /* NO_SLOT: the thread is not, or is no longer, a task of the controller */
    UInt parent;        /* slot of the thread or process that created this task */
    UInt process_slot;  /* slot of the process's first task */
    Bool has_cpu;       /* holds the virtual CPU; only then may it write to the stream */
    Bool owes_birth;    /* its SC_BIRTH must be written when it first has the CPU */
    Bool is_forked;     /* first task of a forked process, which has not had the CPU yet */
    Bool is_turn_over;  /* must give up the CPU at the next event check */
    Bool is_in_syscall; /* between SC_SYSCALL_ENTER and SC_SYSCALL_EXIT */
    Bool may_wake;      /* another task may continue at this system call */
    Bool has_left;      /* gave up the CPU for this system call */
    Bool has_ended;     /* has ended without the CPU: the task that has the CPU must record it */
    Bool is_for_events; /* a sleep in this system call counts as a switch, however short */
    ULong sleeps;       /* sleeps that the kernel had counted at the entry to the system call */
    UInt syscall;
    /* as run: slot of the process that it is creating, or its own slot before its birth; NO_SLOT for none */
    UInt promised_slot;
    Bool has_lost_birth;          /* as run: the task in `promised_slot` could not be created */
    Bool reads_own_link;          /* is reading the link to its own program in /proc */
    Bool executes_itself;         /* is executing its own program */
    const HChar *const *executed; /* words of the program that it is executing; NULL for none */
};

/* State of generated code in the thread's first shadow register area, which only this tool uses. */
struct live {
    ULong *cursor; /* place of the next head */
    Long budget;   /* instructions left in the time slice, if they are counted */
    ULong *watch;  /* as run: *watch is 0 if the kernel has taken the CPU away */
};

/* Offset of the state from the start of the guest's registers. The state follows the registers. */
#define LIVE_OFFSET ((Int)sizeof(VexGuestAMD64State))
#define CURSOR_OFFSET (LIVE_OFFSET + (Int)offsetof(struct live, cursor))
#define BUDGET_OFFSET (LIVE_OFFSET + (Int)offsetof(struct live, budget))
#define WATCH_OFFSET (LIVE_OFFSET + (Int)offsetof(struct live, watch))

/* ring.c */
extern struct sc_header *ring;
extern struct sc_slot *ring_slots;
extern struct sc_info *ring_infos;
Bool is_as_run(void);
void ring_open(const HChar *path);
void ring_doorbell(void);
void ring_notify_submission(void);
void ring_sleep(UInt *futex, UInt value);
void ring_check_alive(void);
ULong *ring_buffer(ULong index);
UInt ring_claim_slot(UInt parent, UInt process_slot);
void ring_adopt_slot(UInt slot);
void ring_fault(UInt fault, ULong detail);
Bool ring_is_alone(void);
Bool ring_is_stopping(void);
UInt ring_find_execed(void);
void ring_set_state(UInt slot, UInt state);
void ring_queue(UInt slot, UInt why);
void ring_set_making(UInt slot, Bool is_making);
void ring_note_restricted(UInt pid);
void ring_note_tracing(UInt pid);
void ring_note_namespace(UInt pid);
void ring_note_rights(UInt pid);
void ring_note_undecoded(UInt pid, ULong code);

/* buffers.c */
/* Number of words that stay free in the current buffer when a run ends, for records and for the controller's marks. */
#define SLACK_WORDS 2048
extern struct live live;
void buffers_hand_over(void);
void buffers_next(void);
Bool buffers_next_at_once(void);
Long buffers_free_words(void);
void buffers_put(ULong tag, ULong immediate, const ULong *words, UInt count);
void buffers_begin_run(void);
const ULong *buffers_run_start(void);
void buffers_resume(UInt slot);
void buffers_leave(void);
Bool buffers_claim(UInt slot);
void buffers_stamp(ULong stamp);

/* tasks.c */
extern struct task *tasks;
void tasks_make(void);
void tasks_end_process(void);
Bool tasks_is_ending(ThreadId tid);
Bool tasks_is_cpu_held(void);

/* stamps.c */
void stamps_enter(ThreadId tid);
void stamps_leave(ThreadId tid, ULong why);
void stamps_back(ThreadId tid);
void stamps_look(ThreadId tid);
void stamps_stop(ThreadId tid);
void stamps_wait(void);
void stamps_forked(void);
void stamps_new_thread(ThreadId tid);
void stamps_preempted(void);

/* stream.c */
void stream_load(UInt slot, Long instructions);
Long stream_save(void);
Int stream_begin_run(Int most);
const ULong *stream_end_run(void);
UInt stream_shares(UInt words, UInt instructions);
void stream_record(ULong tag, ULong immediate, const ULong *words, UInt count);
UInt stream_pack(ULong *words, const HChar *bytes, UInt length);

/* shapes.c */
#define LONGEST_BLOCK 1024
/* Maximum number of blocks, of references, and of derived addresses of a shape: its definition is a single record. */
#define MOST_BLOCKS 12
#define MOST_REFERENCES 230
struct block {
    Addr address;
    UInt bytes;
    UInt instructions;
    UInt first_bytes;
    UInt references;
};
struct shape {
    UInt blocks;
    struct block block[MOST_BLOCKS];
    UInt references; /* references of all blocks */
    UInt derived;    /* references whose addresses are derived */
    ULong reference[MOST_REFERENCES];
    ULong derived_address[MOST_REFERENCES];
};
UInt shapes_define(const struct shape *shape);
void shapes_publish(void);
Addr shapes_address(UInt id);

/* origins.c */
/* Origin of a temporary: its constant distance from another temporary. A constant has no other temporary. */
struct origin {
    IRTemp base;
    ULong offset;
};
void origins_forget(UInt temps);
void origins_learn(IRTemp temp, const IRExpr *value);
struct origin origins_of(const IRExpr *atom);

/* gathers.c */
struct lane {
    IRExpr *is_on;
    IRExpr *address;
};
void gathers_begin(Addr address, UInt bytes);
void gathers_learn(IRTemp temp, const IRExpr *value);
const struct lane *gathers_lane(const IRExpr *address);

/* Work at an exit of a superblock: the head of a shape is written, and the cursor is moved. */
struct departure {
    ULong head;
    Int head_offset;  /* place of the head, in bytes from the cursor */
    Int bytes;        /* number of bytes by which the cursor moves */
    Int instructions; /* instructions taken from the budget; 0 if they are not counted */
};
#ifdef FAST_EXITS
/* exits.c */
void exits_forget(void);
Addr exits_add(Addr target, const struct departure *departure);

/* liveness.c */
void liveness_forget(void);
Bool liveness_wants(Addr address);
void liveness_learn(Addr address, const IRSB *code);
void liveness_clean(IRSB *block);
#else
/* Without exits.c, everything that an exit must leave in memory is done before the exit, whether or not it is taken. */
static inline void exits_forget(void)
{
}
static inline Addr exits_add(Addr target, const struct departure *departure)
{
    (void)target, (void)departure;
    return 0;
}
static inline void liveness_forget(void)
{
}
static inline Bool liveness_wants(Addr address)
{
    (void)address;
    return False;
}
static inline void liveness_learn(Addr address, const IRSB *code)
{
    (void)address, (void)code;
}
static inline void liveness_clean(IRSB *block)
{
    (void)block;
}
#endif

/* hot.c */
enum heat { COLD, HOT, HOT_LOOP };
void hot_ran(UInt count, const ULong *word, const ULong *end);
void hot_translate_again(void);
enum heat hot_at(Addr address);
Addr hot_next(Addr address);

/* generated.c */
typedef UInt check_function(void *closure, VexRegisterUpdates *registers, const VexGuestExtents *extents);
check_function *generated_check(check_function *core);

/* superblocks.c */
Bool superblocks_is_lean(void);

/* instrument.c */
void instrument_register(void (*start)(void));
struct live *live_of(VexGuestAMD64State *guest);
void instrument_counting(void);
void instrument_exactly(void);

/* lifecycle.c */
void lifecycle_write_birth(ThreadId tid);
void lifecycle_write_exec(ThreadId tid);
void lifecycle_claim_slot(ThreadId tid);
UInt lifecycle_expect(ThreadId maker, UInt process_slot);
void lifecycle_bury_promised(ThreadId tid);
void lifecycle_end_others(ThreadId tid);

/* sleeps.c */
void sleeps_begin(ThreadId tid, UInt number, const UWord *arguments);
void sleeps_before(ThreadId tid);
Bool sleeps_has_slept(ThreadId tid);

/* turns.c */
void turns_register(void);
void turns_first(ThreadId tid, UInt why);
void turns_pass(ThreadId tid, UInt why);
void turns_leave(ThreadId tid, UInt state);
void turns_end_syscall(ThreadId tid);

/* limits.c */
void limits_start(ULong files);
void limits_before(UInt number, const UWord *arguments);
void limits_after(UInt number, const UWord *arguments, Bool is_done);
ULong limits_hand_on(void);
void limits_keep(ULong files);

/* execs.c */
void execs_start(const HChar *name, const HChar *shut);
void execs_before(ThreadId tid, UInt number, const UWord *arguments);
void execs_after_open(UInt number, const UWord *arguments, Int descriptor);
UWord execs_link(ThreadId tid, UWord number, Int place, UWord path);
UWord execs_arguments(ThreadId tid, UWord made);
const HChar *execs_name(void);

/* seccomp.c */
Bool seccomp_answers(UWord number, UWord a, UWord b, UWord c, SysRes *result);

/* tracers.c */
Bool tracers_answers(UWord number, UWord request, SysRes *result);

/* namespaces.c */
Bool namespaces_answer(UWord number, UWord a, UWord b, SysRes *result);

/* environment.c */
void environment_start(void);

/* forks.c */
void forks_after(UWord number, Bool is_done);
void forks_before(ThreadId tid, UWord number, UWord flags);
void forks_pass_on(void);
void forks_take_over(void);

/* syscalls.c */
void syscalls_register(void);

/* mappings.c */
void mappings_register(void);

/* threads.c */
void threads_start(void);
void threads_register(void);

#endif
