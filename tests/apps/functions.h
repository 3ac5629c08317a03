/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions.h - functions of a library with all kinds of arguments and results, for the source
 * `functions`.
 */
#ifndef TESTS_APPS_FUNCTIONS_H
#define TESTS_APPS_FUNCTIONS_H

#include <setjmp.h>

struct f_big {
	long value[40];
};
struct f_rest {
	long value[24];
};
struct f_two_doubles {
	double a, b;
};
struct f_mixed {
	long a;
	double b;
};
typedef double f_vector __attribute__((vector_size(32)));

#ifdef __cplusplus
extern "C" {
#endif
extern int f_variable;
long f_ints(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j);
double f_doubles(double a, double b, double c, double d, double e, double f, double g, double h,
	double i, double j);
long f_many(long a, long b, long c, long d, long e, long f, struct f_rest rest);
long f_big_argument(struct f_big big, int more);
struct f_big f_big_result(long seed);
struct f_two_doubles f_two_doubles(double a, double b);
struct f_mixed f_mixed(long a, double b);
__int128 f_int128(__int128 a, long b);
long double f_long_double(long double a, long double b);
f_vector f_vectors(f_vector a, f_vector b);
double f_variadic(int count, ...);
int f_identity(int value);
int f_call(int (*callback)(int), int value);
void f_jump(jmp_buf *environment, int value);
void f_exit_thread(void *result);
int f_fork(void);
int f_count(void);
void f_wait(void);
void f_exit(int status);
#ifdef __cplusplus
}
#endif

#endif
