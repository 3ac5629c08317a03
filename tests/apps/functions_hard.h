/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions_hard.h - functions of a library that depend on the state of the processor, or leave
 * their stack, for the source `functions`.
 */
#ifndef TESTS_APPS_FUNCTIONS_HARD_H
#define TESTS_APPS_FUNCTIONS_HARD_H

typedef double h_vector32 __attribute__((vector_size(32)));
typedef double h_vector64 __attribute__((vector_size(64)));

int h_call(int (*callback)(void *), void *user);

/* The last two vectors are on the stack, aligned to their size. */
__attribute__((target("avx"))) h_vector32 h_vectors32(h_vector32 a, h_vector32 b, h_vector32 c,
	h_vector32 d, h_vector32 e, h_vector32 f, h_vector32 g, h_vector32 h, h_vector32 i,
	long more, h_vector32 j);
__attribute__((target("avx512f"))) h_vector64 h_vectors64(h_vector64 a, h_vector64 b, h_vector64 c,
	h_vector64 d, h_vector64 e, h_vector64 f, h_vector64 g, h_vector64 h, h_vector64 i,
	long more, h_vector64 j);

_Complex long double h_complex(_Complex long double a, _Complex double b);
double h_divide(double a, double b);
long double h_divide_long(long double a, long double b);

#endif
