/* The guest's memory, which QEMU shares with the plugin as a file. GPL-2.0-or-later, see ../valgrind/COPYING. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin.h"

/* Addresses of the direct map and of the kernel's image, without address randomization (nokaslr) and with page
   tables of four levels (Documentation/arch/x86/x86_64/mm.rst). */
#define DIRECT_MAP 0xffff888000000000ULL
#define IMAGE 0xffffffff80000000ULL

/* QEMU's pc reserves the last addresses below 4 GiB for devices: with 3.5 GiB or more, memory beyond 3 GiB begins at
   address 4 GiB (hw/i386/pc_piix.c). The file has no such gap. */
#define GIBIBYTE (1ULL << 30)
#define GAP_END (4 * GIBIBYTE)

static const char *memory;
static uint64_t size, gap_start;

bool memory_open(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat facts;
    void *start;

    if (fd < 0 || fstat(fd, &facts) != 0)
        return false;
    start = mmap(NULL, facts.st_size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (start == MAP_FAILED)
        return false;
    memory = start;
    size = facts.st_size;
    gap_start = size < 7 * GIBIBYTE / 2 ? size : 3 * GIBIBYTE;
    return true;
}

bool memory_read(uint64_t physical, void *into, size_t bytes)
{
    uint64_t offset = physical < GAP_END ? physical : physical - (GAP_END - gap_start);

    if ((physical >= gap_start && physical < GAP_END) || offset >= size || size - offset < bytes)
        return false;
    memcpy(into, memory + offset, bytes);
    return true;
}

uint64_t physical_of_kernel(uint64_t address)
{
    return address - (address >= IMAGE ? IMAGE : DIRECT_MAP);
}

bool memory_read_kernel(uint64_t address, void *into, size_t bytes)
{
    return memory_read(physical_of_kernel(address), into, bytes);
}

bool physical_of(qemu_plugin_meminfo_t info, uint64_t address, uint64_t *physical)
{
    const struct qemu_plugin_hwaddr *found = qemu_plugin_get_hwaddr(info, address);

    if (!found || qemu_plugin_hwaddr_is_io(found))
        return false;
    *physical = qemu_plugin_hwaddr_phys_addr(found);
    if (PLUGIN_VERSION > 1)
        return true;
    /* QEMU 7.2 returns the position in the file. For other memory, such as the firmware's, the position is beyond
       the end of the file. */
    if (*physical >= size)
        return false;
    if (*physical >= gap_start)
        *physical += GAP_END - gap_start;
    return true;
}
