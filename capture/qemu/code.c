/* Translated code, which is recognised when QEMU translates it again. GPL-2.0-or-later, see ../valgrind/COPYING. */
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

#define BUCKETS (1 << 16)

static struct code *buckets[BUCKETS];

static uint64_t mix(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * 0x9e3779b97f4a7c15ULL ^ hash >> 29;
}

/* Returns the first bytes of an instruction. Bytes in a second page are not read, because that page may be elsewhere
   in physical memory. */
size_t code_bytes(const struct qemu_plugin_insn *instruction, uint8_t *into, size_t most)
{
    const uint8_t *host = qemu_plugin_insn_haddr(instruction);
    size_t bytes = qemu_plugin_insn_size(instruction), rest = 4096 - (qemu_plugin_insn_vaddr(instruction) & 4095);

    bytes = bytes < rest ? bytes : rest;
    bytes = bytes < most ? bytes : most;
    if (!host)
        return 0;
    memcpy(into, host, bytes);
    return bytes;
}

/* Whether the memory operand has a constant address: relative to the instruction pointer, or absolute, as per-CPU
   variables of the kernel have. The answer only decides what is tried first. */
static bool has_constant_address(const uint8_t *byte, size_t bytes)
{
    const uint8_t *end = byte + bytes;

    while (byte < end
           && (*byte == 0x66 || *byte == 0xf2 || *byte == 0xf3 || *byte == 0xf0 || *byte == 0x64 || *byte == 0x65
               || (*byte & 0xf0) == 0x40))
        byte++;
    if (byte < end && *byte == 0x0f)
        byte++;
    byte++;
    if (end - byte < 5)
        return false;
    return (*byte & 0xc7) == 0x05 || ((*byte & 0xc7) == 0x04 && byte[1] == 0x25);
}

/* Returns the accesses that an instruction can make, judged by its opcode. The result is TOUCHES_ANY unless the
   instruction is one with which a piece of code may end. */
static uint8_t touches(const uint8_t *byte, size_t bytes)
{
    const uint8_t *end = byte + bytes;

    while (byte < end && (*byte == 0xf2 || *byte == 0xf3 || *byte == 0x66 || (*byte & 0xf0) == 0x40))
        byte++;
    if (byte == end)
        return TOUCHES_ANY;
    /* Jumps by a constant distance, loop; in and out; hlt, cli, sti. A call (0xe8) pushes, so it is left out. */
    if ((*byte & 0xf0) == 0x70 || (*byte >= 0xe0 && *byte <= 0xef && *byte != 0xe8) || *byte == 0xf4 || *byte == 0xfa
        || *byte == 0xfb)
        return TOUCHES_NOTHING;
    /* iret; cmps and scas. */
    if (*byte == 0xcf || *byte == 0xa6 || *byte == 0xa7 || *byte == 0xae || *byte == 0xaf)
        return TOUCHES_LOADS;
    if (*byte != 0x0f || byte + 1 == end)
        return TOUCHES_ANY;
    byte++;
    /* Jumps; syscall, sysret; wrmsr, rdtsc, rdmsr; moves from and to control registers; cpuid. */
    if ((*byte & 0xf0) == 0x80 || *byte == 0x05 || *byte == 0x07 || (*byte >= 0x30 && *byte <= 0x32) || *byte == 0x20
        || *byte == 0x22 || *byte == 0xa2)
        return TOUCHES_NOTHING;
    return TOUCHES_ANY;
}

static void read_instruction(struct instruction *into, const struct qemu_plugin_insn *from, struct code *code)
{
    uint8_t bytes[16];
    size_t length = code_bytes(from, bytes, sizeof bytes);

    into->code = code;
    into->address = qemu_plugin_insn_vaddr(from);
    into->bytes = qemu_plugin_insn_size(from);
    into->is_fixed = has_constant_address(bytes, length);
    into->touches = touches(bytes, length);
}

static uint64_t hash_of(const struct qemu_plugin_tb *tb, size_t count)
{
    uint64_t hash = mix(count, qemu_plugin_tb_vaddr(tb));

    for (size_t index = 0; index < count; index++) {
        const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, index);
        uint64_t words[2] = { 0, 0 };
        code_bytes(insn, (uint8_t *)words, sizeof words);
        hash = mix(mix(mix(hash, words[0]), words[1]), qemu_plugin_insn_size(insn));
    }
    return hash;
}

static struct code *known(uint64_t address, uint64_t hash, size_t count)
{
    struct code *code = buckets[hash % BUCKETS];

    while (code && (code->hash != hash || code->address != address || code->count != count))
        code = code->next;
    return code;
}

struct code *code_of(const struct qemu_plugin_tb *tb, bool is_entry)
{
    size_t count = qemu_plugin_tb_n_insns(tb);
    uint64_t hash = hash_of(tb, count);
    struct code *code = known(qemu_plugin_tb_vaddr(tb), hash, count);

    if (code)
        return code;
    code = calloc(1, sizeof *code + count * sizeof *code->instructions);
    if (!code)
        ring_fail("no memory for another piece of code");
    code->address = qemu_plugin_tb_vaddr(tb);
    code->hash = hash;
    code->count = count;
    code->is_entry = is_entry;
    for (size_t index = 0; index < count; index++) {
        read_instruction(&code->instructions[index], qemu_plugin_tb_get_insn(tb, index), code);
        code->bytes += code->instructions[index].bytes;
    }
    code->start = paths_start();
    code->next = buckets[hash % BUCKETS];
    buckets[hash % BUCKETS] = code;
    return code;
}
