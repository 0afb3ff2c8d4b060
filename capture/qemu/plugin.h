/* The interfaces between the files of the plugin. GPL-2.0-or-later, see ../valgrind/COPYING. */
#ifndef SWITCHCOST_PLUGIN_H
#define SWITCHCOST_PLUGIN_H

#include <stdbool.h>
#include <stdint.h>

typedef uint32_t UInt;
typedef uint64_t ULong;
typedef int64_t Long;

#include "protocol.h"

#include "guest.h"
#include "qemu.h"

#define LIKELY(claim) __builtin_expect(!!(claim), 1)
#define UNLIKELY(claim) __builtin_expect(!!(claim), 0)

/* main.c: makes QEMU translate again the code that runs after the present piece. */
void flush_translations(void);

/* callbacks.c: callbacks of the plugin as a whole, for either version of QEMU's interface. */
void callbacks_know(qemu_plugin_id_t id);
/* Sets the callback before translated code runs for the first time. */
void callbacks_of_code(void (*callback)(struct qemu_plugin_tb *tb));
void callbacks_at_exit(void (*callback)(void));
/* Sets the callback for the time after QEMU has discarded all translated code and all other callbacks, which it does
   soon. */
void callbacks_anew(void (*callback)(void));

/* ring.c: the shared memory. */
bool ring_open(const char *path);
void ring_fail(const char *found);
/* Returns a buffer to write to, and the place from which it has at most SLACK_WORDS left. */
ULong *ring_next_buffer(ULong words_of_last, ULong **limit);
void ring_submit_last(ULong words);
#define SLACK_WORDS 32768

/* memory.c: the guest's memory. */
bool memory_open(const char *path);
bool memory_read(uint64_t physical, void *into, size_t bytes);
/* Returns the physical address of an address in the kernel's image or in the direct map of all memory. */
uint64_t physical_of_kernel(uint64_t address);
bool memory_read_kernel(uint64_t address, void *into, size_t bytes);

/* stream.c: records, and shapes that ran. */
struct path;
struct code;
extern ULong *stream_cursor, *stream_limit;
void stream_begin(void);
void stream_turn(void);
void stream_end(void);
/* Discards all that is written from here on. */
void stream_abandon(void);
void stream_record(ULong tag, ULong immediate, const ULong *words, UInt count);

/* code.c: translated code, and the memory that it touches. */
struct instruction {
    struct code *code;
    uint64_t address;
    uint8_t bytes;
    bool is_fixed; /* its address is a constant */
    uint8_t touches;
};

/* Accesses that an instruction can have. QEMU also reports the processor's own accesses at an interrupt, as accesses
   of an earlier instruction with which code ended. */
enum { TOUCHES_NOTHING, TOUCHES_LOADS, TOUCHES_ANY };

struct code {
    struct code *next; /* of the same hash */
    uint64_t address;
    uint64_t hash;
    uint32_t bytes;
    uint32_t count;
    bool is_entry; /* of the kernel, after an instruction that could not be done */
    struct path *start;
    struct instruction instructions[];
};

struct code *code_of(const struct qemu_plugin_tb *tb, bool is_entry);

/* learn.c: starts the references of a piece of code, of which nothing is known yet. */
struct path *paths_start(void);

/* paths.c: code that runs, followed along its known paths. */
void paths_end(void);
/* Stops recording after the code that runs now. */
void paths_stop(void);
/* Writes a record before the code that runs. */
void paths_record_before(ULong tag, const ULong *words, UInt count);
void paths_run(unsigned cpu, void *code);
void paths_touch(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *instruction);
/* The code that ran before the present piece was left before this address was executed. */
void paths_cut_before(uint64_t address);
extern bool paths_is_interrupted;
extern bool paths_has_pending;

/* shapes.c: the part of a path that is the same each time. */
struct shape_reference {
    const struct instruction *instruction;
    uint16_t bytes;
    bool is_store;
    uint8_t how;
    uint8_t base;
    uint64_t value;
};
/* Writes the words of a definition of instructions `first` to `end`; returns the number of words, and above bit 16
   the number of blocks. */
UInt shapes_define(ULong *words, const struct code *code, UInt first, UInt end,
                   const struct shape_reference *references, UInt count);

/* entries.c: how the kernel was entered, and when it is left. */
struct entry {
    uint8_t kind;    /* SC_ENTRY_* */
    uint16_t number; /* of a system call */
};

/* Largest number of entries of a task from which it has not returned, the innermost last. */
#define MOST_ENTRIES 8
struct entries {
    UInt depth;
    struct entry of[MOST_ENTRIES];
};

void entries_know(const struct sc_guest *guest);
void entries_watch(struct qemu_plugin_tb *tb);
/* Whether an exception enters the kernel at this address. */
bool entries_is_exception(uint64_t address);

/* switches.c: tasks. */
void switches_know(const struct sc_guest *guest);
void switches_watch(struct qemu_plugin_tb *tb);
/* Tracks the running task before the recording. */
void switches_watch_current(struct qemu_plugin_tb *tb);
void switches_begin(void);
struct entries *switches_entries(void);
/* Returns the number of the running task's address space, one for each process; 0 for the idle task. */
uint32_t switches_space(void);
/* Whether the address space has a task that has not ended. */
bool switches_has_space(uint32_t space);
/* Returns the physical address of the page tables in use. */
uint64_t switches_page_tables(void);
/* A task is about to return to its own code. */
void switches_return(void);
/* Returns the struct mm_struct of the running task; 0 for kernel threads. */
uint64_t switches_memory(void);
/* Stores marks until the end of the code that made them; switches_flush writes them. */
void switches_note(ULong tag, ULong immediate, const ULong *words, UInt count);
void switches_flush(void);

/* mappings.c: files at addresses. */
void mappings_know(const struct sc_guest *guest);
/* Creates an address space with the mappings of its parent's. */
void mappings_fork(uint32_t parent, uint32_t child);
/* Records that the running task may have changed its mappings; they are read when it returns to its own code. */
void mappings_changed(void);
void mappings_look(void);

/* pages.c: physical addresses of pages. Called in place of paths_run and paths_touch with `physical=on`. */
void pages_run(unsigned cpu, void *code);
void pages_touch(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *instruction);
void pages_watch(struct qemu_plugin_tb *tb);
/* Invalidates the cached translations. */
void pages_forget(void);

/* Finds the physical address of an access; returns false for a device. */
bool physical_of(qemu_plugin_meminfo_t info, uint64_t address, uint64_t *physical);
/* Copies the first bytes of an instruction, as far as they lie in one page; returns their number. */
size_t code_bytes(const struct qemu_plugin_insn *instruction, uint8_t *into, size_t most);

#endif
