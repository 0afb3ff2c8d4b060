/* Definitions of shapes: what is the same each time that a segment of a path runs. GPL-2.0-or-later, see
   ../valgrind/COPYING. */
#include "plugin.h"

/* Maximum number of bytes of a block. */
#define LONGEST_BLOCK 1024
#define KERNEL 0x8000000000000000ULL

struct part {
    UInt first, end; /* range of instructions, `end` excluded */
    UInt bytes;
};

static struct part part_from(const struct code *code, UInt first, UInt end)
{
    struct part part = { .first = first, .end = first };

    while (part.end < end && part.bytes + code->instructions[part.end].bytes <= LONGEST_BLOCK)
        part.bytes += code->instructions[part.end++].bytes;
    return part;
}

static bool is_in(const struct shape_reference *reference, const struct code *code, const struct part *part)
{
    UInt index = reference->instruction - code->instructions;

    return index >= part->first && index < part->end;
}

static UInt count_in(const struct code *code, const struct part *part, const struct shape_reference *references,
                     UInt count)
{
    UInt many = 0;

    for (UInt index = 0; index < count; index++)
        many += is_in(&references[index], code, part);
    return many;
}

static UInt put_blocks(ULong *words, const struct code *code, UInt first, UInt end,
                       const struct shape_reference *references, UInt count)
{
    UInt blocks = 0;

    while (first < end) {
        struct part part = part_from(code, first, end);
        const struct instruction *instruction = &code->instructions[first];
        ULong is_kernel = (instruction->address & KERNEL) != 0;
        *words++ = instruction->address;
        *words++ = part.bytes | (ULong)(part.end - part.first) << 16 | (ULong)instruction->bytes << 32
                   | is_kernel << SC_KERNEL_BIT | (ULong)count_in(code, &part, references, count) << 48;
        blocks++;
        first = part.end;
    }
    return blocks;
}

/* Returns the offset in the block of the last byte of the instruction. */
static ULong through(const struct code *code, UInt first, UInt end, const struct shape_reference *reference)
{
    for (;;) {
        struct part part = part_from(code, first, end);
        if (is_in(reference, code, &part) || part.end >= end)
            return reference->instruction->address + reference->instruction->bytes - 1
                   - code->instructions[first].address;
        first = part.end;
    }
}

UInt shapes_define(ULong *words, const struct code *code, UInt first, UInt end,
                   const struct shape_reference *references, UInt count)
{
    UInt blocks = put_blocks(words, code, first, end, references, count), length = 2 * blocks;

    for (UInt index = 0; index < count; index++)
        words[length++] = through(code, first, end, &references[index]) | (ULong)references[index].bytes << 16
                          | (ULong)references[index].is_store << 32 | (ULong)references[index].how << 34
                          | (ULong)references[index].base << 40;
    for (UInt index = 0; index < count; index++)
        if (references[index].how != SC_EXPLICIT)
            words[length++] = references[index].value;
    return blocks << 16 | length;
}
