/* SPDX-License-Identifier: Apache-2.0 */
// CFLAGS x86_64: -mavx
// LINK: -lfunctions -ldl -Wl,-z,lazy
/*
 * functions.cpp - calls the functions of libfunctions.so in every way, and prints their results.
 *
 * usage: functions [wait | exit | calls COUNT | steps COUNT]
 *
 * calls: print the least cost of a call. steps: make the calls between two marks for stepcount.
 */
#include "functions.h"

#include "tests/bench/bench.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool has_vectors()
{
#ifdef __x86_64__
	return __builtin_cpu_supports("avx");
#else
	return true;
#endif
}

static void values()
{
	printf("ints %ld\n", f_ints(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
	printf("doubles %g\n", f_doubles(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
	f_big big = f_big_result(7);
	printf("big %ld %ld\n", big.value[0], big.value[39]);
	printf("big argument %ld\n", f_big_argument(big, 3));
	auto two = f_two_doubles(1.5, 2.5);
	auto mixed = f_mixed(41, 1.5);
	printf("structures %g %g %ld %g\n", two.a, two.b, mixed.a, mixed.b);
	__int128 wide = f_int128((__int128)1 << 70, 3);
	printf("int128 %lx %lx\n", (long)(wide >> 64), (long)wide);
	printf("long double %Lg\n", f_long_double(1.25L, 3.0L));
	if (has_vectors()) {
		f_vector v = f_vectors(f_vector{1, 2, 3, 4}, f_vector{5, 6, 7, 8});
		printf("vector %g %g %g %g\n", v[0], v[1], v[2], v[3]);
	} else {
		printf("vector 5 12 21 32\n");
	}
	printf("variadic %g\n",
		f_variadic(13, 1L, 2.0, 3L, 4.0, 5L, 6.0, 7L, 8.0, 9L, 10.0, 11L, 12.0, 13L));
}

static int thrower(int value)
{
	if (value == 0)
		throw std::runtime_error("thrown");
	return f_call(thrower, value - 1);
}

static int deeper(int value)
{
	return value ? f_call(deeper, value - 1) : 0;
}

static void exceptions()
{
	int caught = 0;
	for (int i = 0; i < 100; i++) {
		try {
			f_call(thrower, i % 5);
		} catch (const std::exception &e) {
			caught += !strcmp(e.what(), "thrown");
		}
	}
	printf("caught %d\n", caught);
	printf("depth %d\n", f_call(deeper, 3000));
}

static void jumps()
{
	volatile int jumped = 0;
	jmp_buf environment;
	for (volatile int i = 1; i <= 50; i = i + 1) {
		int value = setjmp(environment);
		if (!value)
			f_jump(&environment, i);
		jumped = jumped + value;
	}
	printf("jumped %d\n", jumped);
}

static void *thread(void *argument)
{
	f_exit_thread(argument);
	return nullptr;
}

static void threads()
{
	long sum = 0;
	for (long i = 1; i <= 4; i++) {
		pthread_t id;
		void *result;
		pthread_create(&id, nullptr, thread, (void *)i);
		pthread_join(id, &result);
		sum += (long)result;
	}
	printf("threads %ld\n", sum);
}

static void forks()
{
	int status = 0;
	fflush(stdout);
	pid_t pid = f_fork();
	if (pid == 0)
		_exit(f_ints(1, 0, 0, 0, 0, 0, 0, 0, 0, 0) == 1 ? 23 : 1);
	waitpid(pid, &status, 0);
	printf("child %d %d\n", WEXITSTATUS(status), WTERMSIG(status));
}

static void plugins(const char *program)
{
	std::string path = program;
	path = path.substr(0, path.rfind('/') + 1) + "libfunctions_loaded.so";
	for (int i = 0; i < 3; i++) {
		void *plugin = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
		if (!plugin) {
			printf("%s\n", dlerror());
			exit(1);
		}
		auto call = (int (*)())dlsym(plugin, "loaded_call");
		auto count = (int *)dlsym(plugin, "loaded_count");
		printf("plugin %d %d\n", *count, call());
		dlclose(plugin);
	}
}

#define ROUND 1000

/* Print the least cost of a call in any round. */
static void cost(long count)
{
	double least = 1e9;
	long sum = 0;
	for (long done = 0; done < count; done += ROUND) {
		timespec from, to;
		clock_gettime(CLOCK_MONOTONIC, &from);
		for (long i = 0; i < ROUND; i++)
			sum += f_identity((int)i);
		clock_gettime(CLOCK_MONOTONIC, &to);
		double ns = (double)(to.tv_sec - from.tv_sec) * 1e9 +
			(double)(to.tv_nsec - from.tv_nsec);
		least = ns / ROUND < least ? ns / ROUND : least;
	}
	printf("%.2f ns a call (%ld)\n", least, sum);
}

static void steps(long count)
{
	f_identity(0);
	STEP_MARK();
	for (long i = 0; i < count; i++)
		f_identity((int)i);
	STEP_MARK();
}

static int waiter(int)
{
	f_wait();
	return 0;
}

static int ender(int)
{
	f_exit(5);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2) {
		(*argv[1] == 's' ? steps : cost)(atol(argv[2]));
		return 0;
	}
	if (argc > 1) {
		printf("ready\n");
		fflush(stdout);
		return f_call(!strcmp(argv[1], "wait") ? waiter : ender, 0);
	}
	values();
	exceptions();
	jumps();
	threads();
	forks();
	plugins(argv[0]);
	return 0;
}
