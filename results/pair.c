#include <sys/wait.h>
#include <unistd.h>

static volatile long memory[2048];

int main(void)
{
    int there[2], back[2];
    char byte = 0;

    if (pipe(there) || pipe(back))
        return 1;
    int child = fork() == 0;
    int from = child ? there[0] : back[0], to = child ? back[1] : there[1];
    for (int turn = 0; turn < 1000; turn++) {
        if (child && read(from, &byte, 1) != 1)
            return 1;
        for (int i = 0; i < 2048; i++)
            memory[i] = turn;
        if (write(to, &byte, 1) != 1 || (!child && read(from, &byte, 1) != 1))
            return 1;
    }
    return !child && wait(NULL) < 0;
}
