/* Finds out which addresses of a superblock are always the same, and which are always at the same distance from
   another one. GPL-2.0-or-later, see COPYING. */
#include "switchcost.h"

#include "pub_tool_mallocfree.h"

/* Origin of each temporary of the superblock, as far as it is known. */
static struct origin *origins;
static UInt origins_size;

struct origin origins_of(const IRExpr *atom)
{
    struct origin origin = { IRTemp_INVALID, 0 };

    if (atom->tag == Iex_Const)
        origin.offset = atom->Iex.Const.con->Ico.U64;
    else if (atom->Iex.RdTmp.tmp < origins_size)
        origin = origins[atom->Iex.RdTmp.tmp];
    else
        origin.base = atom->Iex.RdTmp.tmp;
    return origin;
}

/* Returns the origin of a copy, a constant, or a sum with a constant. Any other value is its own origin. */
static struct origin origin_of_value(IRTemp temp, const IRExpr *value)
{
    struct origin own = { temp, 0 };
    struct origin left, right;
    Bool is_sum = value->tag == Iex_Binop && value->Iex.Binop.op == Iop_Add64;

    if (value->tag == Iex_RdTmp || (value->tag == Iex_Const && value->Iex.Const.con->tag == Ico_U64))
        return origins_of(value);
    if (!is_sum && !(value->tag == Iex_Binop && value->Iex.Binop.op == Iop_Sub64))
        return own;
    left = origins_of(value->Iex.Binop.arg1);
    right = origins_of(value->Iex.Binop.arg2);
    if (right.base == IRTemp_INVALID) {
        left.offset += is_sum ? right.offset : -right.offset;
        return left;
    }
    if (is_sum && left.base == IRTemp_INVALID) {
        right.offset += left.offset;
        return right;
    }
    return own;
}

/* Begins a superblock with `temps` temporaries. */
void origins_forget(UInt temps)
{
    UInt temp;

    if (temps > origins_size) {
        origins = VG_(realloc)("switchcost.origins", origins, temps * sizeof *origins);
        origins_size = temps;
    }
    for (temp = 0; temp < temps; temp++)
        origins[temp] = (struct origin){ temp, 0 };
}

/* Records the value of a temporary. */
void origins_learn(IRTemp temp, const IRExpr *value)
{
    origins[temp] = origin_of_value(temp, value);
}
