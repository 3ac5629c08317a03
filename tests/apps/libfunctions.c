/* SPDX-License-Identifier: Apache-2.0 */
// CFLAGS: -fexceptions
// CFLAGS x86_64: -mavx
/*
 * libfunctions.c - functions with all kinds of arguments and results; see functions.h.
 */
#include "functions.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

long f_ints(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
}

double f_doubles(double a, double b, double c, double d, double e, double f, double g, double h,
	double i, double j)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
}

/* On the stack, `rest` looks like 24 further arguments. */
long f_many(long a, long b, long c, long d, long e, long f, struct f_rest rest)
{
	long sum = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f;
	for (int i = 0; i < 24; i++)
		sum += (i + 7) * rest.value[i];
	return sum;
}

int f_variable = 5;

long f_big_argument(struct f_big big, int more)
{
	long sum = more;
	for (int i = 0; i < 40; i++)
		sum += big.value[i] * i;
	return sum;
}

struct f_big f_big_result(long seed)
{
	struct f_big big;
	for (int i = 0; i < 40; i++)
		big.value[i] = seed + i;
	return big;
}

struct f_two_doubles f_two_doubles(double a, double b)
{
	return (struct f_two_doubles){b, a};
}

struct f_mixed f_mixed(long a, double b)
{
	return (struct f_mixed){a + 1, b + 1};
}

__int128 f_int128(__int128 a, long b)
{
	return a * b;
}

long double f_long_double(long double a, long double b)
{
	return a * b;
}

f_vector f_vectors(f_vector a, f_vector b)
{
	return a * b;
}

double f_variadic(int count, ...)
{
	va_list list;
	double sum = 0;
	va_start(list, count);
	for (int i = 0; i < count; i++)
		sum += i % 2 ? va_arg(list, double) : va_arg(list, long);
	va_end(list);
	return sum;
}

int f_call(int (*callback)(int), int value)
{
	return callback(value) + 1;
}

int f_identity(int value)
{
	return value;
}

void f_jump(jmp_buf *environment, int value)
{
	longjmp(*environment, value);
}

void f_exit_thread(void *result)
{
	pthread_exit(result);
}

int f_fork(void)
{
	return fork();
}

static int counted;

int f_count(void)
{
	return ++counted;
}

void f_wait(void)
{
	for (;;)
		pause();
}

void f_exit(int status)
{
	exit(status);
}
