/* No instruction and no access crosses a boundary of 32 bytes, so both simulators must count the same. */
__asm__(".bundle_align_mode 5");

static unsigned words[1 << 14];
static unsigned long next = 1;

static unsigned draw(void)
{
    next = next * 6364136223846793005ul + 1442695040888963407ul;
    return next >> 33;
}

static void fill(void)
{
    for (unsigned i = 0; i < 1 << 14; i++)
        words[i] = i;
}

static unsigned chase(unsigned steps)
{
    unsigned at = 0;
    for (unsigned i = 0; i < steps; i++)
        at = (words[at] + draw()) & ((1 << 14) - 1);
    return at;
}

static void scatter(unsigned steps)
{
    for (unsigned i = 0; i < steps; i++)
        words[draw() & ((1 << 14) - 1)] += i;
}

__attribute__((force_align_arg_pointer)) void _start(void)
{
    fill();
    unsigned sum = 0;
    for (int round = 0; round < 4; round++) {
        sum += chase(3000);
        scatter(3000);
    }
    words[0] = sum;
    __asm__ volatile("syscall" : : "a"(231), "D"(0) : "rcx", "r11", "memory");
    __builtin_unreachable();
}
