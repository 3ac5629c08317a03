/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel.c - threads canceled inside wrapped calls, and left by pthread_exit.
 *
 * Cancellation must work in every blocking call as without the tracer: cleanup handlers and key
 * destructors run, and the result is PTHREAD_CANCELED. The report must contain the abandoned call
 * and the end of the thread.
 */
#include "app.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <time.h>

static int pipe_fd[2], cleaned, destroyed;
static pthread_key_t key;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;

static void in_read(void)
{
	char byte;
	require(read(pipe_fd[0], &byte, 1) == 5, "read returned");
}

static void unlock(void *m)
{
	pthread_mutex_unlock(m);
}

static void in_cond_wait(void)
{
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, &mutex);
	for (;;)
		pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(1);
}

static void in_nanosleep(void)
{
	struct timespec long_time = {1000, 0};
	nanosleep(&long_time, NULL);
}

static void in_sem_wait(void)
{
	sem_wait(&semaphore);
}

static void in_poll(void)
{
	struct pollfd p = {pipe_fd[0], POLLIN, 0};
	poll(&p, 1, -1);
}

static void in_recv(void)
{
	int pair[2];
	char byte;
	if (!socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		recv(pair[0], &byte, 1, 0);
}

static void in_pause(void)
{
	pause();
}

static void *sleeper(void *unused)
{
	pause();
	return unused;
}

static void in_join(void)
{
	pthread_t other;
	pthread_create(&other, NULL, sleeper, NULL);
	pthread_detach(other);
	pthread_create(&other, NULL, sleeper, NULL);
	pthread_join(other, NULL);
}

static void in_testcancel(void)
{
	for (;;) {
		pthread_testcancel();
		sched_yield();
	}
}

static void in_asynchronous(void)
{
	char byte;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (;;)
		require(pread(fd, &byte, 1, 0) == 1, "pread");
}

static void on_cleanup(void *unused)
{
	(void)unused;
	__atomic_fetch_add(&cleaned, 1, __ATOMIC_SEQ_CST);
}

static void on_destroy(void *unused)
{
	(void)unused;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(fd);
	__atomic_fetch_add(&destroyed, 1, __ATOMIC_SEQ_CST);
}

static void *run(void *function)
{
	pthread_setspecific(key, &key);
	pthread_cleanup_push(on_cleanup, NULL);
	((void (*)(void))function)();
	pthread_cleanup_pop(0);
	return NULL;
}

static void *exiter(void *unused)
{
	pthread_setspecific(key, &key);
	pthread_cleanup_push(on_cleanup, NULL);
	pthread_exit((void *)7);
	pthread_cleanup_pop(0);
	return unused;
}

static void canceled_in(const char *name, void (*function)(void), int wait_ms)
{
	pthread_t thread;
	void *result = NULL;
	int cleaned_before = cleaned, destroyed_before = destroyed;
	pthread_create(&thread, NULL, run, (void *)function);
	app_sleep_ms(wait_ms);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	check(result == PTHREAD_CANCELED, name);
	require(cleaned == cleaned_before + 1, "cleanup handler ran once");
	require(destroyed == destroyed_before + 1, "key destructor ran once");
}

int main(void)
{
	pthread_t thread;
	void *result = NULL;
	if (pipe(pipe_fd) || sem_init(&semaphore, 0, 0) || pthread_key_create(&key, on_destroy))
		return 1;
	canceled_in("canceled in read", in_read, 20);
	canceled_in("canceled in pthread_cond_wait", in_cond_wait, 20);
	check(pthread_mutex_trylock(&mutex) == 0, "its mutex was taken back and released");
	canceled_in("canceled in nanosleep", in_nanosleep, 20);
	canceled_in("canceled in sem_wait", in_sem_wait, 20);
	canceled_in("canceled in poll", in_poll, 20);
	canceled_in("canceled in recv", in_recv, 20);
	canceled_in("canceled in pause", in_pause, 20);
	canceled_in("canceled in pthread_join", in_join, 20);
	canceled_in("canceled in pthread_testcancel", in_testcancel, 5);
	canceled_in("canceled asynchronously", in_asynchronous, 5);
	canceled_in("canceled at once", in_read, 0);
	pthread_create(&thread, NULL, exiter, NULL);
	pthread_join(thread, &result);
	check(result == (void *)7 && cleaned == 12 && destroyed == 12, "pthread_exit");
	return app_result();
}
