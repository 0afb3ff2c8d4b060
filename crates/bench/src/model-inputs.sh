# What the ten programs of the model work on: text, records in JSON, and functions in C.
[ -e text ] || switchcost-bench --text 4000000 > text
[ -e short ] || switchcost-bench --text 600000 > short
awk 'BEGIN {
    printf "["
    for (i = 0; i < 20000; i++)
        printf "%s{\"id\":%d,\"kind\":\"k%d\",\"size\":%d}", i ? "," : "", i, i * 31 % 211, i * 7919 % 30011
    print "]"
}' > records.json
awk 'BEGIN {
    for (i = 0; i < 60; i++) {
        a = i % 13 + 2
        b = i % 7 + 3
        printf "int f%d(int n, int *p) { int s = %d; for (int i = 0; i < n; i++) { if (p[i] %% %d) s += p[i] * %d; ", i, a, b, a
        printf "else s ^= p[n - i - 1] << %d; switch (s & 7) { case 1: s -= i; break; case 3: s *= %d; break; case 5: p[i] = s; } } ", b, b
        print "return s; }"
    }
}' > functions.c
