/* SPDX-License-Identifier: Apache-2.0 */
// LINK: -ldl
/*
 * libcount_cond.c - a library to preload beside the tracer: forwards pthread_cond_signal, as
 * runtimes of sanitizers do, without the symbol version of libc's function, and prints at the end
 * of the process how often.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static unsigned long signals;

int pthread_cond_signal(pthread_cond_t *cond)
{
	int (*next)(pthread_cond_t *) =
		(int (*)(pthread_cond_t *))dlvsym(RTLD_NEXT, "pthread_cond_signal", "GLIBC_2.3.2");
	__atomic_fetch_add(&signals, 1, __ATOMIC_RELAXED);
	return next(cond);
}

__attribute__((destructor)) static void report(void)
{
	printf("%lu pthread_cond_signal\n", signals);
}
