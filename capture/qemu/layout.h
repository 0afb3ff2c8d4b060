/* Where in the kernel the plugin has to look. GPL-2.0-or-later, see ../valgrind/COPYING. */
#ifndef SWITCHCOST_LAYOUT_H
#define SWITCHCOST_LAYOUT_H

#include <stddef.h>

#include "guest.h"

/* By the kernel's own tables; ends the guest where they do not say. */
void layout_find(struct sc_guest *guest);

/* The functions of the kernel's image by address, as lines `ADDRESS NAME`; they stay where they are in the guest's memory. */
extern char *layout_functions;
extern size_t layout_functions_bytes;

/* In nanoseconds; -1 where the scheduler has no such setting. */
int layout_set_slice(long nanoseconds);

/* Says what was found, and ends the guest. */
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
