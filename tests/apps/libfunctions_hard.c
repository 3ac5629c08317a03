/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: machine x86_64
// CFLAGS: -fexceptions -frounding-math -O2 -Wno-psabi
/*
 * libfunctions_hard.c - functions that depend on the state of the processor, or leave their stack;
 * see functions_hard.h.
 */
#include "functions_hard.h"

#include <math.h>

int h_call(int (*callback)(void *), void *user)
{
	return callback(user) + 1;
}

__attribute__((target("avx"))) h_vector32 h_vectors32(h_vector32 a, h_vector32 b, h_vector32 c,
	h_vector32 d, h_vector32 e, h_vector32 f, h_vector32 g, h_vector32 h, h_vector32 i,
	long more, h_vector32 j)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j +
		(double)more;
}

__attribute__((target("avx512f"))) h_vector64 h_vectors64(h_vector64 a, h_vector64 b, h_vector64 c,
	h_vector64 d, h_vector64 e, h_vector64 f, h_vector64 g, h_vector64 h, h_vector64 i,
	long more, h_vector64 j)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j +
		(double)more;
}

_Complex long double h_complex(_Complex long double a, _Complex double b)
{
	return a * b;
}

double h_divide(double a, double b)
{
	return a / b;
}

long double h_divide_long(long double a, long double b)
{
	return a / b;
}
