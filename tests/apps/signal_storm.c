/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal_storm.c - timers at 10 kHz whose handlers make wrapped calls while the program makes the
 * same ones.
 *
 * Recording must be safe in handlers: no hang, no wrong result; errno of interrupted code is kept;
 * every call of program and handlers is recorded or counted as missing.
 */
#include "app.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#define SECONDS_MS 600
static int zero_fd, null_fd;
static sem_t semaphore;
static uint64_t handler_calls, main_calls, posts;

static void handler(int signal)
{
	char byte;
	int saved = errno;
	(void)signal;
	__atomic_fetch_add(&handler_calls, 2, __ATOMIC_RELAXED);
	require(pread(zero_fd, &byte, 1, 0) == 1, "pread in the handler");
	require(pwrite(null_fd, "x", 1, 0) == 1, "pwrite in the handler");
	sem_post(&semaphore);
	__atomic_fetch_add(&posts, 1, __ATOMIC_RELAXED);
	errno = saved;
}

static uint64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void *storm(void *end)
{
	char byte;
	while (now_ms() < *(uint64_t *)end) {
		for (int i = 0; i < 50; i++) {
			errno = 77;
			require(pread(zero_fd, &byte, 1, 0) == 1, "pread");
			require(pwrite(null_fd, "x", 1, 0) == 1, "pwrite");
			require(errno == 77, "errno is kept");
		}
		__atomic_fetch_add(&main_calls, 100, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void start_timers(timer_t *timer)
{
	struct itimerval fast = {{0, 100}, {0, 100}};
	struct itimerspec other = {{0, 130000}, {0, 130000}};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
	check(!setitimer(ITIMER_REAL, &fast, NULL) && !setitimer(ITIMER_PROF, &fast, NULL),
		"interval timers at 10 kHz");
	check(!timer_create(CLOCK_MONOTONIC, &event, timer) &&
			!timer_settime(*timer, 0, &other, NULL),
		"a POSIX timer");
}

static void stop_timers(timer_t timer)
{
	struct itimerval off = {{0, 0}, {0, 0}};
	setitimer(ITIMER_REAL, &off, NULL);
	setitimer(ITIMER_PROF, &off, NULL);
	timer_delete(timer);
}

static uint64_t drain_semaphore(void)
{
	uint64_t count = 0;
	while (!sem_trywait(&semaphore))
		count++;
	return count;
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	int kinds[] = {SIGALRM, SIGPROF, SIGUSR2};
	uint64_t end = now_ms() + SECONDS_MS;
	pthread_t thread;
	timer_t timer;
	zero_fd = open("/dev/zero", O_RDONLY);
	null_fd = open("/dev/null", O_WRONLY);
	sem_init(&semaphore, 0, 0);
	for (int i = 0; i < 3; i++)
		sigaction(kinds[i], &action, NULL);
	start_timers(&timer);
	pthread_create(&thread, NULL, storm, &end);
	storm(&end);
	pthread_join(thread, NULL);
	stop_timers(timer);
	for (int i = 0; i < 3; i++) /* a late signal would not be counted */
		signal(kinds[i], SIG_IGN);
	check(handler_calls > 200, "handlers ran");
	check(drain_semaphore() == posts, "no sem_post was lost");
	if (app_facts())
		say("facts: pread+pwrite %llu", (unsigned long long)(main_calls + handler_calls));
	return app_result();
}
