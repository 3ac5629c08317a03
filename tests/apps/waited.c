/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waited.c - programs whose critical path is known: each stage is a function that sleeps, so that
 * the names of the stages on the path can be compared.
 *
 * Usage: waited join|lock|heap|twice|rwlock|condition|held|taken|barrier|child|pipe|relay|pair|
 *        poll|select|epoll|reused|full|stdio|stream|silent|timeout|semaphore|exit
 */
#include "app.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stages.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
	long count;
	pthread_mutex_t lock;
} queue = {0, PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t *inner = &queue.lock;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static int ready;

static void *runs(void *stage)
{
	void (*call)(void);
	memcpy(&call, stage, sizeof(call));
	call();
	return NULL;
}

static pthread_t thread_of(void *(*start)(void *), void *argument)
{
	pthread_t thread;
	check(!pthread_create(&thread, NULL, start, argument), "a thread begins");
	return thread;
}

/* Three threads; the longest is waited for in the middle. */
static void join(void)
{
	static void (*const stages[])(void) = {first, third, second};
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		threads[i] = thread_of(runs, (void *)&stages[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	first();
}

static void *holds_both(void *unused)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_lock(inner);
	pthread_barrier_wait(&barrier);
	third();
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(&mutex);
	first();
	return unused;
}

static void *wants_inner(void *unused)
{
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(inner);
	second();
	pthread_mutex_unlock(inner);
	return unused;
}

/* A thread waits for a lock within a lock; who held both ends before it does. */
static void lock(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_t holder = thread_of(holds_both, NULL), other = thread_of(wants_inner, NULL);
	pthread_join(other, NULL);
	pthread_join(holder, NULL);
}

/* The same with a lock that is no variable. */
static void heap_lock(void)
{
	inner = malloc(sizeof(*inner));
	check(inner && !pthread_mutex_init(inner, NULL), "a lock");
	lock();
}

/* A lock that a thread holds in one function, then in another. */
__attribute__((noinline)) static void flush(void)
{
	pthread_mutex_lock(inner);
	pthread_barrier_wait(&barrier);
	second();
	first();
	pthread_mutex_unlock(inner);
}

__attribute__((noinline)) static void refill(void)
{
	pthread_mutex_lock(inner);
	pthread_barrier_wait(&barrier);
	third();
	aside();
	pthread_mutex_unlock(inner);
}

static void *holds_twice(void *unused)
{
	flush();
	pthread_barrier_wait(&barrier);
	refill();
	return unused;
}

static void *wants_twice(void *unused)
{
	for (int i = 0; i < 2; i++) {
		pthread_barrier_wait(&barrier);
		pthread_mutex_lock(inner);
		aside();
		pthread_mutex_unlock(inner);
		if (!i)
			pthread_barrier_wait(&barrier);
	}
	return unused;
}

static void two_functions(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_t holder = thread_of(holds_twice, NULL), other = thread_of(wants_twice, NULL);
	pthread_join(other, NULL);
	pthread_join(holder, NULL);
}

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t reading;

static void *writes(void *unused)
{
	pthread_rwlock_wrlock(&rwlock);
	pthread_barrier_wait(&barrier);
	third();
	pthread_rwlock_unlock(&rwlock);
	return unused;
}

static void *reads(void *unused)
{
	pthread_barrier_wait(&barrier);
	pthread_rwlock_rdlock(&rwlock);
	pthread_barrier_wait(&reading);
	second();
	pthread_rwlock_unlock(&rwlock);
	aside();
	return unused;
}

/* A reader waits for a writer, then the main thread, which writes, for the reader. */
static void reader_and_writer(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_barrier_init(&reading, NULL, 2);
	pthread_t writer = thread_of(writes, NULL), reader = thread_of(reads, NULL);
	pthread_barrier_wait(&reading);
	pthread_rwlock_wrlock(&rwlock);
	first();
	pthread_rwlock_unlock(&rwlock);
	pthread_join(writer, NULL);
	pthread_join(reader, NULL);
}

static void *signals(void *unused)
{
	second();
	pthread_mutex_lock(&mutex);
	ready = 1;
	pthread_cond_signal(&condition);
	pthread_mutex_unlock(&mutex);
	aside();
	return unused;
}

static void condition_wait(void)
{
	pthread_t thread = thread_of(signals, NULL);
	pthread_mutex_lock(&mutex);
	while (!ready)
		pthread_cond_wait(&condition, &mutex);
	pthread_mutex_unlock(&mutex);
	third();
	pthread_join(thread, NULL);
}

static void *signals_and_holds(void *unused)
{
	second();
	pthread_mutex_lock(&mutex);
	ready = 1;
	pthread_cond_signal(&condition);
	third();
	pthread_mutex_unlock(&mutex);
	return unused;
}

/* Who waits for a condition also waits for the mutex, which is held for a stage after the signal.
 */
static void held_mutex(void)
{
	pthread_t thread = thread_of(signals_and_holds, NULL);
	pthread_mutex_lock(&mutex);
	while (!ready)
		pthread_cond_wait(&condition, &mutex);
	first();
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
}

static void *waits_and_holds(void *unused)
{
	pthread_mutex_lock(&mutex);
	pthread_barrier_wait(&barrier);
	while (!ready)
		pthread_cond_wait(&condition, &mutex);
	third();
	pthread_mutex_unlock(&mutex);
	return unused;
}

/* A thread holds a mutex that it got by a wait for a condition; the main thread waits for it. */
static void taken_mutex(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_t thread = thread_of(waits_and_holds, NULL);
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(&mutex);
	second();
	ready = 1;
	pthread_cond_signal(&condition);
	pthread_mutex_unlock(&mutex);
	aside();
	pthread_mutex_lock(&mutex);
	first();
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
}

static void *meets(void *stage)
{
	runs(stage);
	pthread_barrier_wait(&barrier);
	aside();
	return NULL;
}

/* The slower of two threads lets the main thread go on. */
static void barrier_wait(void)
{
	static void (*const stages[])(void) = {first, third};
	pthread_t threads[2];
	pthread_barrier_init(&barrier, NULL, 3);
	for (int i = 0; i < 2; i++)
		threads[i] = thread_of(meets, (void *)&stages[i]);
	pthread_barrier_wait(&barrier);
	second();
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void child(void)
{
	first();
	pid_t pid = fork();
	if (!pid) {
		third();
		_exit(0);
	}
	aside();
	waitpid(pid, NULL, 0);
	second();
}

/* A child that reads a byte from one pipe, runs a stage, and writes it to another. */
static pid_t passes_on(int from, int to, void (*stage)(void))
{
	char byte = 'x';
	pid_t pid = fork();
	if (!pid) {
		if (from >= 0)
			check(read(from, &byte, 1) == 1, "a byte comes");
		stage();
		check(write(to, &byte, 1) == 1, "the byte goes on");
		_exit(app_result());
	}
	return pid;
}

/* Processes that wait for each other, and the parent for the last of them. */
static void pipes(int count)
{
	static void (*const stages[])(void) = {third, second};
	int ends[2][2], from = -1;
	char byte;
	pid_t pids[2];
	for (int i = 0; i < count; i++) {
		check(!pipe(ends[i]), "a pipe");
		pids[i] = passes_on(from, ends[i][1], stages[i]);
		from = ends[i][0];
	}
	check(read(from, &byte, 1) == 1, "the last byte comes");
	first();
	for (int i = 0; i < count; i++)
		waitpid(pids[i], NULL, 0);
}

/* A pair of sockets in place of a pipe: the parent sends a byte, and gets it back. */
static void socket_pair(void)
{
	int ends[2];
	char byte = 'x';
	check(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "a pair of sockets");
	pid_t pid = passes_on(ends[1], ends[1], third);
	second();
	check(send(ends[0], &byte, 1, 0) == 1, "the byte is sent");
	check(recv(ends[0], &byte, 1, 0) == 1, "the byte comes back");
	first();
	waitpid(pid, NULL, 0);
}

/* The parent waits until it can read what a child writes. */
static void ready_pipe(const char *how)
{
	int ends[2];
	char byte;
	check(!pipe(ends), "a pipe");
	struct pollfd polled = {.fd = ends[0], .events = POLLIN};
	struct epoll_event event = {.events = EPOLLIN};
	fd_set set;
	pid_t pid = passes_on(-1, ends[1], third);
	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	if (!strcmp(how, "poll")) {
		check(poll(&polled, 1, -1) == 1, "the pipe can be read");
	} else if (!strcmp(how, "select")) {
		check(select(ends[0] + 1, &set, NULL, NULL, NULL) == 1, "the pipe can be read");
	} else {
		int all = epoll_create1(0);
		check(!epoll_ctl(all, EPOLL_CTL_ADD, ends[0], &event), "epoll has the pipe");
		check(epoll_wait(all, &event, 1, -1) == 1, "the pipe can be read");
		close(all);
	}
	check(read(ends[0], &byte, 1) == 1, "the byte comes");
	first();
	waitpid(pid, NULL, 0);
}

/* A pipe that has the number of a file which was open before. */
static void reused_number(void)
{
	char byte;
	int file = open("/proc/self/exe", O_RDONLY);
	check(file >= 0 && read(file, &byte, 1) == 1, "a file is read");
	close(file);
	pipes(1);
}

/* A child reads late what fills a pipe. */
static void full_pipe(void)
{
	static char data[1 << 18];
	int ends[2];
	ssize_t left = sizeof(data), bytes;
	check(!pipe(ends), "a pipe");
	pid_t pid = fork();
	if (!pid) {
		third();
		while (left > 0 && (bytes = read(ends[0], data, sizeof(data))) > 0)
			left -= bytes;
		_exit(app_result());
	}
	check(write(ends[1], data, sizeof(data)) == (ssize_t)sizeof(data), "all is written");
	second();
	waitpid(pid, NULL, 0);
}

/* A child writes by stdio, which writes to the pipe at its end; or by a raw system call, some time
 * before its end: then nothing in the report bounds the wait. */
static void unseen_write(int is_silent)
{
	int ends[2];
	char byte;
	check(!pipe(ends), "a pipe");
	pid_t pid = fork();
	if (!pid) {
		third();
		if (is_silent) {
			check(syscall(SYS_write, ends[1], "x", 1) == 1, "the byte goes on");
			aside();
		} else {
			FILE *file = fdopen(ends[1], "w");
			check(file && fprintf(file, "x") == 1, "stdio has the byte");
		}
		exit(app_result());
	}
	check(read(ends[0], &byte, 1) == 1, "the byte comes");
	first();
	waitpid(pid, NULL, 0);
}

/* The parent reads by stdio, whose system call is not recorded, what a child writes. */
static void stream_read(void)
{
	int ends[2];
	char byte;
	check(!pipe(ends), "a pipe");
	pid_t pid = passes_on(-1, ends[1], third);
	FILE *file = fdopen(ends[0], "r");
	check(file && fread(&byte, 1, 1, file) == 1, "the byte comes");
	first();
	waitpid(pid, NULL, 0);
}

static void timeouts(void)
{
	struct timeval time = {0, 60000};
	check(poll(NULL, 0, 140) == 0, "a timeout of poll()");
	check(select(0, NULL, NULL, NULL, &time) == 0, "a timeout of select()");
	struct timespec until, wait = {0, 60000000};
	sem_init(&semaphore, 0, 0);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += wait.tv_nsec;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	check(sem_timedwait(&semaphore, &until) == -1, "a timeout of sem_timedwait()");
	check(syscall(SYS_futex, &ready, FUTEX_WAIT_PRIVATE, 0, &wait) == -1,
		"a timeout of a futex");
}

static void *posts(void *unused)
{
	third();
	sem_post(&semaphore);
	aside();
	return unused;
}

static void semaphore_wait(void)
{
	sem_init(&semaphore, 0, 0);
	pthread_t thread = thread_of(posts, NULL);
	sem_wait(&semaphore);
	second();
	pthread_join(thread, NULL);
}

static void *exits(void *unused)
{
	second();
	exit(app_result());
	return unused;
}

/* The first thread waits for ever. */
static void exit_elsewhere(void)
{
	thread_of(exits, NULL);
	poll(NULL, 0, -1);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	if (!strcmp(mode, "join"))
		join();
	else if (!strcmp(mode, "lock"))
		lock();
	else if (!strcmp(mode, "heap"))
		heap_lock();
	else if (!strcmp(mode, "twice"))
		two_functions();
	else if (!strcmp(mode, "rwlock"))
		reader_and_writer();
	else if (!strcmp(mode, "condition"))
		condition_wait();
	else if (!strcmp(mode, "held"))
		held_mutex();
	else if (!strcmp(mode, "taken"))
		taken_mutex();
	else if (!strcmp(mode, "barrier"))
		barrier_wait();
	else if (!strcmp(mode, "child"))
		child();
	else if (!strcmp(mode, "pipe") || !strcmp(mode, "relay"))
		pipes(!strcmp(mode, "relay") ? 2 : 1);
	else if (!strcmp(mode, "pair"))
		socket_pair();
	else if (!strcmp(mode, "poll") || !strcmp(mode, "select") || !strcmp(mode, "epoll"))
		ready_pipe(mode);
	else if (!strcmp(mode, "reused"))
		reused_number();
	else if (!strcmp(mode, "full"))
		full_pipe();
	else if (!strcmp(mode, "stdio") || !strcmp(mode, "silent"))
		unseen_write(!strcmp(mode, "silent"));
	else if (!strcmp(mode, "stream"))
		stream_read();
	else if (!strcmp(mode, "timeout"))
		timeouts();
	else if (!strcmp(mode, "semaphore"))
		semaphore_wait();
	else if (!strcmp(mode, "exit"))
		exit_elsewhere();
	else
		check(0, "a known mode");
	return app_result();
}
