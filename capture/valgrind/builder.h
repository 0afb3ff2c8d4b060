/* Words that a superblock writes: shapes, their heads, and addresses. SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BUILDER_H
#define BUILDER_H

#include "switchcost.h"

/* The origin of a reference whose address is explicit (written to the stream). */
struct explicit_reference {
    struct origin origin;
    UInt reference;
};

struct builder {
    IRSB *out;
    IRTemp cursor;
    IRTemp budget;     /* instructions left in the time slice; IRTemp_INVALID if they are not counted */
    UInt head_word;    /* place of the shape's head, in words from the cursor */
    UInt words;        /* words written so far, the head included */
    UInt instructions; /* instructions of the whole superblock so far */
    Bool is_written;   /* the head of the present shape is in the buffer */
    Bool is_committed; /* the head is in the buffer, and the cursor is after it */
    /* words by which the cursor in memory has moved; instructions taken from the budget by then */
    UInt committed_words;
    UInt committed_instructions;
    Bool is_branch;   /* the last instruction may jump, so its block ends with it */
    Addr instruction; /* address of the last instruction */
    struct shape shape;
    UInt explicit_count;
    struct explicit_reference explicit[MOST_REFERENCES];
    IRExpr *last_load; /* address of the preceding load, if a store may belong to it */
    UInt last_load_bytes;
};

void builder_begin(struct builder *builder, Bool is_counting);
IRExpr *builder_assign(struct builder *builder, IRType type, IRExpr *value);
IRTemp builder_load(struct builder *builder, Int offset);
Bool builder_is_explicit(const struct builder *builder, const IRExpr *address);
void builder_add_instruction(struct builder *builder, Addr address, UInt bytes, UInt explicit);
void builder_add_reference(struct builder *builder, IRExpr *address, UInt bytes, Bool is_store);
void builder_add_guarded(struct builder *builder, IRExpr *guard, IRExpr *address, UInt bytes, Bool is_store);
void builder_commit(struct builder *builder);
Addr builder_commit_at(struct builder *builder, Addr target);

#endif
