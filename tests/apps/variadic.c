/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variadic.c - functions with a varying number of arguments, with and without the optional ones.
 *
 * open, openat, fcntl, ioctl, prctl, syscall, mq_open, semctl, mremap, clone and execl must
 * forward every argument and only those given.
 */
#include "app.h"

#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char folder[] = "/tmp/variadic-XXXXXX";

static unsigned mode_of(int fd)
{
	struct stat info;
	return fstat(fd, &info) ? 0 : info.st_mode & 07777;
}

static void opens(void)
{
	umask(0);
	int dir = open(folder, O_RDONLY | O_DIRECTORY);
	int a = openat(dir, "a", O_CREAT | O_RDWR, 0641), b = open64("/dev/zero", O_RDONLY);
	int t = open(folder, O_TMPFILE | O_RDWR, 0642);
	check(mode_of(a) == 0641, "openat's mode");
	check(b >= 0, "open without a mode");
	check(t < 0 || mode_of(t) == 0642, "O_TMPFILE's mode");
	check(mode_of(openat64(dir, "b", O_CREAT | O_WRONLY, 0604)) == 0604, "openat64's mode");
	check(creat64("/dev/null", 0600) >= 0, "creat64");
	unlinkat(dir, "a", 0);
	unlinkat(dir, "b", 0);
	close(dir);
	check(fcntl(a, F_GETFD) == 0 && !fcntl(a, F_SETFD, FD_CLOEXEC) &&
			fcntl(a, F_GETFD) == FD_CLOEXEC,
		"fcntl with a number");
	check(fcntl(a, F_DUPFD_CLOEXEC, 77) == 77, "fcntl F_DUPFD_CLOEXEC");
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET}, asked = lock;
	check(!fcntl(a, F_SETLK, &lock) && !fcntl(a, F_GETLK, &asked) && asked.l_type == F_UNLCK,
		"fcntl with a pointer");
}

static void controls(void)
{
	int bytes = -1, pair[2];
	char name[17] = "";
	check(!pipe(pair) && write(pair[1], "abc", 3) == 3 && !ioctl(pair[0], FIONREAD, &bytes) &&
			bytes == 3,
		"ioctl with a pointer");
	check(!ioctl(pair[0], FIOCLEX), "ioctl without an argument");
	check(!prctl(PR_SET_NAME, "variadic-name", 0, 0, 0) && !prctl(PR_GET_NAME, name) &&
			!strcmp(name, "variadic-name"),
		"prctl");
	check(!prctl(PR_SET_DUMPABLE, 1) && prctl(PR_GET_DUMPABLE) == 1, "prctl with one argument");
	check(syscall(SYS_getpid) == getpid(), "syscall without arguments");
	char *p = (char *)syscall(
		SYS_mmap, NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(p != MAP_FAILED && (p[0] = 1), "syscall with six arguments");
	check(syscall(SYS_close, 99999) == -1 && errno == EBADF, "syscall sets errno");
	p = mremap(p, 8192, 65536, MREMAP_MAYMOVE);
	check(p != MAP_FAILED && p[0] == 1, "mremap with four arguments");
	void *place = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(mremap(p, 65536, 65536, MREMAP_MAYMOVE | MREMAP_FIXED, place) == place,
		"mremap with five arguments");
}

static void queues(void)
{
	struct mq_attr asked = {.mq_maxmsg = 3, .mq_msgsize = 77}, got;
	char name[64];
	snprintf(name, sizeof(name), "/libtrace-variadic-%d", getpid());
	mqd_t queue = mq_open(name, O_CREAT | O_RDWR, 0600, &asked);
	if (queue == (mqd_t)-1) {
		check(errno == ENOSYS || errno == EACCES,
			"mq_open is refused only where there are no queues");
		return;
	}
	check(!mq_getattr(queue, &got) && got.mq_maxmsg == 3 && got.mq_msgsize == 77,
		"mq_open with mode and attributes");
	mqd_t again = mq_open(name, O_RDONLY);
	check(again != (mqd_t)-1, "mq_open without them");
	mq_close(again);
	mq_close(queue);
	mq_unlink(name);
}

static void semaphores(void)
{
	union semun {
		int value;
		struct semid_ds *info;
	} argument = {.value = 5};
	struct semid_ds info;
	int id = semget(IPC_PRIVATE, 2, 0600);
	check(id >= 0 && !semctl(id, 1, SETVAL, argument) && semctl(id, 1, GETVAL) == 5,
		"semctl with a number");
	argument.info = &info;
	check(!semctl(id, 0, IPC_STAT, argument) && info.sem_nsems == 2, "semctl with a pointer");
	check(!semctl(id, 0, IPC_RMID), "semctl without an argument");
}

static int clone_main(void *number)
{
	_exit(*(int *)number);
}

static void clones(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	int number = 42, status = 0;
	pid_t parent_tid = 0;
	pid_t pid = clone(clone_main, stack + sizeof(stack), SIGCHLD | CLONE_PARENT_SETTID, &number,
		&parent_tid);
	check(pid > 0 && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 42 &&
			parent_tid == pid,
		"clone with a fifth argument");
}

static void execs(void)
{
	int status = 0;
	pid_t pid = fork();
	if (!pid) {
		execl("/bin/sh", "sh", "-c",
			"test $# = 12 && test \"$1$2$3$4$5$6$7$8$9\" = abcdefghi", "zero", "a", "b",
			"c", "d", "e", "f", "g", "h", "i", "j", "k", "l", NULL);
		_exit(99);
	}
	check(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 0,
		"execl with sixteen arguments");
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	opens();
	controls();
	queues();
	semaphores();
	clones();
	execs();
	rmdir(folder);
	return app_result();
}
