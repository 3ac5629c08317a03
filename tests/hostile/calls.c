/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - the calls that tasks make between actions: a row of call_rows and a function for each.
 *
 * A call holds no descriptor, memory or lock after it has returned. The calls that PURE tasks may
 * make hold nothing at any time, so a handler may abandon them.
 */
#include "hostile.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nvtx.h"

static const struct timespec past = {1, 0};

/* ---- PURE: hold nothing ---- */

static void call_read(struct task *t)
{
	char bytes[8];
	CALL(t, read, read(zero_fd, bytes, sizeof(bytes)));
}

static void call_pread(struct task *t)
{
	char byte;
	CALL(t, pread, pread(zero_fd, &byte, 1, 0));
}

static void call_write(struct task *t)
{
	CALL(t, write, write(null_fd, "text", 4));
}

static void call_vectors(struct task *t)
{
	char bytes[4];
	struct iovec vector = {bytes, sizeof(bytes)};
	CALL(t, readv, readv(zero_fd, &vector, 1));
	CALL(t, writev, writev(null_fd, &vector, 1));
}

static void call_poll(struct task *t)
{
	struct pollfd entry = {null_fd, POLLOUT, 0};
	CALL(t, poll, poll(&entry, 1, 0));
	CALL(t, poll, poll(NULL, 0, 1));
}

static void call_select(struct task *t)
{
	struct timeval now = {0, 0};
	CALL(t, select, select(0, NULL, NULL, NULL, &now));
}

static void call_sleep(struct task *t)
{
	struct timespec moment = {0, 1000};
	CALL(t, nanosleep, nanosleep(&moment, NULL));
	CALL(t, clock_nanosleep, clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &past, NULL));
	CALL(t, usleep, usleep(1));
}

static void call_yield(struct task *t)
{
	CALL(t, sched_yield, sched_yield());
}

static void call_bad(struct task *t)
{
	char byte;
	CALL(t, read, read(-1, &byte, 1));
	CALL(t, lseek, lseek(-1, 0, SEEK_SET));
	CALL(t, fcntl, fcntl(zero_fd, F_GETFL));
	CALL(t, close, close(-1));
	CALL(t, kill, kill(pid_now(), 0));
}

static void call_syscall(struct task *t)
{
	CALL(t, syscall, syscall(SYS_sched_yield));
	CALL(t, syscall, syscall(SYS_close, -1));
}

static void call_mark(struct task *t)
{
	(void)t;
	COUNTED_VOID(nvtx_mark, nvtxMarkA("mark"));
}

static void call_range(struct task *t)
{
	(void)t;
	COUNTED_VOID(nvtx_range, nvtxRangePushA("range"), call_yield(t), nvtxRangePop());
}

static void call_started(struct task *t)
{
	COUNTED_VOID(nvtx_start_end, {
		unsigned long range = nvtxRangeStartA("started");
		call_yield(t);
		nvtxRangeEnd(range);
	});
}

/* Make more calls than fit into a chunk of a lane. */
static void call_burst(struct task *t)
{
	char byte;
	long sum = 0;
	unsigned times = roll(t, 4) ? 300 : 5000;
	for (unsigned i = 0; i < times; i++)
		sum += COUNTED(pread, pread(zero_fd, &byte, 1, 0));
	tell(t, " burst=%ld", sum);
}

/* ---- descriptors ---- */

static void call_open(struct task *t)
{
	int fd = (int)CALL(t, open, open("/dev/null", O_RDWR));
	CALL(t, close, close(fd));
	fd = (int)CALL(t, openat, openat(AT_FDCWD, "/nowhere/at/all", O_RDONLY));
	CALL(t, ioctl, ioctl(null_fd, FIONREAD, &fd));
}

static void call_dup(struct task *t)
{
	int fd = (int)CALL(t, dup, dup(zero_fd));
	CALL(t, dup2, dup2(null_fd, fd));
	CALL(t, dup3, dup3(null_fd, fd, O_CLOEXEC));
	CALL(t, close, close(fd));
}

static void call_pipe(struct task *t)
{
	int fds[2] = {-1, -1};
	char bytes[4];
	if (roll(t, 2))
		CALL(t, pipe, pipe(fds));
	else
		CALL(t, pipe2, pipe2(fds, O_CLOEXEC));
	if (fds[0] < 0)
		return;
	CALL(t, write, write(fds[1], "pipe", 4));
	CALL(t, read, read(fds[0], bytes, 4));
	CALL(t, close, close(fds[0]));
	CALL(t, close, close(fds[1]));
}

static void call_socket(struct task *t)
{
	int fds[2] = {-1, -1};
	char bytes[4];
	CALL(t, socketpair, socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	if (fds[0] < 0)
		return;
	CALL(t, send, send(fds[1], "text", 4, 0));
	CALL(t, recv, recv(fds[0], bytes, 4, 0));
	CALL(t, close, close(fds[0]));
	CALL(t, close, close(fds[1]));
}

static void call_events(struct task *t)
{
	struct epoll_event event = {.events = EPOLLIN};
	eventfd_t value;
	int fd = eventfd(0, 0), set = (int)CALL(t, epoll_create1, epoll_create1(0));
	CALL(t, epoll_ctl, epoll_ctl(set, EPOLL_CTL_ADD, fd, &event));
	CALL(t, eventfd_write, eventfd_write(fd, 3));
	CALL(t, epoll_wait, epoll_wait(set, &event, 1, 0));
	if (fd >= 0)
		CALL(t, eventfd_read, eventfd_read(fd, &value));
	CALL(t, close, close(fd));
	CALL(t, close, close(set));
}

static void call_file(struct task *t)
{
	int fd = (int)RAW2(memfd_create, "hostile", 1);
	if (fd < 0)
		return;
	CALL(t, ftruncate, ftruncate(fd, 8192));
	CALL(t, fsync, fsync(fd));
	CALL(t, flock, flock(fd, LOCK_EX));
	CALL(t, lseek, lseek(fd, 0, SEEK_END));
	CALL(t, close, close(fd));
}

static void call_stdio(struct task *t)
{
	char line[16] = "";
	FILE *file = COUNTED(fopen, fopen("/dev/zero", "r"));
	tell(t, " fopen=%d", file ? fileno(file) : -1);
	if (!file)
		return;
	CALL(t, fread, fread(line, 1, 4, file));
	CALL(t, fseek, fseek(file, 0, SEEK_SET));
	CALL(t, fclose, fclose(file));
	file = COUNTED(fopen, fopen("/dev/null", "r+"));
	if (!file)
		return;
	CALL(t, fwrite, fwrite("text", 1, 4, file));
	CALL(t, fflush, fflush(file));
	tell(t, " fgets=%d", COUNTED(fgets, fgets(line, sizeof(line), file)) != NULL);
	CALL(t, fclose, fclose(file));
}

/* ---- memory ---- */

static void call_memory(struct task *t)
{
	char *page = (char *)COUNTED(
		mmap, mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	tell(t, " mmap=%d", page != MAP_FAILED);
	if (page == MAP_FAILED)
		return;
	page[4096] = 1;
	CALL(t, madvise, madvise(page, 8192, MADV_DONTNEED));
	CALL(t, mprotect, mprotect(page, 8192, PROT_READ));
	tell(t, " mremap=%d", COUNTED(mremap, mremap(page, 8192, 4096, 0)) == page);
	CALL(t, munmap, munmap(page, 4096));
	tell(t, " mmap=%d", COUNTED(mmap, mmap(NULL, 0, 0, 0, -1, 0)) == MAP_FAILED);
}

static void call_allocate(struct task *t)
{
	for (unsigned bytes = 16; bytes < 1 << 18; bytes *= 4) {
		char *memory = malloc(bytes);
		if (!memory) {
			tell(t, " malloc=0");
			return;
		}
		memory[bytes / 2] = 1;
		free(memory);
	}
}

/* ---- locks ---- */

static void call_mutex(struct task *t)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	CALL(t, pthread_mutex_lock, pthread_mutex_lock(&mutex));
	CALL(t, pthread_mutex_trylock, pthread_mutex_trylock(&mutex));
	CALL(t, pthread_mutex_timedlock, pthread_mutex_timedlock(&mutex, &past));
	CALL(t, pthread_mutex_unlock, pthread_mutex_unlock(&mutex));
}

static void call_rwlock(struct task *t)
{
	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
	CALL(t, pthread_rwlock_rdlock, pthread_rwlock_rdlock(&lock));
	CALL(t, pthread_rwlock_unlock, pthread_rwlock_unlock(&lock));
	CALL(t, pthread_rwlock_wrlock, pthread_rwlock_wrlock(&lock));
	CALL(t, pthread_rwlock_unlock, pthread_rwlock_unlock(&lock));
}

static void call_spin(struct task *t)
{
	pthread_spinlock_t lock;
	pthread_spin_init(&lock, 0);
	CALL(t, pthread_spin_lock, pthread_spin_lock(&lock));
	CALL(t, pthread_spin_unlock, pthread_spin_unlock(&lock));
}

static void call_semaphore(struct task *t)
{
	sem_t semaphore;
	sem_init(&semaphore, 0, 1);
	CALL(t, sem_wait, sem_wait(&semaphore));
	CALL(t, sem_trywait, sem_trywait(&semaphore));
	CALL(t, sem_timedwait, sem_timedwait(&semaphore, &past));
	CALL(t, sem_post, sem_post(&semaphore));
}

static void call_condition(struct task *t)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
	CALL(t, pthread_mutex_lock, pthread_mutex_lock(&mutex));
	CALL(t, pthread_cond_signal, pthread_cond_signal(&condition));
	CALL(t, pthread_cond_timedwait, pthread_cond_timedwait(&condition, &mutex, &past));
	CALL(t, pthread_mutex_unlock, pthread_mutex_unlock(&mutex));
}

/* ---- the process ---- */

static void call_process(struct task *t)
{
	char name[16] = "";
	CALL(t, waitpid, waitpid(1, NULL, WNOHANG));
	CALL(t, prctl, prctl(PR_GET_NAME, name));
	tell(t, ":%s", name);
	CALL(t, alarm, alarm(0));
	CALL(t, getrandom, getrandom(name, 8, 0));
}

static void call_signals(struct task *t)
{
	struct sigaction action = {.sa_handler = SIG_IGN}, before;
	CALL(t, sigaction, sigaction(SIGWINCH, &action, &before));
	tell(t, ":%d", before.sa_handler == SIG_DFL);
	tell(t, " signal=%d", COUNTED(signal, signal(SIGWINCH, SIG_DFL)) == SIG_IGN);
	CALL(t, sigaction, sigaction(99, NULL, NULL));
	CALL(t, pthread_kill, pthread_kill(pthread_self(), 0));
}

const struct row call_rows[] = {
	{"read", 6, 0, call_read},
	{"pread", 6, 0, call_pread},
	{"write", 6, 0, call_write},
	{"vectors", 3, 0, call_vectors},
	{"poll", 2, 0, call_poll},
	{"select", 2, FILTERED, call_select},
	{"sleep", 2, FILTERED, call_sleep},
	{"yield", 4, 0, call_yield},
	{"bad", 2, FILTERED, call_bad},
	{"syscall", 2, 0, call_syscall},
	{"mark", 4, 0, call_mark},
	{"range", 4, 0, call_range},
	{"started", 2, 0, call_started},
	{"burst", 1, 0, call_burst},
	{"open", 4, PURE | MANY, call_open},
	{"dup", 3, PURE | MANY, call_dup},
	{"pipe", 3, PURE | MANY, call_pipe},
	{"socket", 2, PURE | MANY, call_socket},
	{"events", 2, PURE | MANY, call_events},
	{"file", 2, PURE | MANY, call_file},
	{"stdio", 3, PURE | MANY, call_stdio},
	{"memory", 3, PURE, call_memory},
	{"allocate", 2, PURE, call_allocate},
	{"mutex", 5, PURE, call_mutex},
	{"rwlock", 2, PURE, call_rwlock},
	{"spin", 2, PURE, call_spin},
	{"semaphore", 3, PURE, call_semaphore},
	{"condition", 3, PURE, call_condition},
	{"process", 3, PURE, call_process},
	{"signals", 3, PURE | MANY, call_signals},
};
const unsigned call_count = sizeof(call_rows) / sizeof(call_rows[0]);
