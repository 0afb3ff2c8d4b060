/* Instrumentation: each superblock writes what it ran, and its addresses, by itself. GPL-2.0-or-later, see COPYING.

   A block is a run of instructions that follow one another in memory. A superblock begins one at its first instruction
   and wherever its code jumps, might have jumped, or a block would be too long. Its blocks have one shape together. Before each exit it
   writes the id of the shape that it has up to there, and moves the cursor; where the exit is not taken, the shape goes
   on in the same place, so that the next id overwrites the last. What a fault cuts off is therefore not counted: the
   cursor has not moved yet. */
#include "switchcost.h"

#include "libvex_guest_amd64.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_machine.h"
#include "pub_tool_options.h"
#include "pub_tool_tooliface.h"

/* coregrind/pub_core_transtab.h: allowed where Valgrind holds no address of a translation, as in a system call and at the start of
   a turn. */
extern void VG_(discard_translations)(Addr start, ULong bytes, const HChar *who);

/* Superblocks count their instructions. A task that is alone need not: nobody waits for the end of its turn. */
static Bool is_counting;
static Bool is_any_translated;

/* Where struct live lies in the guest state: the first shadow area, right behind the guest's registers. */
#define LIVE_OFFSET ((Int)sizeof(VexGuestAMD64State))
#define CURSOR_OFFSET (LIVE_OFFSET + (Int)offsetof(struct live, cursor))
#define BUDGET_OFFSET (LIVE_OFFSET + (Int)offsetof(struct live, budget))
#define WATCH_OFFSET (LIVE_OFFSET + (Int)offsetof(struct live, watch))

/* Told addresses of a shape; where one instruction tells more, so does its shape. */
#define LANES 4

/* A reference of a larger piece of memory is written as several. */
#define LARGEST_PIECE 1024

/* A reference whose address is written: where it comes from. */
struct told {
    struct origin origin;
    UInt reference;
};

struct builder {
    IRSB *out;
    IRTemp cursor;
    IRTemp budget;
    UInt head_word;     /* where the shape's head goes, in words from the cursor */
    UInt words;         /* written so far, the head included */
    UInt instructions;  /* so far, of the whole superblock */
    Bool is_written;    /* the head stands in the buffer as the shape is now */
    Bool is_committed;  /* and the cursor is behind it */
    Bool is_branch;     /* the last instruction may jump: its block ends with it */
    Addr instruction;   /* address of the last one */
    struct shape shape;
    UInt told_count;
    struct told told[MOST_REFERENCES];
    IRExpr *last_load;  /* address of the load just before, if a store may belong to it */
    UInt last_load_bytes;
};

static IRExpr *constant(ULong value)
{
    return IRExpr_Const(IRConst_U64(value));
}

static IRExpr *assign(struct builder *builder, IRType type, IRExpr *value)
{
    IRTemp temp = newIRTemp(builder->out->tyenv, type);

    addStmtToIRSB(builder->out, IRStmt_WrTmp(temp, value));
    return IRExpr_RdTmp(temp);
}

static IRTemp load(struct builder *builder, Int offset)
{
    return assign(builder, Ity_I64, IRExpr_Get(offset, Ity_I64))->Iex.RdTmp.tmp;
}

static IRExpr *place(struct builder *builder, UInt word)
{
    if (word == 0)
        return IRExpr_RdTmp(builder->cursor);
    return assign(builder, Ity_I64, IRExpr_Binop(Iop_Add64, IRExpr_RdTmp(builder->cursor), constant(word * 8)));
}

static void write_word(struct builder *builder, UInt word, IRExpr *value)
{
    addStmtToIRSB(builder->out, IRStmt_Store(Iend_LE, place(builder, word), value));
}

/* The blocks as they are now get their head. */
static void write_head(struct builder *builder)
{
    const struct shape *shape = &builder->shape;

    if (builder->is_written || shape->blocks == 0)
        return;
    write_word(builder, builder->head_word,
               constant(SC_BLOCK << 56 | (ULong)(shape->references - shape->untold) << 32 | shapes_define(shape)));
    builder->is_written = True;
}

static void count(struct builder *builder)
{
    IRExpr *left = assign(builder, Ity_I64, IRExpr_Binop(Iop_Sub64, IRExpr_RdTmp(builder->budget),
                                                         constant(builder->instructions)));

    addStmtToIRSB(builder->out, IRStmt_Put(BUDGET_OFFSET, left));
}

/* All that has happened so far counts. */
static void commit(struct builder *builder)
{
    builder->last_load = NULL;
    write_head(builder);
    if (builder->is_committed)
        return;
    addStmtToIRSB(builder->out, IRStmt_Put(CURSOR_OFFSET, place(builder, builder->words)));
    if (is_counting)
        count(builder);
    builder->is_committed = True;
}

static void begin_shape(struct builder *builder)
{
    write_head(builder);
    builder->head_word = builder->words;
    builder->words += 1;
    builder->shape.blocks = 0;
    builder->shape.references = 0;
    builder->shape.untold = 0;
    builder->told_count = 0;
}

/* Half of the room is left for the references of one instruction. */
static Bool has_room(const struct shape *shape)
{
    return shape->references + shape->untold <= MOST_REFERENCES / 2;
}

/* The reader takes so many told addresses of a shape at once; those of more take it several times as long. */
static Bool has_lanes(const struct builder *builder, UInt more)
{
    return builder->told_count == 0 || builder->told_count + more <= LANES;
}

static void begin_block(struct builder *builder, Addr address, UInt tells)
{
    struct shape *shape = &builder->shape;

    if (shape->blocks == 0 || shape->blocks == MOST_BLOCKS || !has_room(shape) || !has_lanes(builder, tells))
        begin_shape(builder);
    shape->block[shape->blocks++] = (struct block){ .address = address };
}

static struct block *last_block(struct shape *shape)
{
    return &shape->block[shape->blocks - 1];
}

static Bool continues_block(struct shape *shape, Addr address, UInt bytes)
{
    return shape->blocks > 0 && has_room(shape) && last_block(shape)->address + last_block(shape)->bytes == address
        && last_block(shape)->bytes + bytes <= LONGEST_BLOCK;
}

static void add_instruction(struct builder *builder, Addr address, UInt bytes, UInt tells)
{
    struct shape *shape = &builder->shape;
    struct block *block;

    if (builder->is_branch || !continues_block(shape, address, bytes) || !has_lanes(builder, tells))
        begin_block(builder, address, tells);
    block = last_block(shape);
    if (block->instructions == 0)
        block->first_bytes = bytes;
    block->instructions += 1;
    block->bytes += bytes;
    builder->instructions += 1;
    builder->instruction = address;
    builder->is_branch = False;
    builder->last_load = NULL;
    builder->is_written = False;
    builder->is_committed = False;
}

/* bit 33 of a reference: a store to where the same instruction has just loaded. Cachegrind counts the two as one. */
static Bool is_update(const struct builder *builder, IRExpr *address, UInt bytes, Bool is_store)
{
    return is_store && builder->last_load && builder->last_load_bytes == bytes
        && eqIRAtom(builder->last_load, address);
}

static void note_piece(struct builder *builder, UInt bytes, Bool is_store, Bool is_updated, ULong how)
{
    struct shape *shape = &builder->shape;
    struct block *block = last_block(shape);

    tl_assert(shape->blocks > 0 && shape->references < MOST_REFERENCES);
    block->references += 1;
    shape->reference[shape->references++] = (block->bytes - 1) | (ULong)bytes << 16 | (ULong)is_store << 32
                                          | (ULong)is_updated << 33 | how;
    builder->is_written = False;
    builder->is_committed = False;
}

static void tell_piece(struct builder *builder, IRExpr *address, UInt bytes, Bool is_store, Bool is_updated, ULong how)
{
    note_piece(builder, bytes, is_store, is_updated, how << 34);
    write_word(builder, builder->words, address);
    builder->words += 1;
}

/* The told reference of the shape from which one of that origin is always as far; NULL for none. */
static const struct told *relative_of(const struct builder *builder, struct origin origin)
{
    Int index = builder->told_count - 1;

    while (index >= 0 && builder->told[index].origin.base != origin.base)
        index--;
    return index < 0 ? NULL : &builder->told[index];
}

/* The address need not be written where it is always the same, or always as far from one that is written. */
static Bool is_untold(struct builder *builder, struct origin origin, UInt bytes, Bool is_store, Bool is_updated)
{
    struct shape *shape = &builder->shape;
    ULong how = SC_FIXED << 34;
    ULong address = origin.offset;

    if (shape->references + shape->untold + 2 > MOST_REFERENCES)
        return False;
    if (origin.base != IRTemp_INVALID) {
        const struct told *base = relative_of(builder, origin);
        if (!base)
            return False;
        how = SC_RELATIVE << 34 | (ULong)base->reference << 40;
        address -= base->origin.offset;
    }
    note_piece(builder, bytes, is_store, is_updated, how);
    shape->untold_address[shape->untold++] = address;
    return True;
}

static void add_piece(struct builder *builder, IRExpr *address, UInt done, UInt bytes, Bool is_store, Bool is_updated)
{
    struct origin origin = origins_of(address);
    struct told *told = &builder->told[builder->told_count];

    origin.offset += done;
    if (is_untold(builder, origin, bytes, is_store, is_updated))
        return;
    told->origin = origin;
    told->reference = builder->shape.references;
    builder->told_count += 1;
    if (done != 0)
        address = assign(builder, Ity_I64, IRExpr_Binop(Iop_Add64, address, constant(done)));
    tell_piece(builder, address, bytes, is_store, is_updated, SC_TOLD);
}

static void add_reference(struct builder *builder, IRExpr *address, UInt bytes, Bool is_store)
{
    Bool is_updated = is_update(builder, address, bytes, is_store);
    UInt done;

    tl_assert(isIRAtom(address));
    for (done = 0; done < bytes; done += LARGEST_PIECE) {
        UInt piece = bytes - done < LARGEST_PIECE ? bytes - done : LARGEST_PIECE;
        add_piece(builder, address, done, piece, is_store, is_updated);
    }
    builder->last_load = is_store ? NULL : address;
    builder->last_load_bytes = bytes;
}

/* A guarded one always takes its word, so that a shape has a fixed length. */
static void add_guarded(struct builder *builder, IRExpr *guard, IRExpr *address, UInt bytes, Bool is_store)
{
    UInt done;

    for (done = 0; done < bytes; done += LARGEST_PIECE) {
        UInt piece = bytes - done < LARGEST_PIECE ? bytes - done : LARGEST_PIECE;
        IRExpr *start = done == 0 ? address
                      : assign(builder, Ity_I64, IRExpr_Binop(Iop_Add64, address, constant(done)));
        IRExpr *word = assign(builder, Ity_I64, IRExpr_ITE(guard, start, constant(SC_NOT_DONE)));
        tell_piece(builder, word, piece, is_store, False, SC_GUARDED);
    }
    builder->last_load = NULL;
}

static UInt bytes_of(const struct builder *builder, IRExpr *value)
{
    return sizeofIRType(typeOfIRExpr(builder->out->tyenv, value));
}

static void add_guarded_load(struct builder *builder, const IRLoadG *load)
{
    IRType result, memory;

    typeOfIRLoadGOp(load->cvt, &result, &memory);
    add_guarded(builder, load->guard, load->addr, sizeofIRType(memory), False);
}

static Bool is_always(IRExpr *guard)
{
    return guard->tag == Iex_Const && guard->Iex.Const.con->Ico.U1;
}

static void add_helper_access(struct builder *builder, const IRDirty *helper, Bool is_store)
{
    if (is_always(helper->guard))
        add_reference(builder, helper->mAddr, helper->mSize, is_store);
    else
        add_guarded(builder, helper->guard, helper->mAddr, helper->mSize, is_store);
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

    add_reference(builder, swap->addr, bytes, False);
    add_reference(builder, swap->addr, bytes, True);
}

static void add_linked(struct builder *builder, const IRStmt *statement)
{
    IRExpr *stored = statement->Ist.LLSC.storedata;

    if (stored)
        add_reference(builder, statement->Ist.LLSC.addr, bytes_of(builder, stored), True);
    else
        add_reference(builder, statement->Ist.LLSC.addr,
                      sizeofIRType(typeOfIRTemp(builder->out->tyenv, statement->Ist.LLSC.result)), False);
}

static Bool is_new(const struct builder *builder, const IRExpr *address)
{
    struct origin origin = origins_of(address);

    return origin.base != IRTemp_INVALID && !relative_of(builder, origin);
}

static Bool is_mark(const IRStmt *statement)
{
    return statement && statement->tag == Ist_IMark;
}

/* How many addresses the instruction that begins there tells, roughly: twice the same counts twice. */
static UInt count_told(const struct builder *builder, const IRSB *in, Int index)
{
    UInt tells = 0;

    for (index++; index < in->stmts_used && !is_mark(in->stmts[index]); index++) {
        const IRStmt *statement = in->stmts[index];
        if (!statement)
            continue;
        switch (statement->tag) {
        case Ist_WrTmp:
            origins_learn(statement->Ist.WrTmp.tmp, statement->Ist.WrTmp.data);
            if (statement->Ist.WrTmp.data->tag == Iex_Load)
                tells += is_new(builder, statement->Ist.WrTmp.data->Iex.Load.addr);
            break;
        case Ist_Store:
            tells += is_new(builder, statement->Ist.Store.addr);
            break;
        case Ist_CAS:
            tells += is_new(builder, statement->Ist.CAS.details->addr);
            break;
        case Ist_LoadG:
        case Ist_StoreG:
        case Ist_LLSC:
            tells += 1;
            break;
        case Ist_Dirty:
            tells += statement->Ist.Dirty.details->mFx != Ifx_None;
            break;
        default:
            break;
        }
    }
    return tells;
}

/* What the statement does, for the stream: written before the statement itself. */
static void observe(struct builder *builder, const IRSB *in, Int index)
{
    const IRStmt *statement = in->stmts[index];

    switch (statement->tag) {
    case Ist_IMark:
        /* Of no length where it cannot be decoded. */
        add_instruction(builder, statement->Ist.IMark.addr, statement->Ist.IMark.len ? statement->Ist.IMark.len : 1,
                        count_told(builder, in, index));
        break;
    case Ist_WrTmp:
        origins_learn(statement->Ist.WrTmp.tmp, statement->Ist.WrTmp.data);
        if (statement->Ist.WrTmp.data->tag == Iex_Load)
            add_reference(builder, statement->Ist.WrTmp.data->Iex.Load.addr,
                          sizeofIRType(statement->Ist.WrTmp.data->Iex.Load.ty), False);
        break;
    case Ist_Store:
        add_reference(builder, statement->Ist.Store.addr, bytes_of(builder, statement->Ist.Store.data), True);
        break;
    case Ist_LoadG:
        add_guarded_load(builder, statement->Ist.LoadG.details);
        break;
    case Ist_StoreG:
        add_guarded(builder, statement->Ist.StoreG.details->guard, statement->Ist.StoreG.details->addr,
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
        commit(builder);
        /* Not one that does the same instruction again. */
        if (statement->Ist.Exit.jk == Ijk_Boring && statement->Ist.Exit.dst->Ico.U64 != builder->instruction)
            builder->is_branch = True;
        break;
    default:
        break;
    }
}

struct live *live_of(VexGuestAMD64State *guest)
{
    return (struct live *)((UChar *)guest + LIVE_OFFSET);
}

/* Called by generated code at the start of a superblock where the kernel has taken the CPU away since the last one. */
static void at_preemption(VexGuestAMD64State *guest)
{
    live = *live_of(guest);
    stamps_preempted();
    *live_of(guest) = live;
}

/* if (*watch == 0) at_preemption(); */
static void add_watch(struct builder *builder)
{
    IRExpr *section = assign(builder, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, IRExpr_RdTmp(load(builder, WATCH_OFFSET))));
    IRDirty *call = unsafeIRDirty_0_N(0, "at_preemption", VG_(fnptr_to_fnentry)(at_preemption),
                                      mkIRExprVec_1(IRExpr_GSPTR()));

    call->guard = assign(builder, Ity_I1, IRExpr_Binop(Iop_CmpEQ64, section, constant(0)));
    /* Who is given the guest state must say what it changes of it. That is behind it; something must be named. */
    call->nFxState = 1;
    call->fxState[0].fx = Ifx_Modify;
    call->fxState[0].offset = offsetof(VexGuestAMD64State, host_EvC_COUNTER);
    call->fxState[0].size = sizeof(UInt);
    call->fxState[0].nRepeats = 0;
    call->fxState[0].repeatLen = 0;
    addStmtToIRSB(builder->out, IRStmt_Dirty(call));
}

static IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
                        const VexGuestExtents *extents, const VexArchInfo *host, IRType word, IRType host_word)
{
    struct builder builder = { .out = deepCopyIRSBExceptStmts(in) };
    Int index = 0;

    (void)closure, (void)extents, (void)host, (void)word, (void)host_word;
    tl_assert(layout->total_sizeB == LIVE_OFFSET);
    is_any_translated = True;
    origins_forget(in->tyenv->types_used);
    while (index < in->stmts_used && !is_mark(in->stmts[index]))
        addStmtToIRSB(builder.out, in->stmts[index++]);
    if (is_as_run())
        add_watch(&builder);
    builder.cursor = load(&builder, CURSOR_OFFSET);
    if (is_counting)
        builder.budget = load(&builder, BUDGET_OFFSET);
    for (; index < in->stmts_used; index++) {
        if (!in->stmts[index] || in->stmts[index]->tag == Ist_NoOp)
            continue;
        observe(&builder, in, index);
        addStmtToIRSB(builder.out, in->stmts[index]);
    }
    commit(&builder);
    stream_need(builder.words, builder.instructions);
    return builder.out;
}

static void translate_again(const HChar *why)
{
    if (is_any_translated)
        VG_(discard_translations)(0, ~0ULL, why);
}

/* From now on. */
void instrument_counting(void)
{
    if (is_counting)
        return;
    is_counting = True;
    translate_again("switchcost: turns may end");
}

/* All registers are exact at each access to memory from now on: the program looks at them where one faults, and goes on from
   there. Where it does not, they need be so between superblocks only, which is a fifth faster (as Cachegrind has it). */
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
    /* Code that is in no file was made by the program itself, and such programs handle faults more often than not. */
    VG_(clo_vex_control).iropt_register_updates_default = VexRegUpdAllregsAtMemAccess;
    VG_(clo_px_file_backed) = VexRegUpdSpAtMemAccess;
    VG_(basic_tool_funcs)(start, instrument, finish);
}
