/* Longer superblocks for hot code. GPL-2.0-or-later, see COPYING.

   Valgrind ends a superblock at a conditional branch. Most of the cost of tracing is per superblock, so frequent
   superblocks continue after their branches, in the direction that was usually taken; if a branch goes the other
   way, the superblock is left. The code after such an exit is examined, too, so that work for registers that it does
   not need is avoided. */
#include "switchcost.h"

#include "libvex.h"
#include "libvex_guest_amd64.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_vki.h"

/* Number of instructions left, of Valgrind's limit of 60, below which a superblock is not extended. */
#define LEAST_INSTRUCTIONS 10
/* Number of statements above which a superblock is not extended: Valgrind allocates memory by the number of
   instructions, and has room for fewer large ones. */
#define MOST_STATEMENTS 500
/* Number of instructions that are examined after an exit of a superblock. */
#define LOOK_AHEAD 12
/* Maximum number of shapes of a part. */
#define MOST_SHAPES 4
/* Longest instruction in bytes. */
#define LONGEST_INSTRUCTION 15

/* VEX/priv/main_globals.h, ir_opt.h and guest_generic_bb_to_IR.h */
extern VexControl vex_control;
extern void concatenate_irsbs(IRSB *to, IRSB *from);
#define TRANSLATE(name)                                                                                                \
    IRSB *name(VexGuestExtents *extents, UInt *checked_extents, UInt *instructions, UShort *jumps, UShort *conditions, \
               VexRegisterUpdates *registers, void *closure, void *disassemble, const UChar *code, Addr address,       \
               Bool (*may_chase)(void *, Addr), VexEndness endness, Bool is_sigill_told, VexArch arch,                 \
               const VexArchInfo *arch_info, const VexAbiInfo *abi, IRType word, check_function *needs_check,          \
               void *preamble, Int check_start_offset, Int check_length_offset, Int ip_offset, Int ip_bytes)
TRANSLATE(__real_bb_to_IR);
TRANSLATE(__wrap_bb_to_IR);

static Addr end_of_code(const IRSB *block)
{
    Int index = block->stmts_used - 1;

    while (index >= 0 && block->stmts[index]->tag != Ist_IMark)
        index--;
    return index < 0 ? 0 : block->stmts[index]->Ist.IMark.addr + block->stmts[index]->Ist.IMark.len;
}

/* Inverts the branch at the end of a superblock: it leaves the superblock where it would have continued. */
static void turn_round(IRSB *block)
{
    const IRStmt *exit = block->stmts[block->stmts_used - 1];
    Addr next = block->next->Iex.Const.con->Ico.U64;
    IRTemp guard = newIRTemp(block->tyenv, Ity_I1);

    block->next = IRExpr_Const(IRConst_U64(exit->Ist.Exit.dst->Ico.U64));
    block->stmts[block->stmts_used - 1] = IRStmt_WrTmp(guard, IRExpr_Unop(Iop_Not1, exit->Ist.Exit.guard));
    addStmtToIRSB(block, IRStmt_Exit(IRExpr_RdTmp(guard), Ijk_Boring, IRConst_U64(next), exit->Ist.Exit.offsIP));
}

/* Returns the one of two addresses at which the program usually continued after a part; 0 if unknown. A part may
   have several shapes. */
static Addr usual(Addr part, Addr one, Addr other)
{
    UInt steps;

    for (steps = 0; steps < MOST_SHAPES; steps++) {
        part = hot_next(part);
        if (part == one || part == other)
            return part;
    }
    return 0;
}

/* Whether the superblock is extended after its last part, by the usual successor or by the next code in memory. A
   loop that usually leads back to its start is not extended, because Valgrind unrolls it. */
static Bool goes_on(IRSB *block, Addr start, Addr part, Bool is_loop)
{
    Addr end = end_of_code(block);
    const IRStmt *last;
    Addr target, next, wanted;

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
    wanted = usual(part, target, next);
    if (wanted == 0)
        wanted = end;
    if (next != wanted && target == wanted)
        turn_round(block);
    return next == wanted || target == wanted;
}

static Bool is_covered(const VexGuestExtents *extents, Addr base, UInt bytes)
{
    UInt index;

    for (index = 0; index < extents->n_used; index++)
        if (base >= extents->base[index] && base + bytes <= extents->base[index] + extents->len[index])
            return True;
    return False;
}

/* Adds extents to a list. Returns False if there are too many. */
static Bool add_extents(VexGuestExtents *to, const VexGuestExtents *more)
{
    VexGuestExtents sum = *to;
    UInt index;

    for (index = 0; index < more->n_used; index++) {
        UInt last = sum.n_used - 1;
        if (is_covered(&sum, more->base[index], more->len[index]))
            continue;
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

/* The parameters of a translation except for its start. */
struct request {
    VexRegisterUpdates registers;
    void *closure;
    void *disassemble;
    const UChar *code;
    Addr address; /* address of the code */
    Bool (*may_chase)(void *, Addr);
    VexEndness endness;
    Bool is_sigill_told;
    VexArch arch;
    const VexArchInfo *arch_info;
    const VexAbiInfo *abi;
    IRType word;
    check_function *needs_check;
    Int check_start_offset;
    Int check_length_offset;
    Int ip_offset;
    Int ip_bytes;
};

struct part {
    IRSB *block;
    VexGuestExtents extents;
    UInt checked_extents;
    UInt instructions;
    UShort jumps;
    UShort conditions;
};

/* Translates further code of at most `most` instructions. Returns False if the code must not be examined in advance,
   or might end in the middle, because the program need never get there. */
static Bool translate_part(struct request *request, Addr address, Int most, struct part *part)
{
    const Int most_of_all = vex_control.guest_max_insns;

    if (!request->may_chase(request->closure, address)
        || !VG_(am_is_valid_for_client)(address, most * LONGEST_INSTRUCTION, VKI_PROT_READ | VKI_PROT_EXEC))
        return False;
    vex_control.guest_max_insns = most;
    part->block = __real_bb_to_IR(&part->extents, &part->checked_extents, &part->instructions, &part->jumps,
                                  &part->conditions, &request->registers, request->closure, request->disassemble,
                                  request->code + (address - request->address), address, request->may_chase,
                                  request->endness, request->is_sigill_told, request->arch, request->arch_info,
                                  request->abi, request->word, request->needs_check, NULL, request->check_start_offset,
                                  request->check_length_offset, request->ip_offset, request->ip_bytes);
    vex_control.guest_max_insns = most_of_all;
    return part->block && part->checked_extents == 0;
}

/* Examines the code after an exit of the superblock. */
static void look_behind(struct request *request, Addr address)
{
    struct part part;

    if (liveness_wants(address) && translate_part(request, address, LOOK_AHEAD, &part))
        liveness_learn(address, part.block);
}

static void look_behind_all(struct request *request, const IRSB *block)
{
    Int index;

    for (index = 0; index < block->stmts_used; index++)
        if (block->stmts[index]->tag == Ist_Exit && block->stmts[index]->Ist.Exit.jk == Ijk_Boring)
            look_behind(request, block->stmts[index]->Ist.Exit.dst->Ico.U64);
    if (block->jumpkind == Ijk_Boring && block->next->tag == Iex_Const)
        look_behind(request, block->next->Iex.Const.con->Ico.U64);
}

/* Whether the superblock that was translated last needs no exact registers at each access to memory, and the code
   after it is known. */
static Bool is_lean;

Bool superblocks_is_lean(void)
{
    return is_lean;
}

/* Turns a superblock of the program into Valgrind's intermediate language. */
TRANSLATE(__wrap_bb_to_IR)
{
    check_function *const check = generated_check(needs_check);
    const Int most = vex_control.guest_max_insns;
    const enum heat heat = hot_at(address);
    IRSB *block = __real_bb_to_IR(extents, checked_extents, instructions, jumps, conditions, registers, closure,
                                  disassemble, code, address, may_chase, endness, is_sigill_told, arch, arch_info, abi,
                                  word, check, preamble, check_start_offset, check_length_offset, ip_offset, ip_bytes);
    struct request request = {
        *registers,          closure,   disassemble, code, address, may_chase, endness,
        is_sigill_told,      arch,      arch_info,   abi,  word,    check,     check_start_offset,
        check_length_offset, ip_offset, ip_bytes,
    };
    struct part more;
    Addr part = address;

    /* If these two offsets are right, all others are. */
    tl_assert(ip_offset == offsetof(VexGuestAMD64State, guest_RIP) && ip_bytes == sizeof(Addr));
    is_lean = False;
    if (!block || preamble || *checked_extents != 0 || heat == COLD)
        return block;
    while ((Int)*instructions <= most - LEAST_INSTRUCTIONS && block->stmts_used <= MOST_STATEMENTS
           && goes_on(block, address, part, heat == HOT_LOOP)) {
        part = block->next->Iex.Const.con->Ico.U64;
        /* Duplicated code runs no faster, and which copy runs next is harder to predict. */
        if (is_covered(extents, part, 1))
            break;
        if (!translate_part(&request, part, most - *instructions, &more) || !add_extents(extents, &more.extents))
            break;
        concatenate_irsbs(block, more.block);
        *instructions += more.instructions;
        *jumps += more.jumps;
        *conditions += more.conditions;
    }
    liveness_forget();
    is_lean = *registers == VexRegUpdSpAtMemAccess;
    if (is_lean)
        look_behind_all(&request, block);
    return block;
}
