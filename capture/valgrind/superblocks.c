/* Longer superblocks where they are hot. GPL-2.0-or-later, see COPYING.

   Valgrind ends a superblock at a conditional branch. Most cost of tracing is one for each superblock, so that those that
   run often go on behind their branches, along the code that follows in memory; where a branch is taken they are left. */
#include "switchcost.h"

#include "libvex.h"
#include "libvex_guest_amd64.h"
#include "pub_tool_libcassert.h"

/* Valgrind's own limit is 60; with fewer than this left, it does not go on. */
#define LEAST_INSTRUCTIONS 10
/* Nor where it has more statements than usual: Valgrind allots memory by the number of instructions, and takes fewer of
   large ones. */
#define MOST_STATEMENTS 500

/* VEX/priv/main_globals.h, ir_opt.h and guest_generic_bb_to_IR.h */
extern VexControl vex_control;
extern void concatenate_irsbs(IRSB *to, IRSB *from);
#define TRANSLATE(name) \
    IRSB *name(VexGuestExtents *extents, UInt *checked_extents, UInt *instructions, UShort *jumps, UShort *conditions, \
               VexRegisterUpdates *registers, void *closure, void *disassemble, const UChar *code, Addr address, \
               Bool (*may_chase)(void *, Addr), VexEndness endness, Bool is_sigill_told, VexArch arch, \
               const VexArchInfo *arch_info, const VexAbiInfo *abi, IRType word, void *needs_check, void *preamble, \
               Int check_start_offset, Int check_length_offset, Int ip_offset, Int ip_bytes)
TRANSLATE(__real_bb_to_IR);
TRANSLATE(__wrap_bb_to_IR);

static Addr end_of_code(const IRSB *block)
{
    Int index = block->stmts_used - 1;

    while (index >= 0 && block->stmts[index]->tag != Ist_IMark)
        index--;
    return index < 0 ? 0 : block->stmts[index]->Ist.IMark.addr + block->stmts[index]->Ist.IMark.len;
}

/* The branch at the end goes the other way, and is left where it would have gone on. */
static void turn_round(IRSB *block)
{
    const IRStmt *exit = block->stmts[block->stmts_used - 1];
    Addr next = block->next->Iex.Const.con->Ico.U64;
    IRTemp guard = newIRTemp(block->tyenv, Ity_I1);

    block->next = IRExpr_Const(IRConst_U64(exit->Ist.Exit.dst->Ico.U64));
    block->stmts[block->stmts_used - 1] = IRStmt_WrTmp(guard, IRExpr_Unop(Iop_Not1, exit->Ist.Exit.guard));
    addStmtToIRSB(block, IRStmt_Exit(IRExpr_RdTmp(guard), Ijk_Boring, IRConst_U64(next), exit->Ist.Exit.offsIP));
}

/* Whether it goes on with the code that follows it. A loop that mostly leads back to its start does not: Valgrind unrolls it. */
static Bool goes_on(IRSB *block, Addr start, Bool is_loop)
{
    Addr end = end_of_code(block);
    const IRStmt *last;
    Addr target, next;

    if (block->jumpkind != Ijk_Boring || block->next->tag != Iex_Const || block->stmts_used == 0)
        return False;
    next = block->next->Iex.Const.con->Ico.U64;
    last = block->stmts[block->stmts_used - 1];
    if (last->tag != Ist_Exit)
        return next == end;
    target = last->Ist.Exit.dst->Ico.U64;
    if (last->Ist.Exit.jk != Ijk_Boring || last->Ist.Exit.guard->tag != Iex_RdTmp)
        return False;
    if (is_loop && (target == start || next == start))
        return False;
    if (next != end && target == end)
        turn_round(block);
    return next == end || target == end;
}

/* False where there are too many. */
static Bool add_extents(VexGuestExtents *to, const VexGuestExtents *more)
{
    VexGuestExtents sum = *to;
    UInt index;

    for (index = 0; index < more->n_used; index++) {
        UInt last = sum.n_used - 1;
        if (sum.base[last] + sum.len[last] == more->base[index]) {
            sum.len[last] += more->len[index];
            continue;
        }
        if (sum.n_used == sizeof sum.base / sizeof sum.base[0])
            return False;
        sum.base[sum.n_used] = more->base[index];
        sum.len[sum.n_used] = more->len[index];
        sum.n_used += 1;
    }
    *to = sum;
    return True;
}

/* Turns a superblock of the program into Valgrind's own language. */
TRANSLATE(__wrap_bb_to_IR)
{
    const Int most = vex_control.guest_max_insns;
    const enum heat heat = hot_at(address);
    IRSB *block = __real_bb_to_IR(extents, checked_extents, instructions, jumps, conditions, registers, closure,
                                  disassemble, code, address, may_chase, endness, is_sigill_told, arch, arch_info, abi,
                                  word, needs_check, preamble, check_start_offset, check_length_offset, ip_offset,
                                  ip_bytes);

    /* That these are where they belong says that the others are. */
    tl_assert(ip_offset == offsetof(VexGuestAMD64State, guest_RIP) && ip_bytes == sizeof(Addr));
    if (preamble || *checked_extents != 0 || heat == COLD)
        return block;
    while ((Int)*instructions <= most - LEAST_INSTRUCTIONS && block->stmts_used <= MOST_STATEMENTS
           && goes_on(block, address, heat == HOT_LOOP)) {
        Addr next = block->next->Iex.Const.con->Ico.U64;
        VexGuestExtents more_extents;
        UInt more_checked, more_instructions;
        UShort more_jumps, more_conditions;
        IRSB *more;

        if (!may_chase(closure, next))
            break;
        vex_control.guest_max_insns = most - *instructions;
        more = __real_bb_to_IR(&more_extents, &more_checked, &more_instructions, &more_jumps, &more_conditions,
                               registers, closure, disassemble, code + (next - address), next, may_chase, endness,
                               is_sigill_told, arch, arch_info, abi, word, needs_check, NULL, check_start_offset,
                               check_length_offset, ip_offset, ip_bytes);
        vex_control.guest_max_insns = most;
        if (more_checked != 0 || !add_extents(extents, &more_extents))
            break;
        concatenate_irsbs(block, more);
        *instructions += more_instructions;
        *jumps += more_jumps;
        *conditions += more_conditions;
    }
    return block;
}
