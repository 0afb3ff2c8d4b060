/* Names of the objects at addresses of the kernel, as lines `ADDRESS NAME`. GPL-2.0-or-later, see
   ../valgrind/COPYING. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "layout.h"

/* Makes room that does not move: neither copy-on-write nor the kernel's compaction applies to it. */
void listing_open(struct listing *listing, size_t most)
{
    int fd = open("/proc/sys/vm/compact_unevictable_allowed", O_WRONLY | O_CLOEXEC);

    listing->text = MAP_FAILED;
    if (fd >= 0 && write(fd, "0", 1) == 1)
        listing->text = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_LOCKED, -1, 0);
    listing->most = listing->text == MAP_FAILED ? 0 : most;
    listing->bytes = 0;
    close(fd);
}

void listing_add(struct listing *listing, uint64_t address, const char *name)
{
    size_t room = listing->most - listing->bytes;
    int length;

    if (room == 0)
        return;
    length = snprintf(listing->text + listing->bytes, room, "%lx %s\n", address, name);
    if (length > 0 && (size_t)length < room)
        listing->bytes += length;
}
