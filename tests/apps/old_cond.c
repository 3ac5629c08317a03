/* SPDX-License-Identifier: Apache-2.0 */
/*
 * old_cond.c - a program linked against an old libc, with condition variables of the size of one
 * pointer.
 *
 * Calls to pthread_cond_*@GLIBC_2.2.5 must behave as without the tracer: nobody writes past the end
 * of the 8-byte object, and signals wake waiters (a wrapper that passes such a call to the new
 * version corrupts 40 bytes and hangs).
 */
#include "app.h"

#include <pthread.h>

#ifdef __x86_64__
__asm__(".symver pthread_cond_init,pthread_cond_init@GLIBC_2.2.5");
__asm__(".symver pthread_cond_wait,pthread_cond_wait@GLIBC_2.2.5");
__asm__(".symver pthread_cond_timedwait,pthread_cond_timedwait@GLIBC_2.2.5");
__asm__(".symver pthread_cond_signal,pthread_cond_signal@GLIBC_2.2.5");
__asm__(".symver pthread_cond_broadcast,pthread_cond_broadcast@GLIBC_2.2.5");
#endif

#define GUARD 0x5a
static struct {
	unsigned char before[64];
	void *cond;
	unsigned char after[64];
} old __attribute__((aligned(64)));
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int turn, all;

static pthread_cond_t *cond(void)
{
	return (pthread_cond_t *)(void *)&old.cond;
}

static void *partner(void *unused)
{
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&mutex);
		while (turn != 1)
			pthread_cond_wait(cond(), &mutex);
		turn = 0;
		pthread_cond_signal(cond());
		pthread_mutex_unlock(&mutex);
	}
	pthread_mutex_lock(&mutex);
	while (!all)
		pthread_cond_wait(cond(), &mutex);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static int intact(void)
{
	for (int i = 0; i < 64; i++)
		if (old.before[i] != GUARD || old.after[i] != GUARD)
			return 0;
	return 1;
}

int main(void)
{
	pthread_t thread;
	struct timespec past = {1, 0};
	memset(&old, GUARD, sizeof(old));
	pthread_cond_init(cond(), NULL);
	pthread_create(&thread, NULL, partner, NULL);
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&mutex);
		turn = 1;
		pthread_cond_signal(cond());
		while (turn != 0)
			pthread_cond_wait(cond(), &mutex);
		pthread_mutex_unlock(&mutex);
	}
	check(1, "100 handshakes");
	pthread_mutex_lock(&mutex);
	check(pthread_cond_timedwait(cond(), &mutex, &past) == ETIMEDOUT, "timed wait times out");
	all = 1;
	pthread_cond_broadcast(cond());
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
	check(intact(), "nothing written beside the old condition variable");
	return app_result();
}
