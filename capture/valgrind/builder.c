/* Words that a superblock writes: its shapes, their heads, and the explicit addresses. GPL-2.0-or-later, see COPYING.

   A block is a sequence of instructions that are adjacent in memory. A superblock begins a block at its first
   instruction, after each jump that was or might have been taken, and when a block would be too long. All its blocks
   together are one shape. At each exit the superblock writes the ID of the shape up to that exit, and moves the
   cursor: before the exit, or in longer superblocks on the way out. If the exit is not taken, the shape continues in
   the same place, so that the next ID overwrites the last. Therefore instructions that a fault prevents are not
   counted: the cursor has not moved yet. */
#include "builder.h"

#include "pub_tool_libcassert.h"

/* Largest reference in bytes; a larger piece of memory is written as several references. */
#define LARGEST_PIECE 1024

static IRExpr *constant(ULong value)
{
    return IRExpr_Const(IRConst_U64(value));
}

IRExpr *builder_assign(struct builder *builder, IRType type, IRExpr *value)
{
    IRTemp temp = newIRTemp(builder->out->tyenv, type);

    addStmtToIRSB(builder->out, IRStmt_WrTmp(temp, value));
    return IRExpr_RdTmp(temp);
}

IRTemp builder_load(struct builder *builder, Int offset)
{
    return builder_assign(builder, Ity_I64, IRExpr_Get(offset, Ity_I64))->Iex.RdTmp.tmp;
}

/* Called before the first instruction of a superblock. */
void builder_begin(struct builder *builder, Bool is_counting)
{
    builder->cursor = builder_load(builder, CURSOR_OFFSET);
    builder->budget = is_counting ? builder_load(builder, BUDGET_OFFSET) : IRTemp_INVALID;
}

static IRExpr *place(struct builder *builder, UInt word)
{
    /* All addresses are relative to the cursor: a store has room for the distance, so the addition takes no
       instruction. */
    if (word == 0)
        return IRExpr_RdTmp(builder->cursor);
    return builder_assign(builder, Ity_I64, IRExpr_Binop(Iop_Add64, IRExpr_RdTmp(builder->cursor), constant(word * 8)));
}

static void write_word(struct builder *builder, UInt word, IRExpr *value)
{
    addStmtToIRSB(builder->out, IRStmt_Store(Iend_LE, place(builder, word), value));
}

/* Returns the head of the shape that the blocks so far form. */
static ULong head_of(const struct shape *shape)
{
    return SC_BLOCK << 56 | (ULong)(shape->references - shape->derived) << 32 | shapes_define(shape);
}

static void write_head(struct builder *builder)
{
    if (builder->is_written || builder->shape.blocks == 0)
        return;
    write_word(builder, builder->head_word, constant(head_of(&builder->shape)));
    builder->is_written = True;
}

static void count(struct builder *builder)
{
    IRExpr *left = builder_assign(
        builder, Ity_I64, IRExpr_Binop(Iop_Sub64, IRExpr_RdTmp(builder->budget), constant(builder->instructions)));

    addStmtToIRSB(builder->out, IRStmt_Put(BUDGET_OFFSET, left));
}

/* Writes the head and moves the cursor, so that everything so far counts. */
void builder_commit(struct builder *builder)
{
    builder->last_load = NULL;
    write_head(builder);
    if (builder->is_committed)
        return;
    addStmtToIRSB(builder->out, IRStmt_Put(CURSOR_OFFSET, place(builder, builder->words)));
    if (builder->budget != IRTemp_INVALID)
        count(builder);
    builder->is_committed = True;
    builder->committed_words = builder->words;
    builder->committed_instructions = builder->instructions;
}

/* Makes everything so far count if the next exit, to `target`, is taken. Returns the address that the exit must have
   for this; 0 if it is impossible. */
Addr builder_commit_at(struct builder *builder, Addr target)
{
    struct departure departure = {
        .head_offset = 8 * ((Int)builder->head_word - (Int)builder->committed_words),
        .bytes = 8 * (builder->words - builder->committed_words),
    };

    builder->last_load = NULL;
    if (builder->shape.blocks == 0)
        return 0;
    departure.head = head_of(&builder->shape);
    if (builder->budget != IRTemp_INVALID)
        departure.instructions = builder->instructions - builder->committed_instructions;
    return exits_add(target, &departure);
}

static void begin_shape(struct builder *builder)
{
    write_head(builder);
    builder->head_word = builder->words;
    builder->words += 1;
    builder->shape.blocks = 0;
    builder->shape.references = 0;
    builder->shape.derived = 0;
    builder->explicit_count = 0;
}

/* Whether the shape has room for another instruction. Half of the room is reserved for the references of one
   instruction. */
static Bool has_room(const struct shape *shape)
{
    return shape->references + shape->derived <= MOST_REFERENCES / 2;
}

/* Whether the shape has at most SC_LANES explicit addresses, as many as the reader takes at a time. A shape with
   more takes the reader several times as long. A single instruction with more is a shape by itself. */
static Bool has_lanes(const struct builder *builder, UInt more)
{
    return builder->explicit_count == 0 || builder->explicit_count + more <= SC_LANES;
}

static void begin_block(struct builder *builder, Addr address, UInt explicit)
{
    struct shape *shape = &builder->shape;

    if (shape->blocks == 0 || shape->blocks == MOST_BLOCKS || !has_room(shape) || !has_lanes(builder, explicit))
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

void builder_add_instruction(struct builder *builder, Addr address, UInt bytes, UInt explicit)
{
    struct shape *shape = &builder->shape;
    struct block *block;

    if (builder->is_branch || !continues_block(shape, address, bytes) || !has_lanes(builder, explicit))
        begin_block(builder, address, explicit);
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

/* Bit 33 of a reference: the store goes to the address from which the same instruction has just loaded. Cachegrind
   counts both as one. */
static Bool is_update(const struct builder *builder, IRExpr *address, UInt bytes, Bool is_store)
{
    return is_store && builder->last_load && builder->last_load_bytes == bytes && eqIRAtom(builder->last_load, address);
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

static void write_piece(struct builder *builder, IRExpr *address, UInt bytes, Bool is_store, Bool is_updated, ULong how)
{
    note_piece(builder, bytes, is_store, is_updated, how << 34);
    write_word(builder, builder->words, address);
    builder->words += 1;
}

/* Returns the explicit reference of the shape that is at a constant distance from an origin; NULL if there is none. */
static const struct explicit_reference *relative_of(const struct builder *builder, struct origin origin)
{
    Int index = builder->explicit_count - 1;

    while (index >= 0 && builder->explicit[index].origin.base != origin.base)
        index--;
    return index < 0 ? NULL : &builder->explicit[index];
}

/* Whether the address of a reference is derived instead of written: it is constant, or at a constant distance from
   an explicit address. */
static Bool is_derived(struct builder *builder, struct origin origin, UInt bytes, Bool is_store, Bool is_updated)
{
    struct shape *shape = &builder->shape;
    ULong how = SC_FIXED << 34;
    ULong address = origin.offset;

    if (shape->references + shape->derived + 2 > MOST_REFERENCES)
        return False;
    if (origin.base != IRTemp_INVALID) {
        const struct explicit_reference *base = relative_of(builder, origin);
        if (!base)
            return False;
        how = SC_RELATIVE << 34 | (ULong)base->reference << 40;
        address -= base->origin.offset;
    }
    note_piece(builder, bytes, is_store, is_updated, how);
    shape->derived_address[shape->derived++] = address;
    return True;
}

static void add_piece(struct builder *builder, IRExpr *address, UInt done, UInt bytes, Bool is_store, Bool is_updated)
{
    struct origin origin = origins_of(address);
    struct explicit_reference *explicit = &builder->explicit[builder->explicit_count];

    origin.offset += done;
    if (is_derived(builder, origin, bytes, is_store, is_updated))
        return;
    explicit->origin = origin;
    explicit->reference = builder->shape.references;
    builder->explicit_count += 1;
    if (done != 0)
        address = builder_assign(builder, Ity_I64, IRExpr_Binop(Iop_Add64, address, constant(done)));
    write_piece(builder, address, bytes, is_store, is_updated, SC_EXPLICIT);
}

void builder_add_reference(struct builder *builder, IRExpr *address, UInt bytes, Bool is_store)
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

/* Adds a guarded reference. The word of a guarded reference is always written, so that a shape has a fixed length. */
void builder_add_guarded(struct builder *builder, IRExpr *guard, IRExpr *address, UInt bytes, Bool is_store)
{
    UInt done;

    for (done = 0; done < bytes; done += LARGEST_PIECE) {
        UInt piece = bytes - done < LARGEST_PIECE ? bytes - done : LARGEST_PIECE;
        IRExpr *start = done == 0 ? address
                                  : builder_assign(builder, Ity_I64, IRExpr_Binop(Iop_Add64, address, constant(done)));
        IRExpr *word = builder_assign(builder, Ity_I64, IRExpr_ITE(guard, start, constant(SC_NOT_DONE)));
        write_piece(builder, word, piece, is_store, False, SC_GUARDED);
    }
    builder->last_load = NULL;
}

/* Whether the address of a reference would be explicit. */
Bool builder_is_explicit(const struct builder *builder, const IRExpr *address)
{
    struct origin origin = origins_of(address);

    return origin.base != IRTemp_INVALID && !relative_of(builder, origin);
}
