/* The first line of a script, as the kernel reads it. GPL-2.0-or-later, see COPYING. */
#ifndef SWITCHCOST_SCRIPT_H
#define SWITCHCOST_SCRIPT_H

/* Number of bytes in which the kernel looks for the line. */
#define SCRIPT_BYTES 256

static inline int script_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Finds the interpreter and its argument (NULL if there is none) in the first bytes of a file, after which there is
   room for one more byte. Returns 0 if the file is no script. */
static inline int script_split(char *start, long bytes, char **interpreter, char **argument)
{
    char *at = start + 2, *end = start + 2;

    if (bytes < 2 || start[0] != '#' || start[1] != '!')
        return 0;
    while (end < start + bytes && *end != '\n')
        end++;
    while (end > at && script_is_blank(end[-1]))
        end--;
    *end = '\0';
    while (script_is_blank(*at))
        at++;
    *interpreter = at;
    while (*at && !script_is_blank(*at))
        at++;
    *argument = *at ? at + 1 : (char *)0;
    *at = '\0';
    while (*argument && script_is_blank(**argument))
        *argument += 1;
    return **interpreter != '\0';
}

#endif
