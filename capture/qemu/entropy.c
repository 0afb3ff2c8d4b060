/* Gives the kernel randomness that is the same in every run. GPL-2.0-or-later, see ../valgrind/COPYING.

   The processor has no instruction for randomness, no device sends interrupts, and the kernel has no other source.
   In the first program that needs randomness, the kernel would count iterations of a loop until it has enough, which
   takes a second of the guest's time, all of it in the trace (try_to_generate_entropy in drivers/char/random.c).
   Therefore the kernel gets as much as it needs before the programs start. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/random.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "layout.h"

/* Number of random bytes. The kernel's generator needs 256 bits since Linux 5.18, and 128 bits before. */
#define BYTES 64

void entropy_give(void)
{
    struct {
        struct rand_pool_info info;
        unsigned char bytes[BYTES];
    } seed = { .info = { .entropy_count = 8 * BYTES, .buf_size = BYTES } };
    int fd = open("/dev/urandom", O_WRONLY | O_CLOEXEC);

    for (int byte = 0; byte < BYTES; byte++)
        seed.bytes[byte] = byte;
    if (fd < 0 || ioctl(fd, RNDADDENTROPY, &seed) != 0)
        fail("no way to give the kernel its randomness (%m)");
    close(fd);
}
