/* What client and server share. */
enum { BLOCKS = 256, MOST_BYTES = 3072 };

/* Fletcher's sum, byte by byte, without its modulus: what does not fit is lost. */
static uint32_t checksum(const unsigned char *bytes, uint32_t count)
{
    uint32_t low = 1, high = 0;
    for (uint32_t byte = 0; byte < count; byte++) {
        low += bytes[byte];
        high += low;
    }
    return high << 16 | low;
}

static int take(int from, void *to, size_t count)
{
    while (count > 0) {
        ssize_t taken = read(from, to, count);
        if (taken <= 0)
            return 0;
        to = (char *)to + taken;
        count -= taken;
    }
    return 1;
}

static int put(int to, const void *from, size_t count)
{
    return write(to, from, count) == (ssize_t)count;
}
