/* Prints the physical addresses of some of its pages, from /proc/self/pagemap, as lines `NAME VIRTUAL-ADDRESS
   PHYSICAL-ADDRESS`. A page is used before its line, and does not move before its next line. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096UL
#define LARGE (2UL << 20)
#define SOMEWHERE ((void *)0x100000000)
#define ELSEWHERE ((void *)0x200000000)
/* Several pages, because the plugin might forget the old address of a single page by chance. */
#define ALONE ((void *)0x300000000)
#define MANY 16
#define TOGETHER ((char *)0x400000000)

static volatile char variable = 1;

static void say(const char *name, const volatile void *address)
{
    uint64_t page = (uintptr_t)address / PAGE, entry = 0;
    int pagemap = open("/proc/self/pagemap", O_RDONLY);

    (void)*(const volatile char *)address;
    if (pread(pagemap, &entry, sizeof entry, page * sizeof entry) != sizeof entry || !(entry >> 63))
        entry = 0;
    close(pagemap);
    dprintf(1, "%s %lx %lx\n", name, page * PAGE, (entry & ((1UL << 55) - 1)) * PAGE);
}

static void say_all(const char *name, const volatile char *pages)
{
    for (int page = 0; page < MANY; page++)
        say(name, pages + page * PAGE);
}

static void write_all(volatile char *pages)
{
    for (int page = 0; page < MANY; page++)
        pages[page * PAGE] = 1;
}

static volatile char *map(void *where, size_t bytes, int flags, int file)
{
    volatile char *address = mmap(where, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, file, 0);

    if (address != where)
        _exit(1);
    return address;
}

int main(int count, char **arguments)
{
    volatile char *here, *there, *alone, *taken;
    int file, status = 0;

    if (count > 1) {
        say("executed-variable", &variable);
        say("executed-code", (const void *)main);
        return 0;
    }
    file = memfd_create("shared", 0);
    if (file < 0 || ftruncate(file, PAGE) != 0)
        return 1;
    here = map(SOMEWHERE, PAGE, MAP_SHARED, file);
    there = map(ELSEWHERE, PAGE, MAP_SHARED, file);
    alone = map(ALONE, MANY * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    write_all(alone);
    *here = 1;
    if (*there != 1)
        return 1;
    say("here", here);
    say("there", there);
    say_all("alone", alone);
    say("code", (const void *)main);
    if (fork() == 0) {
        say("child-there", there);
        say_all("child-before", alone);
        write_all(alone);
        say_all("child-after", alone);
        execl(arguments[0], arguments[0], "again", NULL);
        return 1;
    }
    wait(&status);
    write_all(alone);
    say_all("parent-after", alone);
    /* Other pages take the freed frames, before the same addresses get new frames. */
    munmap((void *)alone, MANY * PAGE);
    taken = map(TOGETHER, LARGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    madvise((void *)taken, LARGE, MADV_NOHUGEPAGE);
    memset((void *)taken, 1, 64 * PAGE);
    alone = map(ALONE, MANY * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    write_all(alone);
    say_all("again", alone);
    munmap((void *)taken, LARGE);
    taken = map(TOGETHER, LARGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    madvise((void *)taken, LARGE, MADV_HUGEPAGE);
    taken[0] = taken[LARGE - 1] = 1;
    say("large-first", taken);
    say("large-last", taken + LARGE - 1);
    return status;
}
