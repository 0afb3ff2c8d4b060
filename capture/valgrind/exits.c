/* Work that is done only if a superblock is left before its end. GPL-2.0-or-later, see COPYING.

   In Valgrind's intermediate language, everything that an exit must leave in memory is done before the exit, whether
   or not it is taken, and usually it is not taken. Therefore the last step of a translation, from registers to
   bytes, is wrapped: code for the exit is put between the exit's jump and its way out. The upper bits of the exit's
   address, which a program's addresses do not use, identify the exit. */
#include "switchcost.h"

#include "libvex.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"

#define MOST_EXITS 64
/* Number of bits of an address. */
#define ADDRESS_BITS 48
/* Maximum number of bytes of an exit. Valgrind's own exit usually has 32 bytes, and the jump over both has a range
   of 127. */
#define MOST_BYTES 64
#define SHORT_JUMP 0x70
#define IS_SHORT_JUMP(byte) (((byte) & 0xf0) == SHORT_JUMP)

/* VEX/priv/host_amd64_defs.h */
typedef struct Instruction Instruction;
extern Instruction *__real_AMD64Instr_XDirect(Addr64 target, void *counter, Int condition, Bool is_fast);
extern Int __real_emit_AMD64Instr(Bool *is_counter, UChar *code, Int room, const Instruction *instruction, Bool is_64,
                                  VexEndness endness, const void *slow, const void *fast, const void *indirect,
                                  const void *assisted);
extern VexTranslateResult __real_LibVEX_Translate(VexTranslateArgs *arguments);
Instruction *__wrap_AMD64Instr_XDirect(Addr64 target, void *counter, Int condition, Bool is_fast);
Int __wrap_emit_AMD64Instr(Bool *is_counter, UChar *code, Int room, const Instruction *instruction, Bool is_64,
                           VexEndness endness, const void *slow, const void *fast, const void *indirect,
                           const void *assisted);
VexTranslateResult __wrap_LibVEX_Translate(VexTranslateArgs *arguments);

struct exit {
    struct departure departure;
    const Instruction *instruction; /* NULL before it is selected */
    Bool is_emitted;
};

static struct exit exits[MOST_EXITS];
static UInt count;
/* Whether the superblock that is being translated can have such exits. */
static Bool is_possible;

void exits_forget(void)
{
    count = 0;
}

/* Returns the address that an exit must have so that the departure is executed when the exit is taken; 0 if this is
   impossible. */
Addr exits_add(Addr target, const struct departure *departure)
{
    if (!is_possible || count == MOST_EXITS || target >> ADDRESS_BITS != 0)
        return 0;
    exits[count].departure = *departure;
    exits[count].instruction = NULL;
    exits[count].is_emitted = False;
    count += 1;
    return target | (Addr)count << ADDRESS_BITS;
}

/* Called when a direct jump is selected. */
Instruction *__wrap_AMD64Instr_XDirect(Addr64 target, void *counter, Int condition, Bool is_fast)
{
    ULong number = target >> ADDRESS_BITS;
    Instruction *instruction;

    if (number == 0 || number > count)
        return __real_AMD64Instr_XDirect(target, counter, condition, is_fast);
    instruction = __real_AMD64Instr_XDirect(target & ((1ULL << ADDRESS_BITS) - 1), counter, condition, is_fast);
    exits[number - 1].instruction = instruction;
    return instruction;
}

static UChar *put_bytes(UChar *at, const UChar *bytes, UInt length)
{
    VG_(memcpy)(at, bytes, length);
    return at + length;
}

static UChar *put_number(UChar *at, Int number)
{
    return put_bytes(at, (const UChar *)&number, sizeof number);
}

/* Writes the code of a departure. Generated code has the guest's registers at %rbp. %r11 has no value, because
   Valgrind reserves it for exits. The flags may be changed: the jump has used them, and the guest's flags are in
   memory. A head is stored in halves, because no instruction stores an immediate value of eight bytes. */
static UChar *put_departure(UChar *at, const struct departure *departure)
{
    static const UChar load[] = { 0x4c, 0x8b, 0x9d };  /* movq offset(%rbp), %r11 */
    static const UChar store[] = { 0x41, 0xc7, 0x83 }; /* movl $number, offset(%r11) */
    static const UChar add[] = { 0x48, 0x81, 0x85 };   /* addq $number, offset(%rbp) */

    at = put_number(put_bytes(at, load, sizeof load), CURSOR_OFFSET);
    at = put_number(put_number(put_bytes(at, store, sizeof store), departure->head_offset), (Int)departure->head);
    at = put_number(put_number(put_bytes(at, store, sizeof store), departure->head_offset + 4),
                    (Int)(departure->head >> 32));
    at = put_number(put_number(put_bytes(at, add, sizeof add), CURSOR_OFFSET), departure->bytes);
    if (departure->instructions != 0)
        at = put_number(put_number(put_bytes(at, add, sizeof add), BUDGET_OFFSET), -(Int)departure->instructions);
    return at;
}

static struct exit *exit_of(const Instruction *instruction)
{
    UInt index;

    for (index = 0; index < count; index++)
        if (exits[index].instruction == instruction)
            return &exits[index];
    return NULL;
}

/* Encodes an instruction. Returns the number of bytes. */
Int __wrap_emit_AMD64Instr(Bool *is_counter, UChar *code, Int room, const Instruction *instruction, Bool is_64,
                           VexEndness endness, const void *slow, const void *fast, const void *indirect,
                           const void *assisted)
{
    struct exit *exit = exit_of(instruction);
    Int bytes =
        __real_emit_AMD64Instr(is_counter, code, room, instruction, is_64, endness, slow, fast, indirect, assisted);
    UChar more[MOST_BYTES];
    Int start, length;

    if (!exit)
        return bytes;
    length = put_departure(more, &exit->departure) - more;
    tl_assert(length <= MOST_BYTES && bytes + length <= room);
    start = IS_SHORT_JUMP(code[0]) ? 2 : 0;
    VG_(memmove)(code + start + length, code + start, bytes - start);
    VG_(memcpy)(code + start, more, length);
    if (start != 0) {
        tl_assert(code[1] + length <= 127);
        code[1] += length;
    }
    exit->is_emitted = True;
    return bytes + length;
}

/* Translates a superblock. */
VexTranslateResult __wrap_LibVEX_Translate(VexTranslateArgs *arguments)
{
    VexTranslateResult result;
    UInt index;

    /* A jump that Valgrind does not link is encoded differently, and is not wrapped here. */
    is_possible = arguments->disp_cp_chain_me_to_slowEP != NULL;
    exits_forget();
    result = __real_LibVEX_Translate(arguments);
    for (index = 0; index < count; index++)
        tl_assert(!exits[index].instruction || exits[index].is_emitted);
    exits_forget();
    return result;
}
