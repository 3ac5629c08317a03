/*
 * liveness.c - has the process of a spool ended?
 *
 * A pidfd tells for sure, but a pid may have been given to another process before we saw the spool,
 * the process may have become another program by exec, and in another pid namespace its number
 * means nothing to us. Then /proc is asked, at most now and then.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "writer/spools.h"

#define CHECK_EXEC_NS \
	UINT64_C(20000000) /* a process about to exec: how long until /proc is asked again */
#define CHECK_OTHER_NS                                                                       \
	UINT64_C(2000000000) /* any other one: reading maps costs the process its lock for a \
				moment */
#define START_SLACK_NS                                                                            \
	UINT64_C(50000000) /* /proc counts start times in 10 ms, and the spool is made later than \
			      the process */

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

static uint64_t clock_read_ns(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* State letter and start time of a process, in ns of CLOCK_MONOTONIC. */
static int proc_stat(uint32_t pid, char *ret_state, uint64_t *ret_start_ns)
{
	char path[64], text[1024];
	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	ssize_t length = file_read(path, text, sizeof(text));
	if (length < 0)
		return (int)length;
	char *p = strrchr(text, ')'); /* the name before may hold anything */
	unsigned long long ticks = 0;
	if (!p ||
		sscanf(p + 1,
			" %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			"%*s %llu",
			ret_state, &ticks) != 2)
		return -EIO;
	uint64_t boot_ns = (uint64_t)ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
	uint64_t suspended_ns = clock_read_ns(CLOCK_BOOTTIME) - clock_read_ns(CLOCK_MONOTONIC);
	*ret_start_ns = boot_ns > suspended_ns ? boot_ns - suspended_ns : 0;
	return 0;
}

/* 1 = the spool is mapped there, 0 = it is not, negative errno = cannot tell. */
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
	return any ? found : -EACCES;
}

static bool anybody_maps_spool(const char *name)
{
	DIR *dir = opendir("/proc");
	bool found = false;
	for (struct dirent *entry = dir ? readdir(dir) : NULL; entry && !found;
		entry = readdir(dir))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			found = maps_spool(entry->d_name, name) == 1;
	if (dir)
		closedir(dir);
	return found;
}

/* Its pid is in use: by itself, by another program after an exec, or by a process that was given
 * the number later? */
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
	int error = proc_stat(spool->pid, &state, &start_ns);
	if (error == -ENOENT || error == -ESRCH || (!error && state == 'X'))
		return true;
	if (!error && start_ns > h->first.mono_ns + START_SLACK_NS && h->first.mono_ns)
		return true;
	if (!error && state == 'Z')
		return spool->pidfd <
			0; /* threads may live on without the first one; the pidfd knows */
	snprintf(pid, sizeof(pid), "%u", spool->pid);
	return !(first && !execs) && maps_spool(pid, spool->name) == 0;
}

bool spool_is_dead(struct spools *s, struct spool *spool, uint64_t now_ns)
{
	(void)s;
	if (!spool->same_namespace) {
		if (spool->checked_ns && now_ns - spool->checked_ns < CHECK_OTHER_NS / 10)
			return false;
		spool->checked_ns = now_ns;
		return !anybody_maps_spool(spool->name);
	}
	if (spool->pidfd >= 0) {
		struct pollfd poll_fd = {spool->pidfd, POLLIN, 0};
		if (poll(&poll_fd, 1, 0) == 1)
			return true;
	} else if (kill((pid_t)spool->pid, 0) && errno == ESRCH) {
		return true;
	}
	return pid_is_other(spool, now_ns);
}
