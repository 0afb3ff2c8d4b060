/* switchcost: a Valgrind tool that writes what a program executes into shared memory, one task at a time.
   SPDX-License-Identifier: GPL-2.0-or-later

   The tool is started by `switchcost trace`, which makes the shared memory (protocol.h), grants the turns and reads
   the stream. README.md explains how the tool works and what it counts. */
#include "switchcost.h"

#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_options.h"
#include "pub_tool_tooliface.h"
#include "pub_tool_vki.h"

/* In libcoregrind, not in the tool headers: the folder from which the core loads its files. */
extern const HChar *VG_(libdir);

/* Name of a file in this folder, which the Makefile writes. */
#define NOTE "built-with"

static const HChar *ring_path;
static const HChar *padding;
static const HChar *files;
static const HChar *name;
static const HChar *shut;

static Bool take_option(const HChar *argument)
{
    if VG_STR_CLO (argument, "--ring", ring_path) {
    } else if VG_STR_CLO (argument, "--pad", padding) {
    } else if VG_STR_CLO (argument, "--files", files) {
    } else if VG_STR_CLO (argument, "--argv0", name) {
    } else if VG_STR_CLO (argument, "--shut", shut) {
    } else
        return False;
    return True;
}

static void print_usage(void)
{
    VG_(printf)("    --ring=PATH        shared memory made by `switchcost trace`; or the number of that file, where it is open\n"
                "    --pad=TEXT         ignored: keeps a command line at the same length\n"
                "    --files=NUMBER     how many files the program may have open\n"
                "    --argv0=TEXT       the name that the program is called by, where that is not its path\n"
                "    --shut=NUMBER      a file that the program is not to have\n");
}

static void print_debug_usage(void)
{
    VG_(printf)("    (none)\n");
}

/* Returns the version with which the files beside the tool were built; empty if it cannot be read. */
static const HChar *built_with(void)
{
    static HChar text[512];
    HChar path[1024];
    SysRes opened;
    Int bytes = 0;

    if (VG_(strlen)(VG_(libdir)) + sizeof "/" NOTE <= sizeof path) {
        VG_(sprintf)(path, "%s/" NOTE, VG_(libdir));
        opened = VG_(open)(path, VKI_O_RDONLY, 0);
        if (!sr_isError(opened)) {
            bytes = VG_(read)(sr_Res(opened), text, sizeof text - 1);
            VG_(close)(sr_Res(opened));
        }
    }
    text[bytes > 0 ? bytes : 0] = '\0';
    text[VG_(strcspn)(text, "\n")] = '\0';
    return text;
}

/* Checks that the tool, which contains the core, fits the files that the core loads into each process. These files
   are beside the tool, and may be from another build. */
static void check_version(void)
{
    if (VG_(strcmp)(built_with(), BUILT_WITH) == 0)
        return;
    VG_(fmsg)("switchcost: found files of '%s' in %s, need those that the tool was built with: '" BUILT_WITH "'; "
              "run `make build` or `make install` again\n",
              built_with(), VG_(libdir));
    VG_(exit)(1);
}

static void start(void)
{
    check_version();
    if (!ring_path) {
        VG_(fmsg)("switchcost: found no --ring option, need the shared memory that `switchcost trace` makes; "
                  "start the program with `switchcost trace -- COMMAND`\n");
        VG_(exit)(1);
    }
    ring_open(ring_path);
    limits_start(files ? VG_(strtoull10)(files, NULL) : 0);
    execs_start(name, shut);
    environment_start();
    threads_start();
}

static void register_tool(void)
{
    VG_(details_name)("switchcost");
    VG_(details_version)(NULL);
    VG_(details_description)("a tracer of addresses and context switches");
    VG_(details_copyright_author)("GNU GPL'd, by the authors of switchcost.");
    VG_(details_bug_reports_to)("the authors of switchcost");
    VG_(details_avg_translation_sizeB)(500);
    instrument_register(start);
    VG_(needs_command_line_options)(take_option, print_usage, print_debug_usage);
    turns_register();
    threads_register();
    syscalls_register();
    mappings_register();
}

VG_DETERMINE_INTERFACE_VERSION(register_tool)
