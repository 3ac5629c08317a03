/* SPDX-License-Identifier: Apache-2.0 */
/* A program that looks like CPython 3.11 to the tracer, and whose GIL is what an argument says.
 * Prints the tid of the holder. */
// LINK: -pthread -rdynamic
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* struct _gil_runtime_state of CPython */
struct gil {
	unsigned long interval;
	void *last_holder;
	int locked;
	unsigned long switch_number;
	pthread_cond_t cond;
	pthread_mutex_t mutex;
};

#define RUNTIME_BYTES 4096
#define NATIVE 160 /* offset of native_thread_id */
#define HOLDER 4242

/* What the tracer looks for */
char _PyRuntime[RUNTIME_BYTES] __attribute__((aligned(64)));
unsigned Py_Version = 0x030b07f0;
char PyCode_Type[512], PyUnicode_Type[512], PyBytes_Type[512];
int Py_IsFinalizing(void);
void *PyGILState_GetThisThreadState(void);

static uint64_t state[64], holder[64], cframe[8];
static struct gil *gil = (struct gil *)(void *)(_PyRuntime + 352);

int Py_IsFinalizing(void)
{
	return 0;
}

void *PyGILState_GetThisThreadState(void)
{
	return state;
}

static void waited(pthread_cond_t *cond, pthread_mutex_t *mutex, long ms)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += ms * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(mutex);
	int result = pthread_cond_timedwait(cond, mutex, &until);
	pthread_mutex_unlock(mutex);
	if (result != ETIMEDOUT)
		exit(3);
}

/* Wait for the lock; `locked` is what the lock says when the wait is over. */
static void gil_waited(int locked, long ms)
{
	gil->locked = locked;
	waited(&gil->cond, &gil->mutex, ms);
}

static void *unmapped(void)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(page, 4096);
	return page;
}

static void random_gil(unsigned seed)
{
	srandom(seed);
	gil_waited(0, 2);
	for (int i = 0; i < 300; i++) {
		gil->interval = random() % 8 ? 5000 : (unsigned long)random() << 33;
		gil->last_holder = (void *)((uintptr_t)random() << random() % 33 & ~7ul);
		holder[NATIVE / 8] = (uint64_t)random() << random() % 33;
		if (random() % 2)
			gil->last_holder = holder;
		gil_waited(random() % 64 ? (int)(random() % 2) : (int)random(), random() % 2);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "true";
	static struct gil other = {
		.cond = PTHREAD_COND_INITIALIZER, .mutex = PTHREAD_MUTEX_INITIALIZER};
	state[56 / 8] = (uint64_t)(uintptr_t)cframe;
	state[NATIVE / 8] = (uint64_t)syscall(SYS_gettid);
	holder[NATIVE / 8] = HOLDER;
	*gil = (struct gil){
		5000, holder, 0, 7, PTHREAD_COND_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
	if (!strcmp(mode, "freed"))
		gil->last_holder = unmapped();
	if (!strcmp(mode, "interval"))
		gil->interval = 0;
	if (!strcmp(mode, "thread"))
		state[NATIVE / 8] = 1;
	if (!strcmp(mode, "mutex"))
		waited(&gil->cond, &other.mutex, 2);
	else if (!strcmp(mode, "edge"))
		waited((pthread_cond_t *)(void *)(_PyRuntime + RUNTIME_BYTES - 48), &other.mutex,
			2);
	else if (!strcmp(mode, "random"))
		random_gil(argc > 2 ? (unsigned)atoi(argv[2]) : 1);
	else
		gil_waited(0, 2);
	if (!strcmp(mode, "changes"))
		gil->last_holder = NULL;
	if (!strcmp(mode,
		    "parts")) { /* one wait of three calls, then one whose last call is short */
		gil_waited(1, 5);
		gil_waited(1, 5);
		gil_waited(0, 2);
		gil_waited(1, 5);
		gil_waited(0, -1);
	}
	waited(&other.cond, &other.mutex, 2);
	gil_waited(0, 2);
	printf("%d\n", HOLDER);
	return 0;
}
