/* The server of a pair: holds a file of blocks, and copies out the one that is asked for. server SEED BYTES */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pair.h"

int main(int count, char **words)
{
    static unsigned char file[BLOCKS][MOST_BYTES], answer[MOST_BYTES];
    if (count < 3)
        return 2;
    uint32_t seed = strtoul(words[1], 0, 10), bytes = strtoul(words[2], 0, 10), number;
    for (uint32_t block = 0; block < BLOCKS; block++)
        for (uint32_t byte = 0; byte < bytes; byte++)
            file[block][byte] = (block + byte) * seed;
    while (take(0, &number, sizeof number)) {
        unsigned char *block = file[number % BLOCKS];
        block[0]++;
        memcpy(answer, block, bytes);
        answer[bytes - 1] = checksum(answer, bytes);
        if (!put(1, answer, bytes))
            return 0;
    }
    return 0;
}
