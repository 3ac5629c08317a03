/* SPDX-License-Identifier: Apache-2.0 */
// LINK: -lfunctions_copy -Wl,-z,lazy
/*
 * libfunctions_deep.c - a plugin with a library of its own, some of whose functions the program
 * has, too. Its frames differ from those of libfunctions_deep2.c.
 */
#include "functions.h"

int f_which(void);

#ifndef FRAME
#define FRAME(n) (n)
#endif

int deep_identity(int value)
{
	return f_identity(value);
}

int deep_which(void)
{
	return f_which();
}

/* Call a function with arguments on the stack from a frame of `bytes`. */
#define FRAMED(n, bytes)                                                    \
	long deep_frame_##n(long value)                                     \
	{                                                                   \
		volatile char room[bytes];                                  \
		room[0] = (char)value;                                      \
		return f_ints(value, 2, 3, 4, 5, 6, 7, 8, 9, 10) + room[0]; \
	}
FRAMED(0, FRAME(16))
FRAMED(1, FRAME(80))
FRAMED(2, FRAME(200))
FRAMED(3, FRAME(90))
