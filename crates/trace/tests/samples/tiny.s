# A loop of loads and stores, a string move, and the end. Built with: gcc -nostdlib -static -no-pie -o tiny tiny.s
.globl _start
_start:
    mov $4, %ecx
    lea buffer(%rip), %rdi
again:
    mov (%rdi), %rax
    add %rax, 8(%rdi)
    movups 16(%rdi), %xmm0
    movups %xmm0, 32(%rdi)
    push %rax
    pop %rdx
    dec %ecx
    jnz again
    lea buffer(%rip), %rsi
    lea 64(%rsi), %rdi
    mov $4, %ecx
    rep movsb
    mov $60, %eax
    xor %edi, %edi
    syscall
.bss
.align 64
buffer: .skip 256
