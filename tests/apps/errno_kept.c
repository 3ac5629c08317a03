/* SPDX-License-Identifier: Apache-2.0 */
/*
 * errno_kept.c - checks errno and the result of one call of nearly every kind.
 *
 * A wrapped call that succeeds must leave errno alone, a call that fails must set the right errno,
 * and results must be the real ones. Functions that return the error must leave errno alone.
 */
#include "app.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#define MARK 1234

/* Check that the call succeeds and keeps errno. */
#define KEEPS(call, wanted)                                          \
	do {                                                         \
		errno = MARK;                                        \
		long got_ = (long)(call);                            \
		require(got_ == (long)(wanted), "result of " #call); \
		require(errno == MARK, "errno kept by " #call);      \
		calls++;                                             \
	} while (0)

/* Check that the call returns `wanted` and sets errno to `error`. */
#define FAILS(call, wanted, error)                                           \
	do {                                                                 \
		errno = MARK;                                                \
		long got_ = (long)(call);                                    \
		require(got_ == (long)(wanted), "result of failing " #call); \
		require(errno == (error), "errno of " #call);                \
		calls++;                                                     \
	} while (0)

static int calls;
static const struct timespec instant = {0, 1};
static struct timespec past = {1, 0};
static void *volatile nowhere = (void *)9;

static void files(int zero, int null)
{
	char byte[4];
	struct iovec part = {byte, sizeof(byte)};
	KEEPS(read(zero, byte, 4), 4);
	KEEPS(pread(zero, byte, 4, 0), 4);
	KEEPS(readv(zero, &part, 1), 4);
	KEEPS(preadv(zero, &part, 1, 0), 4);
	KEEPS(write(null, byte, 4), 4);
	KEEPS(pwrite(null, byte, 4, 0), 4);
	KEEPS(writev(null, &part, 1), 4);
	KEEPS(close(dup(null)), 0);
	KEEPS(fcntl(null, F_GETFL) & O_ACCMODE, O_WRONLY);
	FAILS(read(-1, byte, 4), -1, EBADF);
	FAILS(write(-1, byte, 4), -1, EBADF);
	FAILS(read(null, byte, 4), -1, EBADF);
	FAILS(close(9999), -1, EBADF);
	FAILS(open("/nonexistent/file", O_RDONLY), -1, ENOENT);
	FAILS(openat(AT_FDCWD, "/nonexistent/file", O_RDONLY), -1, ENOENT);
	FAILS(creat("/nonexistent/file", 0600), -1, ENOENT);
	FAILS(dup2(-1, 7), -1, EBADF);
	FAILS(fcntl(-1, F_GETFD), -1, EBADF);
	FAILS(ftruncate(-1, 0), -1, EBADF);
	FAILS(fsync(-1), -1, EBADF);
	FAILS(flock(-1, LOCK_SH), -1, EBADF);
	FAILS(mkfifo("/nonexistent/fifo", 0600), -1, ENOENT);
	FAILS(sendfile(-1, zero, NULL, 1), -1, EBADF);
	FAILS(fopen("/nonexistent/file", "r"), NULL, ENOENT);
	KEEPS(posix_fallocate(-1, 0, 1), EBADF);
}

static void memory(void)
{
	void *p;
	KEEPS((p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED,
		1);
	KEEPS(mprotect(p, 4096, PROT_NONE), 0);
	KEEPS(munmap(p, 4096), 0);
	FAILS(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), MAP_FAILED, EINVAL);
	FAILS(munmap(nowhere, 4096), -1, EINVAL);
}

static void sleeping(void)
{
	struct pollfd none;
	struct epoll_event event;
	struct timeval now = {0, 0};
	KEEPS(nanosleep(&instant, NULL), 0);
	KEEPS(clock_nanosleep(CLOCK_MONOTONIC, 0, &instant, NULL), 0);
	KEEPS(clock_nanosleep(77, 0, &instant, NULL), EINVAL);
	KEEPS(usleep(1), 0);
	KEEPS(sleep(0), 0);
	KEEPS(sched_yield(), 0);
	KEEPS(poll(&none, 0, 0), 0);
	KEEPS(select(0, NULL, NULL, NULL, &now), 0);
	FAILS(nanosleep(nowhere, NULL), -1, EFAULT);
	FAILS(poll(nowhere, 1, 0), -1, EFAULT);
	FAILS(select(-1, NULL, NULL, NULL, &now), -1, EINVAL);
	FAILS(epoll_wait(-1, &event, 1, 0), -1, EBADF);
}

static void locks(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER,
			checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
	pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	pthread_spinlock_t spin;
	sem_t semaphore;
	pthread_spin_init(&spin, 0);
	sem_init(&semaphore, 0, 1);
	KEEPS(pthread_mutex_lock(&mutex), 0);
	KEEPS(pthread_mutex_trylock(&mutex), EBUSY);
	KEEPS(pthread_mutex_timedlock(&mutex, &past), ETIMEDOUT);
	KEEPS(pthread_cond_timedwait(&cond, &mutex, &past), ETIMEDOUT);
	KEEPS(pthread_cond_signal(&cond), 0);
	KEEPS(pthread_cond_broadcast(&cond), 0);
	KEEPS(pthread_mutex_unlock(&mutex), 0);
	KEEPS(pthread_mutex_lock(&checked), 0);
	KEEPS(pthread_mutex_lock(&checked), EDEADLK);
	KEEPS(pthread_mutex_unlock(&checked), 0);
	KEEPS(pthread_mutex_unlock(&checked), EPERM);
	KEEPS(pthread_rwlock_rdlock(&rwlock), 0);
	KEEPS(pthread_rwlock_tryrdlock(&rwlock), 0);
	KEEPS(pthread_rwlock_trywrlock(&rwlock), EBUSY);
	KEEPS(pthread_rwlock_timedwrlock(&rwlock, &past), ETIMEDOUT);
	KEEPS(pthread_rwlock_unlock(&rwlock) + pthread_rwlock_unlock(&rwlock), 0);
	KEEPS(pthread_rwlock_wrlock(&rwlock), 0);
	KEEPS(pthread_rwlock_wrlock(&rwlock), EDEADLK);
	KEEPS(pthread_rwlock_rdlock(&rwlock), EDEADLK);
	KEEPS(pthread_spin_lock(&spin), 0);
	KEEPS(pthread_spin_trylock(&spin), EBUSY);
	KEEPS(pthread_spin_unlock(&spin), 0);
	KEEPS(sem_wait(&semaphore), 0);
	FAILS(sem_trywait(&semaphore), -1, EAGAIN);
	FAILS(sem_timedwait(&semaphore, &past), -1, ETIMEDOUT);
	KEEPS(sem_post(&semaphore), 0);
	KEEPS(pthread_join(pthread_self(), NULL), EDEADLK);
}

static void processes(void)
{
	siginfo_t info;
	FAILS(waitpid(-1, NULL, WNOHANG), -1, ECHILD);
	FAILS(wait(NULL), -1, ECHILD);
	FAILS(waitid(P_ALL, 0, &info, WEXITED), -1, ECHILD);
	FAILS(kill(999999999, 0), -1, ESRCH);
	FAILS(sigaction(999, NULL, NULL), -1, EINVAL);
	KEEPS(kill(getpid(), 0), 0);
	KEEPS(system(NULL), 1);
}

static void sockets(void)
{
	int pair[2];
	char byte = 'x';
	KEEPS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	KEEPS(send(pair[0], &byte, 1, 0), 1);
	KEEPS(recv(pair[1], &byte, 1, 0), 1);
	FAILS(recv(pair[1], &byte, 1, MSG_DONTWAIT), -1, EAGAIN);
	KEEPS(shutdown(pair[0], SHUT_RDWR), 0);
	FAILS(send(pair[0], &byte, 1, MSG_NOSIGNAL), -1, EPIPE);
	FAILS(accept(pair[0], NULL, NULL), -1, EINVAL);
	FAILS(socket(999, 0, 0), -1, EAFNOSUPPORT);
	FAILS(connect(-1, NULL, 0), -1, EBADF);
	FAILS(listen(-1, 1), -1, EBADF);
}

int main(void)
{
	int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);
	files(zero, null);
	memory();
	sleeping();
	locks();
	processes();
	sockets();
	check(!app_failures, "results and errno of all calls");
	say("pass: %d calls", calls);
	return app_result();
}
