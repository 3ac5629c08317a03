/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: machine x86_64
// CFLAGS: -fexceptions -frounding-math -Wno-psabi
// LINK: -lfunctions_hard -lfunctions -ldl -lm -Wl,-z,lazy
/*
 * functions_hard.c - calls functions of libraries with the processor in unusual states, from
 * fibers, in threads that are canceled, and around the loading and unloading of plugins.
 */
#define _GNU_SOURCE
#include "functions_hard.h"

#include "functions.h"

#include <complex.h>
#include <dlfcn.h>
#include <fenv.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

/* ---- the state of the processor ---- */

#define V32(x) ((h_vector32){x, x + 1, x + 2, x + 3})
#define V64(x) ((h_vector64){x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7})

__attribute__((target("avx"), noinline)) static void vectors32(void)
{
	h_vector32 v = h_vectors32(V32(1), V32(2), V32(3), V32(4), V32(5), V32(6), V32(7), V32(8),
		V32(9), 11, V32(10));
	printf("32 bytes %g %g %g %g\n", v[0], v[1], v[2], v[3]);
}

__attribute__((target("avx512f"), noinline)) static void vectors64(void)
{
	h_vector64 v = h_vectors64(V64(1), V64(2), V64(3), V64(4), V64(5), V64(6), V64(7), V64(8),
		V64(9), 11, V64(10));
	printf("64 bytes %g %g %g %g\n", v[0], v[2], v[5], v[7]);
}

static void floating(void)
{
	_Complex long double product = h_complex(1.5L + 2.0L * I, 3.0 - 1.0 * I);
	printf("complex %Lg %Lg\n", creall(product), cimagl(product));
	static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};
	for (int i = 0; i < 4; i++) {
		fesetround(modes[i]);
		feclearexcept(FE_ALL_EXCEPT);
		double third = h_divide(-1, 3);
		long double third_long = h_divide_long(-1, 3);
		int inexact = fetestexcept(FE_INEXACT) != 0, zero = fetestexcept(FE_DIVBYZERO);
		h_divide(1, 0);
		printf("rounded %a %La %d %d %d %d\n", third, third_long, inexact, zero,
			fetestexcept(FE_DIVBYZERO) != 0, fegetround() == modes[i]);
	}
	fesetround(FE_TONEAREST);
}

/* ---- threads that are canceled in a call ---- */

static sem_t ready;

static int waiting(void *user)
{
	sem_post(user);
	for (;;)
		pause();
	return 0;
}

static int around(void *user)
{
	return h_call(waiting, user);
}

static void cleaned(void *user)
{
	++*(int *)user;
}

static void *canceled_thread(void *cleanups)
{
	pthread_cleanup_push(cleaned, cleanups);
	h_call(around, &ready);
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancellation(void)
{
	int cleanups = 0, canceled = 0;
	sem_init(&ready, 0, 0);
	for (int i = 0; i < 5; i++) {
		pthread_t thread;
		void *result;
		pthread_create(&thread, NULL, canceled_thread, &cleanups);
		sem_wait(&ready);
		pthread_cancel(thread);
		pthread_join(thread, &result);
		canceled += result == PTHREAD_CANCELED;
	}
	printf("canceled %d, cleaned up %d\n", canceled, cleanups);
}

/* ---- fibers ---- */

#define FIBERS 3
#define STACK_BYTES 65536

static ucontext_t scheduler, fibers[FIBERS];
static int current, ended[FIBERS], steps[FIBERS];

static int yielding(void *user)
{
	int fiber = *(int *)user;
	steps[fiber]++;
	swapcontext(&fibers[fiber], &scheduler);
	return f_identity(fiber);
}

static int yielding_deeper(void *user)
{
	return h_call(yielding, user) + f_identity(1);
}

static void fiber_run(void)
{
	int fiber = current, sum = 0;
	for (int i = 0; i < 4; i++)
		sum += h_call(i & 1 ? yielding_deeper : yielding, &fiber);
	ended[fiber] = 1;
	steps[fiber] += sum * 100;
	swapcontext(&fibers[fiber], &scheduler);
}

static void fibers_step(int from, int to)
{
	for (current = from; current < to; current++)
		if (!ended[current])
			swapcontext(&scheduler, &fibers[current]);
}

static void *fibers_thread(void *unused)
{
	for (int i = 0; i < 2; i++)
		fibers_step(0, FIBERS);
	return unused;
}

/* Run fibers in turns, for a while in another thread. */
static void run_fibers(void)
{
	static char stacks[FIBERS][STACK_BYTES];
	pthread_t thread;
	for (int i = 0; i < FIBERS; i++) {
		getcontext(&fibers[i]);
		fibers[i].uc_stack.ss_sp = stacks[i];
		fibers[i].uc_stack.ss_size = STACK_BYTES;
		makecontext(&fibers[i], fiber_run, 0);
	}
	fibers_step(0, FIBERS);
	fibers_step(0, FIBERS);
	pthread_create(&thread, NULL, fibers_thread, NULL);
	pthread_join(thread, NULL);
	while (!ended[0] || !ended[1] || !ended[2])
		fibers_step(0, FIBERS);
	printf("fibers %d %d %d\n", steps[0], steps[1], steps[2]);
}

/* ---- plugins ---- */

static const char *folder;

static void *open_plugin(const char *name, int flags)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	void *plugin = dlopen(path, flags);
	if (!plugin) {
		printf("%s\n", dlerror());
		exit(1);
	}
	return plugin;
}

static void ask(void *plugin)
{
	int (*identity)(int) = (int (*)(int))dlsym(plugin, "deep_identity");
	int (*which)(void) = (int (*)(void))dlsym(plugin, "deep_which");
	printf("plugin: %d %d\n", identity(7), which());
}

/* Two plugins with copies of a library: each calls its own, and the program's f_identity() unless
 * it was loaded with RTLD_DEEPBIND. */
static void copies(int flags)
{
	void *one = open_plugin("libfunctions_deep.so", RTLD_LAZY | flags);
	void *two = open_plugin("libfunctions_deep2.so", RTLD_LAZY | flags);
	ask(one);
	ask(two);
	dlclose(one);
	dlclose(two);
}

static jmp_buf outside;

static int close_plugin(void *plugin)
{
	return dlclose(plugin);
}

static int leave(void *unused)
{
	(void)unused;
	longjmp(outside, 1);
}

/* Load code with different frames to the same addresses; a call is open, or was left, meanwhile. */
static void unloading(void)
{
	long sum = 0;
	for (volatile int i = 0; i < 6; i = i + 1) {
		void *plugin = open_plugin(
			i & 1 ? "libfunctions_deep2.so" : "libfunctions_deep.so", RTLD_LAZY);
		for (char name[] = "deep_frame_0"; name[11] < '4'; name[11]++)
			sum += ((long (*)(long))dlsym(plugin, name))(i);
		if (!setjmp(outside))
			h_call(leave, NULL);
		sum += h_call(close_plugin, plugin);
	}
	printf("unloaded %ld\n", sum);
}

/* A plugin calls a library that it was not linked with. The first call keeps the library loaded. */
static void lent(void)
{
	void *library = open_plugin("libfunctions_copy.so", RTLD_NOW | RTLD_GLOBAL);
	void *plugin = open_plugin("libfunctions_lent.so", RTLD_LAZY);
	int (*which)(void) = (int (*)(void))dlsym(plugin, "lent_which");
	printf("lent %d", which());
	dlclose(library);
	printf(" %d\n", which());
	dlclose(plugin);
}

static void found_by_name(void)
{
	int (*found)(int) = (int (*)(int))dlsym(RTLD_DEFAULT, "f_identity");
	int (*taken)(int) = f_identity;
	void *library = dlopen("libfunctions.so", RTLD_LAZY | RTLD_NOLOAD);
	printf("the same address %d %d, %d\n", found == taken,
		library && dlsym(library, "f_identity") == (void *)found, found(5));
	printf("absent %d\n", dlsym(RTLD_DEFAULT, "no_such_function") == NULL && dlerror() != NULL);
}

int main(int argc, char **argv)
{
	(void)argc;
	*strrchr(argv[0], '/') = 0;
	folder = argv[0];
	if (__builtin_cpu_supports("avx"))
		vectors32();
	if (__builtin_cpu_supports("avx512f"))
		vectors64();
	floating();
	cancellation();
	run_fibers();
	copies(RTLD_LOCAL);
	unloading();
	copies(RTLD_LOCAL | RTLD_DEEPBIND);
	copies(RTLD_LOCAL);
	lent();
	found_by_name();
	return 0;
}
