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

/* main.c: during the recording, makes QEMU translate again all code that runs after the present piece. */
void flush_translations(void);

/* callbacks.c: registers the plugin's own callbacks with every version of QEMU's interface. */
void callbacks_know(qemu_plugin_id_t id);
/* Sets the function that is called for each piece of code before it first runs. */
void callbacks_of_code(void (*callback)(struct qemu_plugin_tb *tb));
void callbacks_at_exit(void (*callback)(void));
/* Sets the function that is called when QEMU has discarded all translated code and all other callbacks. QEMU does so
   soon. */
void callbacks_anew(void (*callback)(void));

/* ring.c: the shared memory. */
bool ring_open(const char *path);
void ring_fail(const char *found);
/* Submits the present buffer and returns another one. `limit` is the place from which it has SLACK_WORDS left. */
ULong *ring_next_buffer(ULong words_of_last, ULong **limit);
void ring_submit_last(ULong words);
#define SLACK_WORDS 32768

/* memory.c: the guest's memory. */
bool memory_open(const char *path);
bool memory_read(uint64_t physical, void *into, size_t bytes);
/* Returns the physical address of an address in the kernel's image, or in the direct map of all memory. */
uint64_t physical_of_kernel(uint64_t address);
bool memory_read_kernel(uint64_t address, void *into, size_t bytes);

/* stream.c: records, and shapes that ran. */
struct path;
struct code;
extern ULong *stream_cursor, *stream_limit;
void stream_begin(void);
void stream_turn(void);
void stream_end(void);
/* Discards all words that are written from here on. */
void stream_abandon(void);
void stream_record(ULong tag, ULong immediate, const ULong *words, UInt count);

/* code.c: translated code, and the accesses that it makes. */
struct instruction {
    struct code *code;
    uint64_t address;
    uint8_t bytes;
    bool is_fixed; /* the address of the access is a constant */
    uint8_t touches;
};

/* Accesses that an instruction can make. QEMU also reports the processor's own accesses at an interrupt; they appear
   as accesses of an earlier instruction with which code ended. */
enum { TOUCHES_NOTHING, TOUCHES_LOADS, TOUCHES_ANY };

struct code {
    struct code *next; /* next piece of code with the same hash */
    uint64_t address;
    uint64_t hash;
    uint32_t bytes;
    uint32_t count;
    bool is_entry; /* entry to the kernel, after an instruction that could not be executed */
    struct path *start;
    struct instruction instructions[];
};

struct code *code_of(const struct qemu_plugin_tb *tb, bool is_entry);

/* learn.c: returns the start of the paths through a piece of code. Nothing is known of the code's references yet. */
struct path *paths_start(void);

/* paths.c: code that runs, which is followed along its known paths. */
void paths_end(void);
/* Stops the recording after the code that runs now. */
void paths_stop(void);
/* Writes a record before the words of the code that runs now. */
void paths_record_before(ULong tag, const ULong *words, UInt count);
void paths_run(unsigned cpu, void *code);
void paths_touch(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *instruction);
/* Records that the code that ran before the present piece was left before the instruction at this address. */
void paths_cut_before(uint64_t address);
extern bool paths_is_interrupted;
extern bool paths_has_pending;

/* shapes.c: definitions of shapes, which have everything that is the same each time a path is taken. */
struct shape_reference {
    const struct instruction *instruction;
    uint16_t bytes;
    bool is_store;
    uint8_t how;
    uint8_t base;
    uint64_t value;
};
/* Writes the words that define instructions `first` to `end`. Returns the number of words, and from bit 16 on the
   number of blocks. */
UInt shapes_define(ULong *words, const struct code *code, UInt first, UInt end,
                   const struct shape_reference *references, UInt count);

/* entries.c: how the kernel was entered, and when it is left. */
struct entry {
    uint8_t kind;    /* SC_ENTRY_* */
    uint16_t number; /* number of the system call */
};

/* Maximum number of entries from which a task has not returned. The innermost is the last. */
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
/* Follows the running task before the recording begins. */
void switches_watch_current(struct qemu_plugin_tb *tb);
void switches_begin(void);
struct entries *switches_entries(void);
/* Returns the number of the running task's address space, which is one for each process; 0 for the idle task. */
uint32_t switches_space(void);
/* Whether the address space has a task that has not ended. */
bool switches_has_space(uint32_t space);
/* Returns the physical address of the page tables in use. */
uint64_t switches_page_tables(void);
/* Called when a task is about to return to user mode. */
void switches_return(void);
/* Returns the struct mm_struct of the running task; 0 for kernel threads and the idle task. */
uint64_t switches_memory(void);
/* Stores a mark. Marks are held back until the code that caused them has ended; switches_flush writes them. */
void switches_note(ULong tag, ULong immediate, const ULong *words, UInt count);
void switches_flush(void);

/* mappings.c: files at addresses. */
void mappings_know(const struct sc_guest *guest);
/* Creates an address space with the mappings of its parent. */
void mappings_fork(uint32_t parent, uint32_t child);
/* Records that the running task may have changed its mappings. The mappings are read when the task returns to user
   mode. */
void mappings_changed(void);
void mappings_look(void);

/* pages.c: physical addresses of pages. With `physical=on` these functions are called in place of paths_run and
   paths_touch. */
void pages_run(unsigned cpu, void *code);
void pages_touch(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *instruction);
void pages_watch(struct qemu_plugin_tb *tb);
/* Invalidates all cached translations. */
void pages_forget(void);

/* Finds the physical address of an access. Returns false if the access is to a device. */
bool physical_of(qemu_plugin_meminfo_t info, uint64_t address, uint64_t *physical);
/* Copies the first bytes of an instruction, only those in its first page. Returns the number of bytes. */
size_t code_bytes(const struct qemu_plugin_insn *instruction, uint8_t *into, size_t most);

#endif
