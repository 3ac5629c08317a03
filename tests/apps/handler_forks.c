/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handler_forks.c - a timer's handler forks, and the child returns from it into whatever it
 * interrupted.
 *
 * The child must continue as it does without the tracer, and no event of the child may be taken for
 * an event of its parent. Calls are counted before they are made: an interrupted call belongs to
 * the parent.
 *
 *     handler_forks fork|_Fork|bare [data|space|filter]
 *
 * The second argument removes what the child would need to copy its parent's memory: space for
 * data, address space, or system calls that a filter (which allows all) might forbid.
 */
#include "app.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

#define CHILDREN 1000
#define AT_ONCE 8
#define AFTER 20 /* rounds of a child after it has returned */

enum { PREAD, MUTEX, RWLOCK, SEMAPHORE, YIELD, FUNCTIONS };
static const char *const names[] = {
	"pread", "pthread_mutex_lock", "pthread_rwlock_rdlock", "sem_wait", "sched_yield"};

static uint64_t (*begun)[FUNCTIONS]; /* calls of the parent; of its children */
static volatile int is_child, made, alive, rounds_left = AFTER;
static const char *how;
static int zero_fd;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;

static void begin(int function)
{
	__atomic_fetch_add(&begun[is_child][function], 1, __ATOMIC_RELAXED);
}

static long bare_fork(void)
{
	long result;
	__asm__ volatile("syscall" : "=a"(result) : "a"((long)SYS_fork) : "rcx", "r11", "memory");
	return result;
}

static void one_pread(void)
{
	char byte;
	begin(PREAD);
	require(pread(zero_fd, &byte, 1, 0) == 1, "pread");
}

static void one_round(void)
{
	one_pread();
	begin(MUTEX);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	begin(RWLOCK);
	pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
	begin(SEMAPHORE);
	sem_wait(&semaphore);
	sem_post(&semaphore);
	begin(YIELD);
	sched_yield();
}

static void reap(int options)
{
	int status;
	while (alive && syscall(SYS_wait4, -1, &status, options, NULL) > 0) {
		alive--;
		require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child's status");
	}
}

static void limit(const char *what)
{
	struct sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
	struct sock_fprog program = {1, &allow};
	struct rlimit most = {0, 0};
	long pages = 0;
	if (!strcmp(what, "filter")) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		require(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "a filter");
		return;
	}
	if (!strcmp(what, "space")) {
		FILE *file = fopen("/proc/self/statm", "r");
		require(file && fscanf(file, "%ld", &pages) == 1, "statm");
		fclose(file);
		most.rlim_cur = most.rlim_max = (rlim_t)pages * 4096 + (64 << 10);
	}
	require(setrlimit(pages ? RLIMIT_AS : RLIMIT_DATA, &most) == 0, "a limit");
}

static void handler(int signal)
{
	int error = errno;
	struct itimerval off = {{0, 0}, {0, 0}};
	(void)signal;
	if (is_child || alive >= AT_ONCE || made >= CHILDREN)
		return;
	long pid = !strcmp(how, "fork") ? fork() : !strcmp(how, "_Fork") ? _Fork() : bare_fork();
	if (pid == 0) {
		is_child = 1;
		syscall(SYS_setitimer, ITIMER_REAL, &off, NULL);
		for (int i = 0; i < made % 3; i++)
			one_pread();
	} else {
		made += pid > 0;
		alive += pid > 0;
	}
	errno = error;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	struct itimerval fast = {{0, 170}, {0, 170}}, off = {{0, 0}, {0, 0}};
	how = argc > 1 ? argv[1] : "fork";
	begun = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	zero_fd = open("/dev/zero", O_RDONLY);
	sem_init(&semaphore, 0, 1);
	if (argc > 2)
		limit(argv[2]);
	sigaction(SIGALRM, &action, NULL);
	syscall(SYS_setitimer, ITIMER_REAL, &fast, NULL);
	while (made < CHILDREN && !is_child) {
		for (int i = 0; i < 20 && !is_child; i++)
			one_round();
		reap(WNOHANG);
	}
	if (is_child) {
		while (rounds_left--)
			one_round();
		_exit(app_result());
	}
	syscall(SYS_setitimer, ITIMER_REAL, &off, NULL);
	reap(0);
	check(made == CHILDREN, "all children ended well");
	for (int n = 0; app_facts() && n < FUNCTIONS; n++)
		say("facts: %s %llu %llu", names[n], (unsigned long long)begun[0][n],
			(unsigned long long)begun[1][n]);
	return app_result();
}
