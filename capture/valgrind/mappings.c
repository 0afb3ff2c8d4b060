/* Reports mapped files, by which addresses are later resolved to functions and lines. GPL-2.0-or-later, see COPYING.

   The reader of the trace finds the build ID itself, because the segment that contains it is not the one with the
   code. The reader also finds the symbols. Valgrind would read the symbols of each mapped file, which takes as long
   as running a short program. */
#include "switchcost.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_tooliface.h"

/* Longest path for which a record has room, in bytes. A longer path is left out, not cut. */
#define LONGEST_PATH 1600

static Bool is_running(void)
{
    ThreadId tid = VG_(get_running_tid)();

    return tasks[tid == VG_INVALID_THREADID ? 1 : tid].has_cpu;
}

static void write_mapping(Addr start, SizeT bytes, Bool is_executable, const NSegment *segment, const HChar *path)
{
    ULong words[4 + LONGEST_PATH / 8];
    UInt length = VG_(strlen)(path);

    if (length > LONGEST_PATH)
        length = 0;
    words[0] = start;
    words[1] = bytes;
    words[2] = segment->offset + (start - segment->start);
    words[3] = is_executable | (ULong)length << 16;
    stream_record(SC_MAP, 0, words, 4 + stream_pack(words + 4, path, length));
}

static void is_mapped(Addr start, SizeT bytes, Bool is_readable, Bool is_writable, Bool is_executable, ULong handle)
{
    const NSegment *segment = VG_(am_find_nsegment)(start);
    const HChar *path = segment && segment->kind == SkFileC ? VG_(am_get_filename)(segment) : NULL;

    (void)is_readable, (void)is_writable, (void)handle;
    if (path && is_running())
        write_mapping(start, bytes, is_executable, segment, path);
}

static void is_unmapped(Addr start, SizeT bytes)
{
    ULong words[2] = { start, bytes };

    if (is_running())
        stream_record(SC_UNMAP, 0, words, 2);
}

/* coregrind/pub_core_debuginfo.h. Replaced at link time by a function that reads nothing and returns no handle. */
ULong __wrap_vgPlain_di_notify_mmap(Addr address, Bool allow_any, Int descriptor);
ULong __wrap_vgPlain_di_notify_mmap(Addr address, Bool allow_any, Int descriptor)
{
    (void)address, (void)allow_any, (void)descriptor;
    return 0;
}

void mappings_register(void)
{
    VG_(track_new_mem_startup)(is_mapped);
    VG_(track_new_mem_mmap)(is_mapped);
    VG_(track_die_mem_munmap)(is_unmapped);
}
