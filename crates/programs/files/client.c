/* The client of a pair: asks a server for one block of a file after the other, and sums it up. client SEED BYTES WANTED */
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pair.h"

/* The server, with one end of a pair of sockets for its input and output; the other end. */
static int started(char **words)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        exit(1);
    if (fork() == 0) {
        dup2(ends[1], 0);
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        execv("./server", words);
        _exit(1);
    }
    close(ends[1]);
    return ends[0];
}

int main(int count, char **words)
{
    static unsigned char block[MOST_BYTES];
    if (count < 4)
        return 2;
    uint32_t first = strtoul(words[1], 0, 10) % BLOCKS, bytes = strtoul(words[2], 0, 10), wanted = strtoul(words[3], 0, 10);
    uint32_t asked = 0, sum = 0;
    int server = started(words);
    for (;;) {
        uint32_t number = (first + asked) % BLOCKS;
        if (!put(server, &number, sizeof number) || !take(server, block, bytes))
            return 0;
        sum += checksum(block, bytes);
        asked = (asked + 1 + (sum & 1)) % wanted;
    }
}
