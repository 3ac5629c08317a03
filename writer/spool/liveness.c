/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liveness.c - whether the process of a spool has ended: by pidfd, by signal 0, and by /proc.
 */
#define _GNU_SOURCE
#include "writer/spool/liveness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

#define CHECK_EXEC_NS UINT64_C(20000000) /* between looks into /proc for a process about to exec */
#define CHECK_OTHER_NS                                                                         \
	UINT64_C(2000000000) /* for any other process: reading its maps takes one of its locks \
				for a moment */
#define OWNERS_NS                                                                              \
	UINT64_C(200000000) /* between looks at all processes, which take 5 ms where there are \
			       many */
#define START_SLACK_NS                                                                             \
	UINT64_C(50000000) /* /proc counts start times in 10 ms, and a spool is created later than \
			      its process */

#define STATUS_TRIES 20
#define STATUS_PAUSE_NS 50000 /* between tries */

static ssize_t file_read(const char *path, char *buffer, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t length = read(fd, buffer, bytes - 1);
	close(fd);
	if (length >= 0)
		buffer[length] = 0;
	return length;
}

int process_stat(uint32_t pid, char *ret_state, uint64_t *ret_start_ns)
{
	char path[64], text[1024];
	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	ssize_t length = file_read(path, text, sizeof(text));
	if (length < 0)
		return (int)length;
	char *p = strrchr(text, ')'); /* the name before it may hold any character */
	unsigned long long ticks = 0;
	if (!p ||
		sscanf(p + 1,
			" %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			"%*s %llu",
			ret_state, &ticks) != 2)
		return -EIO;
	uint64_t boot_ns = (uint64_t)ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
	/* In this order: the difference is not below 0 then. */
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t suspended_ns = clock_system_ns(CLOCK_BOOTTIME) - now_ns;
	*ret_start_ns = boot_ns > suspended_ns ? boot_ns - suspended_ns : 1;
	return 0;
}

/* Check whether the process maps the spool. Return 1 or 0; a negative errno if that is not known;
 * -ENODATA if nothing is mapped. */
static int maps_spool(const char *pid, const char *name)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%.20s/maps", pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return -errno;
	char *line = NULL;
	size_t capacity = 0;
	int found = 0;
	bool any = false;
	while (!found && getline(&line, &capacity, file) > 0) {
		any = true;
		found = strstr(line, name) != NULL;
	}
	free(line);
	fclose(file);
	return any ? found : -ENODATA; /* kernel threads and zombies have no mappings */
}

/* Return the pid of a process in its own, innermost pid namespace; 0 if that is our namespace, or
 * is not known. */
static uint32_t inner_pid(const char *pid)
{
	char path[64], text[4096];
	snprintf(path, sizeof(path), "/proc/%.20s/status", pid);
	if (file_read(path, text, sizeof(text)) < 0)
		return 0;
	char *line = strstr(text, "\nNSpid:");
	if (!line)
		return 0;
	line[strcspn(line + 1, "\n") + 1] = 0;
	char *first = strchr(line, '\t'), *last = strrchr(line, '\t');
	return last && last != first ? (uint32_t)strtoul(last, NULL, 10) : 0;
}

static bool is_foreign(const struct spool *spool)
{
	return !spool->same_namespace && !spool->host_pid && !spool->dead;
}

/* Find the spools of another pid namespace that belong to this process. */
static void owner_check(struct spools *s, const char *pid)
{
	uint32_t inner = inner_pid(pid);
	for (uint32_t i = 0; i < s->count; i++) {
		struct spool *spool = s->all[i];
		if (!is_foreign(spool) || spool->pid != inner)
			continue;
		int maps = maps_spool(pid, spool->name);
		spool->seen |= maps == 1 || maps == -EACCES || maps == -EPERM;
		if (maps != 1)
			continue;
		spool->host_pid = (uint32_t)strtoul(pid, NULL, 10);
		spool->pidfd = (int)syscall(SYS_pidfd_open, spool->host_pid, 0);
	}
}

/* Examine all processes once, for all spools that need it. */
static void owners_find(struct spools *s)
{
	DIR *dir = opendir("/proc");
	uint32_t self = (uint32_t)getpid();
	for (uint32_t i = 0; i < s->count; i++) {
		s->all[i]->looked_for = true;
		s->all[i]->seen = false;
	}
	for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
			strtoul(entry->d_name, NULL, 10) != self)
			owner_check(s, entry->d_name);
	if (dir)
		closedir(dir);
}

/* Return true if the pid, which is in use, belongs to another program after an exec, or to a
 * process that was given the pid later. */
static bool pid_is_other(struct spool *spool, uint64_t now_ns)
{
	const struct spool_header *h = spool_header(spool);
	bool first = !spool->checked_ns;
	bool execs = __atomic_load_n(&h->state, __ATOMIC_ACQUIRE) == SPOOL_EXEC;
	if (!first && now_ns - spool->checked_ns < (execs ? CHECK_EXEC_NS : CHECK_OTHER_NS))
		return false;
	spool->checked_ns = now_ns;
	char state = '?', pid[16];
	uint64_t start_ns = 0;
	int error = process_stat(spool->host_pid, &state, &start_ns);
	if (error == -ENOENT || error == -ESRCH || (!error && state == 'X'))
		return true;
	if (!error && start_ns > h->first.mono_ns + START_SLACK_NS && h->first.mono_ns)
		return true;
	if (!error && state == 'Z')
		return spool->pidfd < 0; /* other threads may be alive; only the pidfd shows this */
	snprintf(pid, sizeof(pid), "%u", spool->host_pid);
	return !(first && !execs) && maps_spool(pid, spool->name) == 0;
}

/* Find the owner of the spool. Return true if it is known; false if there is no owner or, with
 * *ret_wait, if it is not known yet. */
static bool owner_known(struct spools *s, struct spool *spool, uint64_t now_ns, bool *ret_wait)
{
	*ret_wait = false;
	if (spool->host_pid)
		return true;
	if (spool->same_namespace) {
		spool->host_pid = spool->pid;
		spool->pidfd = (int)syscall(SYS_pidfd_open, spool->pid, 0);
		return true;
	}
	if (!s->owners_ns || now_ns - s->owners_ns >= OWNERS_NS) {
		s->owners_ns = now_ns;
		owners_find(s);
	}
	*ret_wait = !spool->looked_for || spool->seen;
	return spool->host_pid != 0;
}

/* Return false only if the process still maps the spool and has not announced an exec, which no
 * other process of the tree can announce for it. */
bool spool_is_replaced(const struct spool *spool)
{
	char pid[16];
	if (spool->dead ||
		__atomic_load_n(&spool_header(spool)->state, __ATOMIC_ACQUIRE) == SPOOL_EXEC)
		return true;
	snprintf(pid, sizeof(pid), "%u", spool->host_pid);
	return !spool->host_pid || maps_spool(pid, spool->name) != 1;
}

/* ioctl() of a pidfd, Linux 6.13; include/uapi/linux/pidfd.h. The status is known from 6.15 on. */
struct pidfd_status {
	uint64_t mask;
	uint64_t cgroup;
	uint32_t pid, tgid, ppid, ids[8];
	int32_t exit_code; /* as that of waitpid() */
};
_Static_assert(sizeof(struct pidfd_status) == 64, "the kernel's first version of the struct");
#define PIDFD_GET_STATUS _IOWR(0xff, 11, struct pidfd_status)
#define PIDFD_HAS_STATUS 8u /* bit of `mask`: requested, and known */

/* Get the wait status of a process that its parent has waited for. */
static bool status_of_waited(int pidfd, int *ret_status)
{
	struct pidfd_status info = {.mask = PIDFD_HAS_STATUS};
	if (pidfd < 0 || ioctl(pidfd, PIDFD_GET_STATUS, &info) || !(info.mask & PIDFD_HAS_STATUS))
		return false;
	*ret_status = info.exit_code;
	return true;
}

/* Get the wait status of a zombie, the last field of its /proc/PID/stat. *ret_state is the state of
 * the process, 0 if there is none. */
static bool status_of_zombie(const struct spool *spool, int *ret_status, char *ret_state)
{
	char path[64], text[1024];
	uint64_t start_ns;
	snprintf(path, sizeof(path), "/proc/%u/stat", spool->host_pid);
	*ret_state = 0;
	if (!spool->host_pid || process_stat(spool->host_pid, ret_state, &start_ns) ||
		*ret_state != 'Z' ||
		start_ns > spool_header(spool)->first.mono_ns + START_SLACK_NS ||
		file_read(path, text, sizeof(text)) < 0)
		return false;
	const char *last = strrchr(text, ' ');
	*ret_status = last ? (int)strtol(last, NULL, 10) : 0;
	return *ret_status != 0;
}

bool spool_end_status(const struct spool *spool, int *ret_status)
{
	const struct timespec pause = {0, STATUS_PAUSE_NS};
	char state = 'X';
	bool known = false;
	/* The parent may be waiting for the process now: for a moment, neither way knows. */
	for (int n = 0; n < STATUS_TRIES && state == 'X' && !known; n++) {
		if (n)
			nanosleep(&pause, NULL);
		known = status_of_waited(spool->pidfd, ret_status) ||
			status_of_zombie(spool, ret_status, &state) ||
			status_of_waited(spool->pidfd, ret_status);
	}
	return known;
}

static bool has_ended(const struct spool *spool)
{
	struct pollfd poll_fd = {spool->pidfd, POLLIN, 0};
	if (spool->pidfd >= 0)
		return poll(&poll_fd, 1, 0) == 1;
	return kill((pid_t)spool->host_pid, 0) && errno == ESRCH;
}

int spool_is_proven(struct spool *spool, uint64_t now_ns)
{
	char pid[16];
	if (!spool->host_pid || spool->dead)
		return 0;
	if (!spool->proven && spool->proof_ns && now_ns - spool->proof_ns < CHECK_EXEC_NS)
		return 0;
	if (!spool->proven) {
		snprintf(pid, sizeof(pid), "%u", spool->host_pid);
		int maps = maps_spool(pid, spool->name);
		spool->proof_ns = now_ns;
		if (maps < 0)
			return maps == -EACCES || maps == -EPERM ? maps : 0;
		spool->proven = maps;
	}
	/* Asked last: then the pid was that of the pidfd's process all the time. */
	return spool->proven && !has_ended(spool);
}

bool spool_is_init(const struct spool *spool)
{
	return spool->same_namespace && spool->pid == 1;
}

bool spool_is_dead(struct spools *s, struct spool *spool, uint64_t now_ns)
{
	bool wait;
	if (!owner_known(s, spool, now_ns, &wait))
		return !wait;
	return (!spool->watch && has_ended(spool)) || pid_is_other(spool, now_ns);
}
