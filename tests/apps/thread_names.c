/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_names.c - threads that are named in every way, and threads started by every function.
 *
 * The start, end and names of threads must be in the report, including the name of a thread that
 * another thread named.
 */
#include "app.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <threads.h>

static pthread_barrier_t barrier;

static void *by_setname(void *name)
{
	pthread_setname_np(pthread_self(), name);
	return NULL;
}

static void *by_prctl(void *name)
{
	prctl(PR_SET_NAME, name, 0, 0, 0);
	return NULL;
}

static void *named_by_other(void *unused)
{
	char name[17] = "";
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	prctl(PR_GET_NAME, name);
	check(!strcmp(name, "by-other"), "the name another thread gave");
	return unused;
}

static int c11_thread(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "by-c11");
	return 5;
}

int main(void)
{
	pthread_t thread[3];
	thrd_t c11;
	int result = 0;
	char name[17] = "";
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread[0], NULL, by_setname, "by-setname");
	pthread_create(&thread[1], NULL, by_prctl, "by-prctl");
	pthread_create(&thread[2], NULL, named_by_other, NULL);
	pthread_barrier_wait(&barrier);
	check(!pthread_setname_np(thread[2], "by-other"), "pthread_setname_np of another thread");
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	check(thrd_create(&c11, c11_thread, NULL) == thrd_success &&
			thrd_join(c11, &result) == thrd_success && result == 5,
		"thrd_create");
	check(pthread_setname_np(pthread_self(), "a-name-that-is-too-long") == ERANGE,
		"too long a name is refused");
	check(!pthread_setname_np(pthread_self(), "main-renamed"), "the main thread's name");
	check(!pthread_getname_np(pthread_self(), name, sizeof(name)) &&
			!strcmp(name, "main-renamed"),
		"and what it reads back");
	return app_result();
}
