/* The shared memory: maps it, and submits full buffers. GPL-2.0-or-later, see ../valgrind/COPYING. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "plugin.h"

#define NO_BUFFER (~0ULL)

static struct sc_header *ring;
static struct sc_info *infos;
static char *buffers;
static ULong current = NO_BUFFER;

/* Ends the guest, because it cannot continue without the reader. */
void ring_fail(const char *found)
{
    fprintf(stderr, "switchcost: found %s, need QEMU started by `switchcost trace --system`\n", found);
    _exit(3);
}

bool ring_open(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat facts;

    if (fd < 0 || fstat(fd, &facts) != 0 || facts.st_size < (off_t)sizeof *ring)
        return false;
    ring = mmap(NULL, facts.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (ring == MAP_FAILED || ring->magic != SC_MAGIC || ring->version != SC_VERSION || ring->mode != SC_SYSTEM
        || ring->total_bytes > (ULong)facts.st_size || ring->buffer_words < 2 * SLACK_WORDS)
        return false;
    infos = (void *)((char *)ring + ring->infos_offset);
    buffers = (char *)ring + ring->buffers_offset;
    return true;
}

static ULong *start_of(ULong index)
{
    return (ULong *)(buffers + index * ring->buffer_words * 8);
}

static void wait_for_more(UInt freed)
{
    struct timespec patience = { .tv_nsec = 50 * 1000 * 1000 };

    if (ring->is_closing)
        _exit(3);
    syscall(SYS_futex, &ring->freed, FUTEX_WAIT, freed, &patience, NULL, 0);
}

static ULong claim(void)
{
    for (;;) {
        UInt freed = __atomic_load_n(&ring->freed, __ATOMIC_SEQ_CST);
        for (UInt tries = 1; tries <= ring->buffers; tries++) {
            ULong index = (current + tries) % ring->buffers;
            UInt expected = SC_EMPTY;
            if (__atomic_compare_exchange_n(&infos[index].state, &expected, SC_HELD, false, __ATOMIC_SEQ_CST,
                                            __ATOMIC_SEQ_CST))
                return index;
        }
        wait_for_more(freed);
    }
}

void ring_submit_last(ULong words)
{
    struct sc_info *info;

    if (current == NO_BUFFER)
        return;
    info = &infos[current];
    info->words = words;
    info->slot = (UInt)-1;
    info->order = __atomic_fetch_add(&ring->next_order, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&info->state, SC_FULL, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&ring->submissions, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&ring->consumer_sleeps, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &ring->submissions, FUTEX_WAKE, 1, NULL, NULL, 0);
    current = NO_BUFFER;
}

ULong *ring_next_buffer(ULong words_of_last, ULong **limit)
{
    ring_submit_last(words_of_last);
    current = claim();
    *limit = start_of(current) + ring->buffer_words - SLACK_WORDS;
    return start_of(current);
}
