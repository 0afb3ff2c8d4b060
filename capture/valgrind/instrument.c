/* Instrumentation: each superblock itself writes the shapes that it ran, and its addresses. GPL-2.0-or-later, see
   COPYING. */
#include "builder.h"

#include "libvex_guest_amd64.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_options.h"
#include "pub_tool_tooliface.h"
#include "pub_tool_vki.h"

/* coregrind/pub_core_transtab.h: may be called when Valgrind holds no address of a translation, as in a system call
   and at the start of a time slice. */
extern void VG_(discard_translations)(Addr start, ULong bytes, const HChar *who);

/* Whether superblocks count their instructions. Not necessary for a single task, because no other task waits for the
   end of its time slice. */
static Bool is_counting;
static Bool is_any_translated;

static UInt bytes_of(const struct builder *builder, IRExpr *value)
{
    return sizeofIRType(typeOfIRExpr(builder->out->tyenv, value));
}

/* Adds the reference of a load, or of a lane of a gather. */
static void add_load(struct builder *builder, IRExpr *address, UInt bytes)
{
    const struct lane *lane = gathers_lane(address);

    if (lane)
        builder_add_guarded(builder, lane->is_on, lane->address, bytes, False);
    else
        builder_add_reference(builder, address, bytes, False);
}

static void add_guarded_load(struct builder *builder, const IRLoadG *load)
{
    IRType result, memory;

    typeOfIRLoadGOp(load->cvt, &result, &memory);
    builder_add_guarded(builder, load->guard, load->addr, sizeofIRType(memory), False);
}

static Bool is_always(IRExpr *guard)
{
    return guard->tag == Iex_Const && guard->Iex.Const.con->Ico.U1;
}

static void add_helper_access(struct builder *builder, const IRDirty *helper, Bool is_store)
{
    if (is_always(helper->guard))
        builder_add_reference(builder, helper->mAddr, helper->mSize, is_store);
    else
        builder_add_guarded(builder, helper->guard, helper->mAddr, helper->mSize, is_store);
}

static void add_helper(struct builder *builder, const IRDirty *helper)
{
    if (helper->mFx == Ifx_Read || helper->mFx == Ifx_Modify)
        add_helper_access(builder, helper, False);
    if (helper->mFx == Ifx_Write || helper->mFx == Ifx_Modify)
        add_helper_access(builder, helper, True);
}

static void add_compare_and_swap(struct builder *builder, const IRCAS *swap)
{
    UInt bytes = bytes_of(builder, swap->dataLo) * (swap->dataHi ? 2 : 1);

    builder_add_reference(builder, swap->addr, bytes, False);
    builder_add_reference(builder, swap->addr, bytes, True);
}

static void add_linked(struct builder *builder, const IRStmt *statement)
{
    IRExpr *stored = statement->Ist.LLSC.storedata;

    if (stored)
        builder_add_reference(builder, statement->Ist.LLSC.addr, bytes_of(builder, stored), True);
    else
        builder_add_reference(builder, statement->Ist.LLSC.addr,
                              sizeofIRType(typeOfIRTemp(builder->out->tyenv, statement->Ist.LLSC.result)), False);
}

static Bool is_mark(const IRStmt *statement)
{
    return statement && statement->tag == Ist_IMark;
}

/* Returns about how many explicit addresses the instruction at an address has. A repeated address counts twice. */
static UInt count_explicit(const struct builder *builder, const IRSB *in, Int index)
{
    UInt explicit = 0;

    for (index++; index < in->stmts_used && !is_mark(in->stmts[index]); index++) {
        const IRStmt *statement = in->stmts[index];
        if (!statement)
            continue;
        switch (statement->tag) {
        case Ist_WrTmp:
            origins_learn(statement->Ist.WrTmp.tmp, statement->Ist.WrTmp.data);
            if (statement->Ist.WrTmp.data->tag == Iex_Load)
                explicit += builder_is_explicit(builder, statement->Ist.WrTmp.data->Iex.Load.addr);
            break;
        case Ist_Store:
            explicit += builder_is_explicit(builder, statement->Ist.Store.addr);
            break;
        case Ist_CAS:
            explicit += builder_is_explicit(builder, statement->Ist.CAS.details->addr);
            break;
        case Ist_LoadG:
        case Ist_StoreG:
        case Ist_LLSC:
            explicit += 1;
            break;
        case Ist_Dirty:
            explicit += statement->Ist.Dirty.details->mFx != Ifx_None;
            break;
        default:
            break;
        }
    }
    return explicit;
}

/* Reports an instruction that Valgrind does not know. The program gets a signal for it. Some programs raise this
   signal on purpose (UD2 and similar instructions), which is not reported. */
static void tell_undecoded(Addr address)
{
    const UChar *code = (const UChar *)address;
    ULong bytes = *code;

    if (VG_(am_is_valid_for_client)(address, sizeof bytes, VKI_PROT_READ))
        VG_(memcpy)(&bytes, code, sizeof bytes);
    if ((bytes & 0xffff) != 0x0b0f && (bytes & 0xffff) != 0xb90f && (bytes & 0xffff) != 0xff0f)
        ring_note_undecoded(VG_(getpid)(), bytes);
}

/* Returns an exit. Before the exit, everything that has happened so far is written to the stream. */
static IRStmt *leave(struct builder *builder, IRStmt *exit)
{
    const Addr target = exit->Ist.Exit.dst->Ico.U64;
    Addr marked = 0;

    if (superblocks_is_lean() && exit->Ist.Exit.jk == Ijk_Boring && exit->Ist.Exit.guard->tag == Iex_RdTmp)
        marked = builder_commit_at(builder, target);
    if (marked == 0)
        builder_commit(builder);
    /* Exits that repeat the same instruction do not count. */
    if (exit->Ist.Exit.jk == Ijk_Boring && target != builder->instruction)
        builder->is_branch = True;
    return marked == 0
               ? exit
               : IRStmt_Exit(exit->Ist.Exit.guard, exit->Ist.Exit.jk, IRConst_U64(marked), exit->Ist.Exit.offsIP);
}

/* Writes to the stream what a statement does, before the statement itself. Returns the statement, or one that
   replaces it. */
static IRStmt *observe(struct builder *builder, const IRSB *in, Int index)
{
    IRStmt *statement = in->stmts[index];

    switch (statement->tag) {
    case Ist_IMark:
        /* An instruction that cannot be decoded has length 0. */
        if (statement->Ist.IMark.len == 0)
            tell_undecoded(statement->Ist.IMark.addr);
        gathers_begin(statement->Ist.IMark.addr, statement->Ist.IMark.len);
        builder_add_instruction(builder, statement->Ist.IMark.addr,
                                statement->Ist.IMark.len ? statement->Ist.IMark.len : 1,
                                count_explicit(builder, in, index));
        break;
    case Ist_WrTmp:
        origins_learn(statement->Ist.WrTmp.tmp, statement->Ist.WrTmp.data);
        gathers_learn(statement->Ist.WrTmp.tmp, statement->Ist.WrTmp.data);
        if (statement->Ist.WrTmp.data->tag == Iex_Load)
            add_load(builder, statement->Ist.WrTmp.data->Iex.Load.addr,
                     sizeofIRType(statement->Ist.WrTmp.data->Iex.Load.ty));
        break;
    case Ist_Store:
        builder_add_reference(builder, statement->Ist.Store.addr, bytes_of(builder, statement->Ist.Store.data), True);
        break;
    case Ist_LoadG:
        add_guarded_load(builder, statement->Ist.LoadG.details);
        break;
    case Ist_StoreG:
        builder_add_guarded(builder, statement->Ist.StoreG.details->guard, statement->Ist.StoreG.details->addr,
                            bytes_of(builder, statement->Ist.StoreG.details->data), True);
        break;
    case Ist_Dirty:
        add_helper(builder, statement->Ist.Dirty.details);
        break;
    case Ist_CAS:
        add_compare_and_swap(builder, statement->Ist.CAS.details);
        break;
    case Ist_LLSC:
        add_linked(builder, statement);
        break;
    case Ist_Exit:
        return leave(builder, statement);
    default:
        break;
    }
    return statement;
}

struct live *live_of(VexGuestAMD64State *guest)
{
    return (struct live *)((UChar *)guest + LIVE_OFFSET);
}

/* Called by generated code at the start of a superblock if the kernel has taken the CPU away since the last
   superblock. */
static void at_preemption(VexGuestAMD64State *guest)
{
    live = *live_of(guest);
    stamps_preempted();
    *live_of(guest) = live;
}

/* if (*watch == 0) at_preemption(); */
static void add_watch(struct builder *builder)
{
    IRExpr *watch = IRExpr_RdTmp(builder_load(builder, WATCH_OFFSET));
    IRExpr *section = builder_assign(builder, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, watch));
    IRDirty *call =
        unsafeIRDirty_0_N(0, "at_preemption", VG_(fnptr_to_fnentry)(at_preemption), mkIRExprVec_1(IRExpr_GSPTR()));

    call->guard = builder_assign(builder, Ity_I1, IRExpr_Binop(Iop_CmpEQ64, section, IRExpr_Const(IRConst_U64(0))));
    /* A helper that gets the guest state must declare which part it changes. The changed part is after the guest
       state, but Valgrind requires a name. */
    call->nFxState = 1;
    call->fxState[0].fx = Ifx_Modify;
    call->fxState[0].offset = offsetof(VexGuestAMD64State, host_EvC_COUNTER);
    call->fxState[0].size = sizeof(UInt);
    call->fxState[0].nRepeats = 0;
    call->fxState[0].repeatLen = 0;
    addStmtToIRSB(builder->out, IRStmt_Dirty(call));
}

/* Makes a large superblock count as several, so that fewer superblocks run before the next check. The counter must
   not fall below 0, which would mean that Valgrind has stopped the run. */
static void add_weight(struct builder *builder, UInt others)
{
    const Int offset = offsetof(VexGuestAMD64State, host_EvC_COUNTER);
    IRExpr *zero = IRExpr_Const(IRConst_U32(0));
    IRExpr *left = builder_assign(builder, Ity_I32, IRExpr_Get(offset, Ity_I32));
    IRExpr *less = builder_assign(builder, Ity_I32, IRExpr_Binop(Iop_Sub32, left, IRExpr_Const(IRConst_U32(others))));
    IRExpr *is_less = builder_assign(builder, Ity_I1, IRExpr_Binop(Iop_CmpLT32S, less, zero));

    addStmtToIRSB(builder->out, IRStmt_Put(offset, builder_assign(builder, Ity_I32, IRExpr_ITE(is_less, zero, less))));
}

/* Copies a superblock, and adds the code that writes to the stream. */
static void copy(struct builder *builder, const IRSB *in, UInt others)
{
    Int index = 0;

    builder->out = deepCopyIRSBExceptStmts(in);
    exits_forget();
    origins_forget(in->tyenv->types_used);
    while (index < in->stmts_used && !is_mark(in->stmts[index]))
        addStmtToIRSB(builder->out, in->stmts[index++]);
    if (is_as_run())
        add_watch(builder);
    if (others > 0)
        add_weight(builder, others);
    builder_begin(builder, is_counting);
    for (; index < in->stmts_used; index++) {
        if (!in->stmts[index] || in->stmts[index]->tag == Ist_NoOp)
            continue;
        addStmtToIRSB(builder->out, observe(builder, in, index));
    }
    builder_commit(builder);
}

static IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
                        const VexGuestExtents *extents, const VexArchInfo *host, IRType word, IRType host_word)
{
    struct builder first = { 0 }, second = { 0 };
    UInt shares;

    (void)closure, (void)extents, (void)host, (void)word, (void)host_word;
    tl_assert(layout->total_sizeB == LIVE_OFFSET);
    is_any_translated = True;
    if (superblocks_is_lean())
        liveness_clean(in);
    copy(&first, in, 0);
    shares = stream_shares(first.words, first.instructions);
    if (shares == 1)
        return first.out;
    copy(&second, in, shares - 1);
    return second.out;
}

static void translate_again(const HChar *why)
{
    if (is_any_translated)
        VG_(discard_translations)(0, ~0ULL, why);
}

/* Makes superblocks count their instructions from now on. */
void instrument_counting(void)
{
    if (is_counting)
        return;
    is_counting = True;
    translate_again("switchcost: turns may end");
}

/* Makes all registers exact at each access to memory from now on. Programs that examine registers at a fault and
   continue need this. Otherwise registers are exact only between superblocks, which is a fifth faster (as in
   Cachegrind). */
void instrument_exactly(void)
{
    if (VG_(clo_px_file_backed) == VexRegUpdAllregsAtMemAccess)
        return;
    VG_(clo_px_file_backed) = VexRegUpdAllregsAtMemAccess;
    translate_again("switchcost: a handler of faults");
}

static void finish(Int exit_code)
{
    (void)exit_code;
}

void instrument_register(void (*start)(void))
{
    /* Code that is in no file was generated by the program. Such programs usually handle faults. */
    VG_(clo_vex_control).iropt_register_updates_default = VexRegUpdAllregsAtMemAccess;
    VG_(clo_px_file_backed) = VexRegUpdSpAtMemAccess;
    VG_(basic_tool_funcs)(start, instrument, finish);
}
