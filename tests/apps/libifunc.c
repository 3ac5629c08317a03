/* SPDX-License-Identifier: Apache-2.0 */
// LINK: -Wl,-z,now
/*
 * libifunc.c - chooses functions when it is loaded (STT_GNU_IFUNC), by resolvers that call
 * functions that a preloaded library may wrap: one call of each kind of wrapper. The loader calls
 * resolvers while it relocates, and relocates this library before a preloaded one.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Static, so its relocation comes after those of the functions that the resolver calls. */
#define RESOLVED(name, BODY)                                           \
	static int name##_right(void)                                  \
	{                                                              \
		return 1;                                              \
	}                                                              \
	static int name##_wrong(void)                                  \
	{                                                              \
		return 0;                                              \
	}                                                              \
	static __attribute__((used)) int (*name##_resolve(void))(void) \
	{                                                              \
		int right = 0;                                         \
		BODY;                                                  \
		return right ? name##_right : name##_wrong;            \
	}                                                              \
	static int name##_resolved(void) __attribute__((ifunc(#name "_resolve")));

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t semaphore; /* of value 0 is all zeros */

static int count_object(struct dl_phdr_info *info, size_t bytes, void *count)
{
	(void)info, (void)bytes;
	++*(int *)count;
	return 0;
}

static int child_ended(pid_t pid)
{
	int status = 0;
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
		WEXITSTATUS(status) == 5;
}

RESOLVED(of_getenv, right = getenv("NO_SUCH_VARIABLE") == NULL)
RESOLVED(of_read, {
	char byte = 1;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	right = fd >= 0 && read(fd, &byte, 1) == 1 && byte == 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC;
	errno = 0;
	right &= ioctl(fd, FIONREAD, NULL) == -1 && errno != 0;
	right &= close(fd) == 0;
})
RESOLVED(of_mutex, right = !pthread_mutex_lock(&mutex) && !pthread_mutex_unlock(&mutex))
RESOLVED(of_rwlock, right = !pthread_rwlock_wrlock(&rwlock) && !pthread_rwlock_unlock(&rwlock))
RESOLVED(of_cond, right = !pthread_cond_signal(&cond))
RESOLVED(of_semaphore, right = !sem_post(&semaphore) && !sem_wait(&semaphore))
RESOLVED(of_sleep, right = !usleep(1) && !sched_yield() && !poll(NULL, 0, 0))
RESOLVED(of_syscall, right = syscall(SYS_getpid) == getpid())
RESOLVED(of_raw_fork, {
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid)
		syscall(SYS_exit_group, 5);
	right = child_ended(pid);
})
RESOLVED(of_fork, {
	pid_t pid = fork();
	if (!pid)
		_exit(5);
	right = child_ended(pid);
})
RESOLVED(of_vfork, {
	pid_t pid = vfork();
	if (!pid)
		_exit(5);
	right = child_ended(pid);
})
RESOLVED(of_exec, {
	static char *nothing[] = {NULL};
	errno = 0;
	right = execve("/nowhere", nothing, nothing) == -1 && errno == ENOENT;
	right &= execl("/nowhere", "nowhere", NULL) == -1 && errno == ENOENT;
})
RESOLVED(of_prctl, {
	char name[16];
	right = !prctl(PR_GET_NAME, name) && !prctl(PR_SET_NAME, name);
})
RESOLVED(of_signal, {
	struct sigaction action;
	right = !sigaction(SIGUSR1, NULL, &action) && signal(SIGUSR1, SIG_IGN) == SIG_DFL &&
		signal(SIGUSR1, SIG_DFL) == SIG_IGN;
})
RESOLVED(of_memory, {
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	p = p == MAP_FAILED ? p : mremap(p, 4096, 8192, MREMAP_MAYMOVE);
	right = p != MAP_FAILED && !munmap(p, 8192);
})
RESOLVED(of_loader, {
	int objects = 0;
	right = !dl_iterate_phdr(count_object, &objects) && objects > 2;
})

int ifunc_chosen(const char **ret_wrong)
{
	static const struct {
		const char *name;
		int (*call)(void);
	} all[] = {
#define CASE(name) {#name, name##_resolved}
		CASE(of_getenv), CASE(of_read), CASE(of_mutex), CASE(of_rwlock), CASE(of_cond),
		CASE(of_semaphore), CASE(of_sleep), CASE(of_syscall), CASE(of_raw_fork),
		CASE(of_fork), CASE(of_vfork), CASE(of_exec), CASE(of_prctl), CASE(of_signal),
		CASE(of_memory), CASE(of_loader)};
	int right = 0;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].call())
			right++;
		else
			*ret_wrong = all[i].name;
	return right;
}
