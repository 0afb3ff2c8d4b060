/* Randomness that is the same each time. GPL-2.0-or-later, see ../valgrind/COPYING.

   The processor has no instruction for it, no device sends interrupts, and the kernel has nothing else to gather it from. It would count
   turns of a loop until it believed that it had enough, in the first program that asks: a second of the guest's time, all of it in the trace
   (try_to_generate_entropy in drivers/char/random.c). So it is given as much as it asks for before the programs start. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/random.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "layout.h"

/* That its generator is ready takes 256 bits since Linux 5.18, and 128 before. */
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
