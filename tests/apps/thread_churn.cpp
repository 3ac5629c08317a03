/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_churn.cpp - thousands of short threads whose destructors make wrapped calls.
 *
 * C++ thread_local destructors and pthread key destructors that call read, lock a mutex and set
 * keys again (up to PTHREAD_DESTRUCTOR_ITERATIONS rounds) must run as without the tracer. Their
 * calls must be in the report (expected count) or counted as missing, and lanes must be reused.
 */
#include "app.h"

#include <fcntl.h>
#include <pthread.h>

#define ROUNDS 250
#define AT_ONCE 8

static int zero_fd;
static long destroyed_locals, destroyed_keys;
static pthread_key_t first_key, second_key;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void one_read()
{
	char byte;
	require(pread(zero_fd, &byte, 1, 0) == 1, "pread");
}

struct Local {
	int used = 0;
	~Local()
	{
		one_read();
		pthread_mutex_lock(&mutex);
		destroyed_locals++;
		pthread_mutex_unlock(&mutex);
	}
};
static thread_local Local local;

/* This destructor runs a second time: it sets the key again in the first round. */
static void key_destroyed(void *value)
{
	one_read();
	pthread_mutex_lock(&mutex);
	destroyed_keys++;
	pthread_mutex_unlock(&mutex);
	if (value == &first_key)
		pthread_setspecific(first_key, &second_key);
}

static void *thread_main(void *unused)
{
	local.used++;
	pthread_setspecific(first_key, &first_key);
	pthread_setspecific(second_key, &second_key);
	one_read();
	return unused;
}

int main()
{
	zero_fd = open("/dev/zero", O_RDONLY);
	pthread_key_create(&first_key, key_destroyed);
	pthread_key_create(&second_key, key_destroyed);
	for (int round = 0; round < ROUNDS; round++) {
		pthread_t thread[AT_ONCE];
		for (auto &t : thread)
			require(!pthread_create(&t, nullptr, thread_main, nullptr),
				"pthread_create");
		for (auto &t : thread)
			pthread_join(t, nullptr);
	}
	check(destroyed_locals == ROUNDS * AT_ONCE, "every thread_local was destroyed");
	check(destroyed_keys == ROUNDS * AT_ONCE * 3,
		"every key destructor ran, and again where it asked for it");
	say("expect %d pread", ROUNDS * AT_ONCE * 5);
	say("expect-threads %d", ROUNDS * AT_ONCE + 1);
	return app_result();
}
