/* Functions of Valgrind's core that several files of the tool call, and that its headers for tools do not declare.
   SPDX-License-Identifier: GPL-2.0-or-later

   All functions that the tool calls or wraps outside of Valgrind's interface for tools, by the header that declares them. The functions are
   the same in the versions that README.md lists, except as said.

   coregrind/
     pub_core_scheduler.h       acquire_BigLock, release_BigLock: wrapped
     pub_core_syscall.h         do_syscall: wrapped; mk_SysRes_Success, mk_SysRes_Error
     pub_core_debuginfo.h       di_notify_mmap: wrapped
     pub_core_dispatch.h        disp_run_translations: wrapped; disp_cp_chain_me_to_slowEP in place of ..._fastEP
     pub_core_transtab.h        discard_translations, search_transtab
     pub_core_threadstate.h     is_exiting, the numbers of ThreadStatus
     pub_core_aspacemgr.h       am_shared_mmap_file_float_valgrind; am_create_reservation: wrapped
     pub_core_signals.h         poll_signals
     pub_core_clientstate.h     client_auxv, fd_soft_limit, fd_hard_limit, client_rlimit_stack
     m_libcproc.c               libdir
     m_syswrap/priv_types_n_macros.h   get_linux_syscall_entry: wrapped; SyscallTableEntry, SfMayBlock
   VEX/
     guest_generic_bb_to_IR.h   bb_to_IR: wrapped
     ir_opt.h, main_globals.h   concatenate_irsbs, vex_control
     host_amd64_defs.h, libvex.h   with FAST_EXITS: AMD64Instr_XDirect, LibVEX_Translate: wrapped

   Compared only by running the tests, with 3.19.0, 3.24.0 and 3.27.1: cl_exec_fd, cl_cmdline_fd, resolved_exename (if there is one);
   safe_fd, resolve_filename, mkstemp, unlink, check_executable (wrapped).

   The same only up to 3.26.0, with FAST_EXITS: emit_AMD64Instr (wrapped), whose sixth argument is a pointer in 3.27. */
#ifndef SWITCHCOST_CORE_H
#define SWITCHCOST_CORE_H

#include "pub_tool_basics.h"

/* coregrind/pub_core_syscall.h */
extern SysRes VG_(mk_SysRes_Success)(UWord value);
extern SysRes VG_(mk_SysRes_Error)(UWord error);

/* coregrind/pub_core_clientstate.h: the first descriptor that belongs to Valgrind. */
extern Int VG_(fd_hard_limit);

/* coregrind/pub_core_libcfile.h: moves a file to a descriptor that belongs to Valgrind. */
extern Int VG_(safe_fd)(Int descriptor);

#endif
