/* Uses the C library, in which instructions and accesses cross cache lines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}
int main(void)
{
    enum { COUNT = 600 };
    static char *lines[COUNT];
    for (int i = 0; i < COUNT; i++) {
        lines[i] = malloc(40);
        snprintf(lines[i], 40, "%d/%d", i * 7919 % 1009, i);
    }
    qsort(lines, COUNT, sizeof *lines, compare);
    puts(lines[COUNT / 2]);
    return 0;
}
