/* Functions of Valgrind's core that several files of the tool call, and that are in no header for tools: README.md says in which versions
   they are the same. SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SWITCHCOST_CORE_H
#define SWITCHCOST_CORE_H

#include "pub_tool_basics.h"

/* coregrind/pub_core_syscall.h */
extern SysRes VG_(mk_SysRes_Success)(UWord value);
extern SysRes VG_(mk_SysRes_Error)(UWord error);

/* coregrind/pub_core_clientstate.h: the first number of a file that is Valgrind's own. */
extern Int VG_(fd_hard_limit);

/* coregrind/pub_core_libcfile.h: moves a file to a number that is Valgrind's own. */
extern Int VG_(safe_fd)(Int descriptor);

#endif
