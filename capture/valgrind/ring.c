/* The shared memory: maps it, claims slots, wakes and sleeps. SPDX-License-Identifier: GPL-2.0-or-later

   All functions except ring_open may be called without Valgrind's big lock. */
#include "switchcost.h"

#include "pub_tool_clientstate.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_vki.h"
#include "pub_tool_xarray.h"

#include "core.h"
#include "kernel.h"

/* In libcoregrind, not in the tool headers: maps in Valgrind's own part of the address space, so that the client's
   addresses do not change. */
extern SysRes VG_(am_shared_mmap_file_float_valgrind)(SizeT length, UInt prot, Int fd, Off64T offset);

#define OPTION "--ring="

struct sc_header *ring;
struct sc_slot *ring_slots;
struct sc_info *ring_infos;
static HChar *buffers;

/* Wakes all waiters: the controller may have one thread for grants and one for buffers. */
#define ALL_SLEEPERS 0x7fffffff
/* Longest sleep of a waiting task, if fewer than MANY_TASKS slots are in use. With more tasks the sleep is longer:
   otherwise some tasks would always be awake to look around, and the controller waits until none is. */
#define SLEEP_NANOSECONDS (50 * 1000 * 1000)
#define MANY_TASKS 64
#define SECOND 1000000000ULL
#define SYSCALL_EXECVE 59
#define SYSCALL_EXECVEAT 322
/* Least size in words: a smaller buffer would consist only of slack. */
#define LEAST_BUFFER_WORDS 16384

static void refuse(const HChar *found, const HChar *path)
{
    VG_(fmsg)("switchcost: found %s in the ring '%s', need the one that `switchcost trace` makes; "
              "start the program with `switchcost trace -- COMMAND`\n",
              found, path);
    VG_(exit)(1);
}

Bool is_as_run(void)
{
    return ring->mode == SC_AS_RUN;
}

static void check_header(const HChar *path, ULong file_bytes)
{
    if (file_bytes < sizeof *ring || ring->magic != SC_MAGIC)
        refuse("no header", path);
    if (ring->version != SC_VERSION) {
        VG_(fmsg)("switchcost: found a ring of version %u, need %u: this tool belongs to another build of switchcost; "
                  "use the one that was built with it, in the folder that SWITCHCOST_TOOL_DIR names, if it is set\n",
                  ring->version, SC_VERSION);
        VG_(exit)(1);
    }
    if (ring->mode > SC_AS_RUN)
        refuse("an unknown mode", path);
    if (ring->total_bytes > file_bytes || ring->slots == 0 || ring->buffers == 0
        || ring->slots_offset + (ULong)ring->slots * sizeof *ring_slots > ring->total_bytes
        || ring->infos_offset + (ULong)ring->buffers * sizeof *ring_infos > ring->total_bytes
        || ring->buffers_offset + (ULong)ring->buffers * ring->buffer_words * 8 > ring->total_bytes)
        refuse("parts outside the file", path);
    if (ring->buffer_words < LEAST_BUFFER_WORDS)
        refuse("buffers of fewer than 16384 words", path);
}

/* Opens the file by its path, or takes the descriptor that the previous program has passed on. */
static Int open_file(const HChar *path)
{
    SysRes opened;

    if (path[0] != '/')
        return VG_(strtoll10)(path, NULL);
    opened = VG_(open)(path, VKI_O_RDWR, 0);
    if (sr_isError(opened)) {
        VG_(fmsg)("switchcost: found no readable ring at '%s' (error %lu), need the one that `switchcost trace` makes; "
                  "start the program with `switchcost trace -- COMMAND`\n",
                  path, sr_Err(opened));
        VG_(exit)(1);
    }
    return sr_Res(opened);
}

/* Passes the open file on to the next program. A program that is executed later may have neither the right to open
   the path nor access to the folder. So the next program gets the descriptor, and the descriptor's number in place
   of the path, with the same length. */
static void hand_on(Int fd, SizeT length)
{
    HChar *option = VG_(malloc)("switchcost.ring", sizeof OPTION + length);
    Word place;

    if (fd < VG_(fd_hard_limit))
        fd = VG_(safe_fd)(fd);
    kernel_call(KERNEL_FCNTL, fd, KERNEL_F_SETFD, 0, 0);
    VG_(sprintf)(option, OPTION "%0*d", (Int)length, fd);
    for (place = 0; place < VG_(sizeXA)(VG_(args_for_valgrind)); place++) {
        const HChar **given = VG_(indexXA)(VG_(args_for_valgrind), place);
        if (VG_(strncmp)(*given, OPTION, sizeof OPTION - 1) == 0)
            *given = option;
    }
}

void ring_open(const HChar *path)
{
    Int fd = open_file(path);
    struct vg_stat facts;
    SysRes mapped;

    if (VG_(fstat)(fd, &facts) != 0 || facts.size < (Long)sizeof *ring)
        refuse("a file that is too small", path);
    mapped = VG_(am_shared_mmap_file_float_valgrind)(facts.size, VKI_PROT_READ | VKI_PROT_WRITE, fd, 0);
    if (sr_isError(mapped))
        refuse("a file that cannot be mapped", path);
    hand_on(fd, VG_(strlen)(path));
    ring = (struct sc_header *)(Addr)sr_Res(mapped);
    check_header(path, facts.size);
    ring_slots = (struct sc_slot *)((HChar *)ring + ring->slots_offset);
    ring_infos = (struct sc_info *)((HChar *)ring + ring->infos_offset);
    buffers = (HChar *)ring + ring->buffers_offset;
}

ULong *ring_buffer(ULong index)
{
    return (ULong *)(buffers + index * ring->buffer_words * 8);
}

void ring_doorbell(void)
{
    __atomic_add_fetch(&ring->doorbell, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&ring->controller_sleeps, __ATOMIC_SEQ_CST))
        kernel_call(KERNEL_FUTEX, (Addr)&ring->doorbell, KERNEL_FUTEX_WAKE, ALL_SLEEPERS, 0);
}

/* Wakes the consumer by its own futex, because the controller need not know of buffers. */
void ring_notify_submission(void)
{
    __atomic_add_fetch(&ring->submissions, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&ring->consumer_sleeps, __ATOMIC_SEQ_CST))
        kernel_call(KERNEL_FUTEX, (Addr)&ring->submissions, KERNEL_FUTEX_WAKE, ALL_SLEEPERS, 0);
}

/* Whether a process has ended but still has its ID, because its parent has not waited for it. */
static Bool is_zombie(UInt pid)
{
    HChar text[512];
    Long fd, bytes;

    VG_(sprintf)(text, "/proc/%u/stat", pid);
    fd = kernel_call(KERNEL_OPEN, (Addr)text, VKI_O_RDONLY, 0, 0);
    if (fd < 0)
        return False;
    bytes = kernel_call(KERNEL_READ, fd, (Addr)text, sizeof text, 0);
    kernel_call(KERNEL_CLOSE, fd, 0, 0, 0);
    /* The line is "PID (NAME) STATE ...", and the name may contain anything. */
    for (bytes -= 3; bytes >= 0; bytes--)
        if (text[bytes] == ')')
            return text[bytes + 2] == 'Z' || text[bytes + 2] == 'X';
    return False;
}

static Bool is_orphan(void)
{
    UInt controller = ring->controller_pid;

    return controller != 0 && (kernel_call(KERNEL_KILL, controller, 0, 0, 0) == -KERNEL_ESRCH || is_zombie(controller));
}

/* Ends this process if the controller has ended and will grant it nothing more. The process's own handlers do not
   run. */
void ring_check_alive(void)
{
    if (is_orphan() || __atomic_load_n(&ring->is_closing, __ATOMIC_SEQ_CST))
        kernel_call(KERNEL_EXIT_GROUP, 1, 0, 0, 0);
}

/* Sleeps while *futex is `value`, at most 50 ms if there are few tasks. The caller then looks around. */
void ring_sleep(UInt *futex, UInt value)
{
    ULong limit_nanoseconds = (1 + (ULong)ring->slots_used / MANY_TASKS) * SLEEP_NANOSECONDS;
    struct {
        Long seconds, nanoseconds;
    } limit = { limit_nanoseconds / SECOND, limit_nanoseconds % SECOND };

    kernel_call(KERNEL_FUTEX, (Addr)futex, KERNEL_FUTEX_WAIT, value, (Addr)&limit);
    ring_check_alive();
}

/* Reports a fault to the controller, which then ends everything. */
void ring_fault(UInt fault, ULong detail)
{
    ring->fault_detail = detail;
    __atomic_store_n(&ring->fault, fault, __ATOMIC_SEQ_CST);
    ring_doorbell();
}

/* Scheduled: whether there is a single task, whose time slice cannot end. */
Bool ring_is_alone(void)
{
    return __atomic_load_n(&ring->is_alone, __ATOMIC_SEQ_CST);
}

Bool ring_is_stopping(void)
{
    return __atomic_load_n(&ring->is_stopping, __ATOMIC_SEQ_CST);
}

static Bool claim(struct sc_slot *slot)
{
    UInt expected = SC_FREE;

    return __atomic_load_n(&slot->state, __ATOMIC_RELAXED) == SC_FREE
           && __atomic_compare_exchange_n(&slot->state, &expected, SC_CLAIMED, False, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST);
}

/* Makes the calling thread the owner of a slot that another thread has claimed for it. */
void ring_adopt_slot(UInt index)
{
    struct sc_slot *slot = &ring_slots[index];

    slot->pid = VG_(getpid)();
    slot->tid = kernel_call(KERNEL_GETTID, 0, 0, 0, 0);
}

static void count_slot(UInt index)
{
    UInt used = __atomic_load_n(&ring->slots_used, __ATOMIC_SEQ_CST);

    while (
        used <= index
        && !__atomic_compare_exchange_n(&ring->slots_used, &used, index + 1, False, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
}

static void fill_in(UInt index, UInt parent, UInt process_slot)
{
    struct sc_slot *slot = &ring_slots[index];

    count_slot(index);
    ring_adopt_slot(index);
    slot->grant = 0;
    slot->parent = parent;
    slot->why = SC_WHY_BORN;
    slot->syscall = 0;
    slot->process_slot = process_slot == NO_SLOT ? index : process_slot;
    slot->budget = 0;
    slot->open_stamp = 0;
    slot->back = 0;
    slot->voluntary = 0;
    slot->involuntary = 0;
    slot->lock_address = 0;
    slot->is_making = 0;
}

/* Claims a slot for the calling thread, and returns its number. process_slot is NO_SLOT for the first thread of a
   process. */
UInt ring_claim_slot(UInt parent, UInt process_slot)
{
    UInt index;

    for (index = 0; index < ring->slots; index++) {
        if (claim(&ring_slots[index])) {
            fill_in(index, parent, process_slot);
            return index;
        }
    }
    ring_fault(SC_FAULT_SLOTS, VG_(getpid)());
    VG_(fmsg)("switchcost: found all %u task slots in use, need one more\n", ring->slots);
    kernel_call(KERNEL_EXIT_GROUP, 1, 0, 0, 0);
    return NO_SLOT;
}

/* Records that a thread has executed another program, and so has the ID of its process, whose previous owner has
   ended. */
static void take_number(UInt taker, UInt pid)
{
    UInt number = kernel_call(KERNEL_GETTID, 0, 0, 0, 0);
    UInt index;

    for (index = 0; index < ring->slots; index++)
        if (index != taker && ring_slots[index].pid == pid && ring_slots[index].tid == number)
            ring_slots[index].tid = 0;
    ring_slots[taker].tid = number;
    ring_slots[taker].process_slot = taker;
}

/* Returns the slot that this process had before an exec; NO_SLOT if there was no exec. */
UInt ring_find_execed(void)
{
    UInt pid = VG_(getpid)();
    UInt index;

    for (index = 0; index < ring->slots; index++) {
        struct sc_slot *slot = &ring_slots[index];
        if (__atomic_load_n(&slot->state, __ATOMIC_SEQ_CST) == SC_IN_SYSCALL && slot->pid == pid
            && (slot->syscall == SYSCALL_EXECVE || slot->syscall == SYSCALL_EXECVEAT)) {
            take_number(index, pid);
            return index;
        }
    }
    return NO_SLOT;
}

void ring_set_state(UInt slot, UInt state)
{
    __atomic_store_n(&ring_slots[slot].state, state, __ATOMIC_SEQ_CST);
    ring_doorbell();
}

void ring_queue(UInt slot, UInt why)
{
    ring_slots[slot].why = why;
    ring_set_state(slot, SC_QUEUED);
}

/* Records a process whose seccomp filter is not enforced, for the reader of the trace. */
void ring_note_restricted(UInt pid)
{
    __atomic_store_n(&ring->restricted_pid, pid, __ATOMIC_SEQ_CST);
}

void ring_note_tracing(UInt pid)
{
    __atomic_store_n(&ring->tracing_pid, pid, __ATOMIC_SEQ_CST);
}

void ring_note_namespace(UInt pid)
{
    __atomic_store_n(&ring->namespace_pid, pid, __ATOMIC_SEQ_CST);
}

void ring_note_rights(UInt pid)
{
    __atomic_store_n(&ring->rights_pid, pid, __ATOMIC_SEQ_CST);
}

void ring_note_undecoded(UInt pid, ULong code)
{
    ring->undecoded = code;
    __atomic_store_n(&ring->undecoded_pid, pid, __ATOMIC_SEQ_CST);
}

/* Records whether a slot's task is creating another one, for which the controller waits. By the slot the controller
   finds out if the creator has died. */
void ring_set_making(UInt slot, Bool is_making)
{
    if (slot == NO_SLOT)
        return;
    __atomic_store_n(&ring_slots[slot].is_making, is_making, __ATOMIC_SEQ_CST);
    ring_doorbell();
}
