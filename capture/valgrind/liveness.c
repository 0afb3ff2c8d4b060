/* Writes to registers that are never read. GPL-2.0-or-later, see COPYING.

   At each exit of a superblock, Valgrind brings all registers up to date, including flags and program counter. If the
   code that follows writes a register before it reads it, this is not necessary. That is so for most flags.

   This module applies to code in which registers need not be exact at each access to memory. */
#include "switchcost.h"

#include "libvex_guest_amd64.h"
#include "pub_tool_libcassert.h"

#define MOST_TARGETS 32
#define WORD_BITS 64
#define BYTES 1024
/* Address at which there is no code. */
#define NOWHERE (~0UL)

/* One bit for each byte of the guest's registers: whether the byte may be read before it is written again. */
struct registers {
    ULong word[BYTES / WORD_BITS];
};

struct target {
    Addr address;
    struct registers needed;
};

static struct target targets[MOST_TARGETS];
static UInt target_count;

static void read_all(struct registers *needed)
{
    UInt word;

    tl_assert(sizeof(VexGuestAMD64State) <= BYTES);
    for (word = 0; word < BYTES / WORD_BITS; word++)
        needed->word[word] = ~0ULL;
}

static void read_bytes(struct registers *needed, Int offset, Int bytes)
{
    for (; bytes > 0; bytes--, offset++)
        needed->word[offset / WORD_BITS] |= 1ULL << offset % WORD_BITS;
}

static void write_bytes(struct registers *needed, Int offset, Int bytes)
{
    for (; bytes > 0; bytes--, offset++)
        needed->word[offset / WORD_BITS] &= ~(1ULL << offset % WORD_BITS);
}

static Bool is_any_read(const struct registers *needed, Int offset, Int bytes)
{
    for (; bytes > 0; bytes--, offset++)
        if (needed->word[offset / WORD_BITS] >> offset % WORD_BITS & 1)
            return True;
    return False;
}

static void read_array(struct registers *needed, const IRRegArray *array)
{
    read_bytes(needed, array->base, array->nElems * sizeofIRType(array->elemTy));
}

static void read_both(struct registers *needed, const struct registers *more)
{
    UInt word;

    for (word = 0; word < BYTES / WORD_BITS; word++)
        needed->word[word] |= more->word[word];
}

static const struct target *target_at(Addr address)
{
    UInt index;

    for (index = 0; index < target_count; index++)
        if (targets[index].address == address)
            return &targets[index];
    return NULL;
}

/* Returns the registers that may be read after a superblock is left for an address. The exit itself writes the
   program counter. */
static struct registers read_at(Addr address)
{
    struct registers needed;
    const struct target *target = target_at(address);

    if (target)
        needed = target->needed;
    else
        read_all(&needed);
    write_bytes(&needed, offsetof(VexGuestAMD64State, guest_RIP), sizeof(Addr));
    return needed;
}

static struct registers read_behind(const IRSB *block)
{
    Bool is_known = block->jumpkind == Ijk_Boring && block->next->tag == Iex_Const;

    return read_at(is_known ? block->next->Iex.Const.con->Ico.U64 : NOWHERE);
}

/* Marks the stack pointer as needed at an access to memory, because Valgrind extends stacks by its value. */
static void access_memory(struct registers *needed)
{
    read_bytes(needed, offsetof(VexGuestAMD64State, guest_RSP), sizeof(Addr));
}

static void read_expression(struct registers *needed, const IRExpr *value)
{
    UInt index;

    switch (value->tag) {
    case Iex_Get:
        read_bytes(needed, value->Iex.Get.offset, sizeofIRType(value->Iex.Get.ty));
        break;
    case Iex_GetI:
        read_array(needed, value->Iex.GetI.descr);
        read_expression(needed, value->Iex.GetI.ix);
        break;
    case Iex_Qop:
        read_expression(needed, value->Iex.Qop.details->arg1);
        read_expression(needed, value->Iex.Qop.details->arg2);
        read_expression(needed, value->Iex.Qop.details->arg3);
        read_expression(needed, value->Iex.Qop.details->arg4);
        break;
    case Iex_Triop:
        read_expression(needed, value->Iex.Triop.details->arg1);
        read_expression(needed, value->Iex.Triop.details->arg2);
        read_expression(needed, value->Iex.Triop.details->arg3);
        break;
    case Iex_Binop:
        read_expression(needed, value->Iex.Binop.arg1);
        read_expression(needed, value->Iex.Binop.arg2);
        break;
    case Iex_Unop:
        read_expression(needed, value->Iex.Unop.arg);
        break;
    case Iex_Load:
        access_memory(needed);
        read_expression(needed, value->Iex.Load.addr);
        break;
    case Iex_ITE:
        read_expression(needed, value->Iex.ITE.cond);
        read_expression(needed, value->Iex.ITE.iftrue);
        read_expression(needed, value->Iex.ITE.iffalse);
        break;
    case Iex_CCall:
        for (index = 0; value->Iex.CCall.args[index]; index++)
            read_expression(needed, value->Iex.CCall.args[index]);
        break;
    case Iex_RdTmp:
    case Iex_Const:
        break;
    default:
        read_all(needed);
        break;
    }
}

static Int bytes_of_put(const IRTypeEnv *types, const IRStmt *put)
{
    return sizeofIRType(typeOfIRExpr(types, put->Ist.Put.data));
}

/* Computes the registers that are needed before a statement from those that are needed after it. */
static void step_back(struct registers *needed, const IRTypeEnv *types, const IRStmt *statement)
{
    struct registers left;

    switch (statement->tag) {
    case Ist_NoOp:
    case Ist_IMark:
    case Ist_AbiHint:
    case Ist_MBE:
        break;
    case Ist_Put:
        write_bytes(needed, statement->Ist.Put.offset, bytes_of_put(types, statement));
        read_expression(needed, statement->Ist.Put.data);
        break;
    case Ist_PutI:
        read_expression(needed, statement->Ist.PutI.details->ix);
        read_expression(needed, statement->Ist.PutI.details->data);
        break;
    case Ist_WrTmp:
        read_expression(needed, statement->Ist.WrTmp.data);
        break;
    case Ist_Store:
        access_memory(needed);
        read_expression(needed, statement->Ist.Store.addr);
        read_expression(needed, statement->Ist.Store.data);
        break;
    case Ist_Exit:
        left = read_at(statement->Ist.Exit.dst->Ico.U64);
        read_both(needed, &left);
        read_expression(needed, statement->Ist.Exit.guard);
        break;
    default:
        read_all(needed);
        break;
    }
}

/* Forgets what is known about other superblocks. */
void liveness_forget(void)
{
    target_count = 0;
}

/* Whether the code at an address should be examined: its needs are not known yet, and there is room to store them. */
Bool liveness_wants(Addr address)
{
    return target_count < MOST_TARGETS && !target_at(address);
}

/* Learns which registers the code at an address needs. What follows this code is unknown. */
void liveness_learn(Addr address, const IRSB *code)
{
    struct registers needed;
    Int index;

    read_all(&needed);
    for (index = code->stmts_used - 1; index >= 0; index--)
        step_back(&needed, code->tyenv, code->stmts[index]);
    targets[target_count].address = address;
    targets[target_count].needed = needed;
    target_count += 1;
}

/* Removes writes to registers that are never read. */
void liveness_clean(IRSB *block)
{
    struct registers needed = read_behind(block);
    Int index;

    for (index = block->stmts_used - 1; index >= 0; index--) {
        const IRStmt *statement = block->stmts[index];
        if (!statement)
            continue;
        if (statement->tag == Ist_Put
            && !is_any_read(&needed, statement->Ist.Put.offset, bytes_of_put(block->tyenv, statement)))
            block->stmts[index] = IRStmt_NoOp();
        else
            step_back(&needed, block->tyenv, statement);
    }
}
