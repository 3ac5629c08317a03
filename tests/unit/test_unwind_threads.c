/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_unwind_threads.c - tests of threads that take chains at once, with a shared cache of rules
 * and a shared tree: each finds its own chain, and equal chains have one id.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "tap.h"
#include "tests/unit/unwind_oracle.h"

#define THREADS 4
#define ROUNDS 1000
#define DEPTHS 40

static pthread_mutex_t oracle_lock = PTHREAD_MUTEX_INITIALIZER; /* libunwind has races */

struct worker {
	struct callchain_thread memory;
	uint64_t random_state;
	uint32_t wrong, lost;
	uint32_t id[DEPTHS]; /* the chain of plain recursion to that depth */
};

static __attribute__((noinline)) uint32_t leaf(struct worker *w)
{
	struct callchain_result result;
	struct oracle_chain expected, found;
	uint32_t id = callchain_take(&w->memory, CALLCHAIN_DEPTH_MAX, 0, &result);
	oracle_nodes(id, &found);
	pthread_mutex_lock(&oracle_lock);
	oracle_step(&expected);
	pthread_mutex_unlock(&oracle_lock);
	if (!oracle_same(&expected, &found, CALLCHAIN_DEPTH_MAX) && w->wrong++ == 0) {
		oracle_print("libunwind", &expected);
		oracle_print("nodes", &found);
	}
	w->lost += result.end != CALLCHAIN_WHOLE;
	return id;
}

static uint32_t plain(struct worker *w, uint32_t depth);

static __attribute__((noinline)) uint32_t large(struct worker *w, uint32_t depth)
{
	volatile char room[900];
	room[depth] = 1;
	return plain(w, depth) + (uint32_t)(room[depth] != 1);
}

static __attribute__((noinline)) uint32_t varied(struct worker *w, uint32_t depth)
{
	volatile char *room = __builtin_alloca(16 + depth * 8);
	room[0] = 1;
	return plain(w, depth) + (uint32_t)(room[0] != 1);
}

static __attribute__((noinline)) uint32_t plain(struct worker *w, uint32_t depth)
{
	volatile uint32_t result;
	w->random_state = w->random_state * 6364136223846793005u + 1442695040888963407u;
	uint32_t way = w->wrong == UINT32_MAX ? 0 : (uint32_t)(w->random_state >> 40) & 3;
	if (depth == 0)
		result = leaf(w);
	else if (way == 0)
		result = large(w, depth - 1);
	else if (way == 1)
		result = varied(w, depth - 1);
	else
		result = plain(w, depth - 1);
	return result;
}

static __attribute__((noinline)) uint32_t straight(struct worker *w, uint32_t depth)
{
	volatile uint32_t result = depth ? straight(w, depth - 1) : leaf(w);
	return result;
}

static void *run(void *arg)
{
	struct worker *w = arg;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		plain(w, i % DEPTHS);
		w->id[i % DEPTHS] = straight(w, i % DEPTHS);
	}
	return NULL;
}

/* Look at memory just below the descriptor of the first thread, as a stack that happens to be there
 * would be. */
static int look_below_descriptor(void *arg)
{
	struct stack_range *ranges = arg;
	uint64_t sp = (uint64_t)(uintptr_t)pthread_self() - 64;
	return stack_ranges_switch(ranges, sp, 0, 0) ? 0 : 1;
}

/* A task with the descriptor of the first thread is on a stack of its own, which may end anywhere
 * below that descriptor. */
static void another_task_of_the_first_thread(void)
{
	static char stack[65536] __attribute__((aligned(64)));
	struct stack_range ranges[2] = {{0}};
	int tid = 1;
	pid_t pid = clone(look_below_descriptor, stack + sizeof(stack),
		CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			CLONE_CHILD_CLEARTID,
		ranges, NULL, NULL, &tid);
	if (pid < 0 && errno == EINVAL) { /* as in qemu-user */
		skip("the stack of a task with another thread's descriptor", "clone() refuses it");
		return;
	}
	while (pid > 0 && __atomic_load_n(&tid, __ATOMIC_ACQUIRE))
		sched_yield();
	check(pid > 0 && ranges[0].high && !ranges[0].sure,
		"the stack of a task with another thread's descriptor is not sure");
}

int main(void)
{
	pthread_t threads[THREADS];
	struct worker *workers = calloc(THREADS, sizeof(*workers));
	uint32_t wrong = 0, lost = 0, other = 0;
	oracle_init();
	for (uint32_t i = 0; i < THREADS; i++) {
		workers[i].random_state = i;
		pthread_create(&threads[i], NULL, run, &workers[i]);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		wrong += workers[i].wrong;
		lost += workers[i].lost;
		for (uint32_t k = 0; k < DEPTHS; k++)
			other += workers[i].id[k] != workers[0].id[k];
	}
	check(wrong == 0 && lost == 0,
		"%d chains by %d threads are right: %u differ, %u are not whole",
		2 * ROUNDS * THREADS, THREADS, wrong, lost);
	another_task_of_the_first_thread();
	check(other < THREADS, "equal chains have equal ids: %u have not", other);
	free(workers);
	return tap_done();
}
