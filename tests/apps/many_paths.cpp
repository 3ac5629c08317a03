/* SPDX-License-Identifier: Apache-2.0 */
// CFLAGS: -O2 -U_FORTIFY_SOURCE -Wno-attributes
/*
 * many_paths.cpp - several threads call pread along random paths, through frames of every
 * kind: with and without frame pointer, large, aligned, of varying size, virtual, below the C
 * library's qsort and bsearch, in signal handlers, below catch blocks and destructors.
 *
 * The paths must be the same in each run.
 *
 *     many_paths [CALLS] [THREADS]
 */
extern "C" {
#include "app.h"
}

#include <alloca.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

#include <stdexcept>

#define OWN_FRAME __attribute__((noinline, noclone))
#define STEP(name) OWN_FRAME static int name(struct path *p)

struct path {
	uint64_t random;
	int left; /* steps until the call */
};

static int zero_fd;
static volatile int after;
static __thread struct path *current; /* for callbacks that get no argument */

static uint32_t chance(struct path *p, uint32_t below)
{
	p->random = p->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(p->random >> 33) % below;
}

static int go(struct path *p);

OWN_FRAME static int calls(void)
{
	char byte;
	ssize_t got = pread(zero_fd, &byte, 1, 0);
	after = after + 1;
	return require(got == 1, "pread");
}

STEP(step_plain)
{
	return go(p) + 1;
}

STEP(step_jump)
{
	return go(p); /* a jump */
}

__attribute__((optimize("no-omit-frame-pointer"))) STEP(step_pointer)
{
	int got = go(p);
	return got + after;
}

STEP(step_large)
{
	volatile char room[12000];
	room[after & 1023] = 1;
	int got = go(p);
	return got + room[after & 1023];
}

STEP(step_alloca)
{
	size_t bytes = 16 + chance(p, 3000);
	volatile char *room = static_cast<volatile char *>(alloca(bytes));
	room[bytes / 2] = 1;
	int got = go(p);
	return got + room[bytes / 2];
}

STEP(step_aligned)
{
	volatile char room[128] __attribute__((aligned(64)));
	volatile char *more = static_cast<volatile char *>(alloca(16 + chance(p, 500)));
	room[after & 127] = more[0] = 1;
	int got = go(p);
	return got + room[after & 127] + more[0];
}

/* Many registers that have to be saved. */
STEP(step_registers)
{
	long a = after, b = a * 3, c = b ^ 5, d = c + a, e = d * b, f = e - c;
	int got = go(p);
	a += f, b ^= e;
	got += go(p);
	return got + static_cast<int>(a ^ b ^ c ^ d ^ e ^ f);
}

OWN_FRAME static int compares(const void *a, const void *b)
{
	if (current->left > 0)
		go(current);
	return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

STEP(step_qsort)
{
	int numbers[] = {3, 1, 2};
	current = p;
	qsort(numbers, 3, sizeof(int), compares);
	return go(p) + numbers[0];
}

STEP(step_bsearch)
{
	int numbers[] = {1, 2, 3}, wanted = 2;
	current = p;
	return bsearch(&wanted, numbers, 3, sizeof(int), compares) != nullptr;
}

OWN_FRAME static void handler(int)
{
	if (current->left > 0)
		go(current);
}

STEP(step_signal)
{
	current = p;
	pthread_kill(pthread_self(), SIGUSR1);
	return after;
}

struct Base {
	virtual ~Base() {}
	virtual int call(struct path *p) = 0;
};
template <int N> struct Real : Base {
	OWN_FRAME int call(struct path *p) override
	{
		return go(p) + N;
	}
};

STEP(step_virtual)
{
	static Real<1> one;
	static Real<2> two;
	Base *all[] = {&one, &two};
	return all[chance(p, 2)]->call(p) + 1;
}

struct Guard {
	struct path *p;
	OWN_FRAME ~Guard()
	{
		if (p->left > 0)
			go(p);
	}
};

OWN_FRAME static void throws(struct path *p)
{
	Guard guard{p};
	if (after >= 0)
		throw std::runtime_error("out");
}

STEP(step_throw)
{
	try {
		throws(p);
	} catch (const std::exception &) {
		return go(p) + 1;
	}
	return 0;
}

static int (*const steps[])(struct path *) = {step_plain, step_jump, step_pointer, step_large,
	step_alloca, step_aligned, step_registers, step_qsort, step_bsearch, step_signal,
	step_virtual, step_throw};

OWN_FRAME static int go(struct path *p)
{
	int got = 0;
	if (p->left-- <= 0)
		got = calls();
	else
		got = steps[chance(p, sizeof(steps) / sizeof(steps[0]))](p);
	after = after + 1;
	return got;
}

static int calls_wanted = 300;

static void *first_of_thread(void *seed)
{
	struct path p = {reinterpret_cast<uint64_t>(seed), 0};
	for (int i = 0; i < calls_wanted; i++) {
		p.left = static_cast<int>(chance(&p, 30));
		go(&p);
	}
	return nullptr;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 2;
	pthread_t thread[16];
	calls_wanted = argc > 1 ? atoi(argv[1]) : calls_wanted;
	zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	struct sigaction action = {};
	action.sa_handler = handler;
	action.sa_flags = SA_NODEFER;
	sigaction(SIGUSR1, &action, nullptr);
	for (long i = 0; i < threads && i < 16; i++)
		pthread_create(&thread[i], nullptr, first_of_thread, reinterpret_cast<void *>(i + 1));
	first_of_thread(reinterpret_cast<void *>(99L));
	for (int i = 0; i < threads && i < 16; i++)
		pthread_join(thread[i], nullptr);
	say("pass: paths");
	return app_result();
}
