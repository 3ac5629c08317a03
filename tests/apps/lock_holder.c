/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_holder.c - one thread holds a mutex while another waits for it.
 *
 * A wait for a taken lock must be recorded with the thread that held the lock; a lock that was
 * free must only be counted.
 */
#include "app.h"

#include <pthread.h>

#define FREE_LOCKS 25
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, free_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static void *holder(void *unused)
{
	if (app_facts())
		say("facts: holder %d", app_tid());
	pthread_mutex_lock(&mutex);
	pthread_barrier_wait(&barrier);
	app_sleep_ms(30);
	pthread_mutex_unlock(&mutex);
	return unused;
}

int main(void)
{
	pthread_t thread;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, holder, NULL);
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < FREE_LOCKS; i++) {
		pthread_mutex_lock(&free_mutex);
		pthread_mutex_unlock(&free_mutex);
	}
	pthread_join(thread, NULL);
	check(1, "lock taken after the wait");
	if (app_facts())
		say("facts: waiter %d", app_tid());
	say("expect %d pthread_mutex_lock", FREE_LOCKS + 2);
	return app_result();
}
