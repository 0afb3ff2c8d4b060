/* Gathers of AVX2, which load only in lanes that their mask selects. GPL-2.0-or-later, see COPYING.

   For a lane that is not selected, Valgrind loads from the top of the stack, and discards the value. The program
   makes no such reference. */
#include "switchcost.h"

#include "pub_tool_libcassert.h"

/* Maximum number of conditional expressions in a gather of eight lanes: the address and the value of each lane, and
   copies of both. */
#define MOST_CHOICES 64

static struct lane lanes[MOST_CHOICES];
static IRTemp temps[MOST_CHOICES];
static UInt count;
static Bool is_gather;

static Bool is_prefix(UChar byte)
{
    switch (byte) {
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65:
    case 0x67:
        return True;
    default:
        return False;
    }
}

/* Whether the instruction is VEX.66.0F38 90 to 93 (Intel's manual, volume 2: VGATHER, VPGATHER), with or without
   prefixes for a segment or short addresses. */
static Bool is_gather_at(const UChar *code, UInt bytes)
{
    for (; bytes > 0 && is_prefix(*code); bytes--)
        code++;
    return bytes > 3 && code[0] == 0xc4 && (code[1] & 0x1f) == 2 && (code[3] & 0xfc) == 0x90;
}

/* Begins an instruction of `bytes` bytes. */
void gathers_begin(Addr address, UInt bytes)
{
    count = 0;
    is_gather = is_gather_at((const UChar *)address, bytes);
}

/* Returns the lane that is loaded from an address; NULL if no lane is. */
const struct lane *gathers_lane(const IRExpr *address)
{
    UInt index;

    for (index = 0; index < count; index++)
        if (address->tag == Iex_RdTmp && address->Iex.RdTmp.tmp == temps[index])
            return &lanes[index];
    return NULL;
}

static void add(IRTemp temp, struct lane lane)
{
    tl_assert(count < MOST_CHOICES);
    temps[count] = temp;
    lanes[count++] = lane;
}

/* Records the value of a temporary, which may be a copy of another one in an unrolled loop. */
void gathers_learn(IRTemp temp, const IRExpr *value)
{
    if (!is_gather)
        return;
    if (value->tag == Iex_ITE)
        add(temp, (struct lane){ value->Iex.ITE.cond, value->Iex.ITE.iftrue });
    else if (gathers_lane(value))
        add(temp, *gathers_lane(value));
}
