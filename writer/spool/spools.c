/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spools.c - the files of spools: finding, mapping, checking and dropping them.
 */
#define _GNU_SOURCE
#include "writer/spool/spools.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "common/schema/functions.h"
#include "common/tree.h"

#define EXTENTS_MAX 65536 /* maximum per file; data after them does not count */
#define SPOOL_BYTES_MAX \
	(UINT64_C(1) << 40) /* maximum address space; a larger file is not a spool */

int spools_init(struct spools *s, const char *dir)
{
	memset(s, 0, sizeof(*s));
	s->dir = dir;
	s->dir_fd = tree_open_dir(dir);
	if (s->dir_fd < 0)
		return s->dir_fd;
	struct stat status;
	s->pid_namespace = stat("/proc/self/ns/pid", &status) ? 0 : status.st_ino;
	return 0;
}

static void spool_free(struct spool *spool)
{
	for (uint32_t i = 0; i < spool->lane_count; i++)
		free(spool->lanes[i]);
	free(spool->lanes);
	for (uint32_t i = 0; i < SPOOL_SLOTS; i++)
		slot_release(&spool->slots[i]);
	if (spool->map)
		munmap(spool->map, spool->map_bytes);
	if (spool->pidfd >= 0)
		close(spool->pidfd);
	free(spool);
}

void spools_release(struct spools *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		spool_free(s->all[i]);
	free(s->all);
	free(s->refused);
	s->all = NULL;
	s->refused = NULL;
	s->count = s->refused_count = 0;
	if (s->dir_fd >= 0)
		close(s->dir_fd);
	s->dir_fd = -1;
}

void spools_drop(struct spools *s, uint32_t index)
{
	unlinkat(s->dir_fd, s->all[index]->name, 0);
	spool_free(s->all[index]);
	memmove(&s->all[index], &s->all[index + 1], (--s->count - index) * sizeof(*s->all));
}

void spools_forget_from(struct spools *s, uint32_t index)
{
	while (s->count > index)
		spool_free(s->all[--s->count]);
}

struct spool_header *spool_header(const struct spool *spool)
{
	return (struct spool_header *)(void *)spool->map;
}

/* Return the number of bytes of the file that are in use. The rest is for growth, and has no pages
 * yet. */
static uint64_t used_bytes(int fd)
{
	struct stat status;
	uint64_t size = 0;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode) ||
		status.st_size < (off_t)SPOOL_HEADER_BYTES)
		return 0;
	uint64_t file_bytes = (uint64_t)status.st_size;
	bool is_stored = pread(fd, &size, sizeof(size),
				 offsetof(struct spool_header, size_bytes)) == sizeof(size) &&
		size >= SPOOL_HEADER_BYTES && size < file_bytes;
	return is_stored ? size : file_bytes;
}

/* Map the file as far as it is in use. The old mapping remains if that fails. */
static int spool_map(struct spools *s, struct spool *spool)
{
	int fd = tree_open_file(s->dir_fd, spool->name, O_RDWR);
	if (fd < 0)
		return fd;
	int error = -EINVAL;
	uint64_t bytes = used_bytes(fd);
	if (bytes <= SPOOL_BYTES_MAX && bytes > spool->map_bytes) {
		void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		error = map == MAP_FAILED ? -errno : 0;
		if (!error) {
			if (spool->map)
				munmap(spool->map, spool->map_bytes);
			spool->map = map;
			spool->map_bytes = bytes;
		}
	}
	close(fd);
	return error;
}

uint64_t spool_data_bytes(const struct spools *s, const struct spool *spool)
{
	int fd = openat(s->dir_fd, spool->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	off_t at = 0, bytes = 0;
	for (int i = 0; fd >= 0 && i < EXTENTS_MAX; i++) {
		off_t begin = lseek(fd, at, SEEK_DATA), end;
		if (begin < 0)
			break;
		end = lseek(fd, begin, SEEK_HOLE);
		if (end <= begin)
			break;
		bytes += end - begin;
		at = end;
	}
	if (fd < 0)
		return UINT64_MAX; /* not known, because no descriptor is left */
	close(fd);
	return (uint64_t)bytes;
}

static struct spools
	*owner; /* used by spool_at() and the SIGBUS handler: there is one writer in the process */

void *spool_at(struct spool *spool, uint64_t offset, uint64_t bytes)
{
	if (offset % 4096 || offset < SPOOL_HEADER_BYTES || offset > SPOOL_BYTES_MAX)
		return NULL;
	if (offset + bytes > spool->map_bytes &&
		(!owner || spool_map(owner, spool) || offset + bytes > spool->map_bytes))
		return NULL;
	return spool->map + offset;
}

static void on_sigbus(int signal, siginfo_t *info, void *context)
{
	uintptr_t address = (uintptr_t)info->si_addr & ~(uintptr_t)4095;
	(void)context;
	for (uint32_t i = 0; owner && i < owner->count; i++) {
		struct spool *spool = owner->all[i];
		uintptr_t begin = (uintptr_t)spool->map;
		if (!begin || address < begin || address >= begin + spool->map_bytes)
			continue;
		spool->damaged = true;
		if (mmap((void *)address, 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
			return;
	}
	struct sigaction action = {.sa_handler = SIG_DFL};
	sigaction(signal, &action, NULL);
}

void spools_guard(struct spools *s)
{
	struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO};
	owner = s;
	sigaction(SIGBUS, &action, NULL);
}

/* Check the file. Return 0 = a ready spool of this tree, -EAGAIN = not ready, -EPROTO = written by
 * another version. */
static int header_check(const struct spool *spool)
{
	const struct spool_header *h = spool_header(spool);
	if (__atomic_load_n(&h->magic, __ATOMIC_ACQUIRE) != SPOOL_MAGIC)
		return -EAGAIN;
	return h->version == SPOOL_VERSION && h->fn_count == fn_count() && h->fn_hash == fn_hash()
		? 0
		: -EPROTO;
}

/* Return the pid in a name "<pid>-<tick>.spool". */
static uint32_t pid_of(const char *name)
{
	return (uint32_t)strtoul(name, NULL, 10);
}

static int spool_open(struct spools *s, const char *name, struct spool **ret_spool)
{
	struct spool *spool = calloc(1, sizeof(*spool));
	if (!spool)
		return -ENOMEM;
	spool->pidfd = -1;
	snprintf(spool->name, sizeof(spool->name), "%.63s", name);
	int error = spool_map(s, spool);
	if (!error)
		error = header_check(spool);
	if (error) {
		spool_free(spool);
		return error;
	}
	const struct spool_header *h = spool_header(spool);
	spool->pid = pid_of(name);
	spool->ppid = h->ppid;
	spool->pid_namespace = h->pid_namespace;
	spool->same_namespace = spool->pid_namespace == s->pid_namespace;
	spool->damaged = spool->pid != h->pid;
	*ret_spool = spool;
	return 0;
}

static bool is_known(const struct spools *s, const char *name)
{
	for (uint32_t i = s->count; i-- > 0;)
		if (!strcmp(s->all[i]->name, name))
			return true;
	for (uint32_t i = 0; i < s->refused_count; i++)
		if (!strcmp(s->refused[i].name, name))
			return true;
	return false;
}

static bool is_spool_name(const char *name)
{
	size_t length = strlen(name);
	return name[0] != '.' && length > 6 && length < sizeof(((struct spool *)0)->name) &&
		!strcmp(name + length - 6, ".spool");
}

static int spools_append(struct spools *s, struct spool *spool)
{
	if (array_room(&s->all, s->count, &s->capacity, sizeof(*s->all)))
		return -ENOMEM;
	s->all[s->count++] = spool;
	return 0;
}

/* Remember a file that can never be read, so that it is not opened again. */
static void spool_refuse(struct spools *s, const char *name, int error)
{
	if (array_room(&s->refused, s->refused_count, &s->refused_capacity, sizeof(*s->refused)))
		return;
	struct refused_spool *spool = &s->refused[s->refused_count++];
	*spool = (struct refused_spool){.pid = pid_of(name)};
	snprintf(spool->name, sizeof(spool->name), "%.63s", name);
	snprintf(spool->reason, sizeof(spool->reason), "spool '%.63s' was not read: it %s", name,
		error == -EPROTO ? "was created by another version of the library"
			: error == -EPERM || error == -ELOOP
			? "is owned by others, or others have rights on it"
			: "has a damaged header");
}

static int entry_take(struct spools *s, const char *name)
{
	struct spool *spool;
	int error = spool_open(s, name, &spool);
	bool never = error == -EPROTO || error == -EPERM || error == -ELOOP;
	if (never || (s->at_end && (error == -EAGAIN || error == -EINVAL)))
		spool_refuse(s, name, error);
	else if (error)
		s->unfinished_names++;
	if (error)
		return 0;
	if (spools_append(s, spool)) {
		spool_free(spool);
		return 0;
	}
	return 1;
}

/* Compare by the tick in the name, so that a program that replaced another by exec sorts after
 * it. */
static int compare_names(const struct dirent **a, const struct dirent **b)
{
	const char *x = strchr((*a)->d_name, '-'), *y = strchr((*b)->d_name, '-');
	unsigned long long p = x ? strtoull(x + 1, NULL, 16) : 0,
			   q = y ? strtoull(y + 1, NULL, 16) : 0;
	return (p > q) - (p < q);
}

int spools_discover(struct spools *s)
{
	struct dirent **names = NULL;
	int count = scandirat(s->dir_fd, ".", &names, NULL, compare_names), found = 0;
	if (count < 0)
		return -errno;
	s->unfinished_names = 0;
	for (int i = 0; i < count; i++) {
		const char *name = names[i]->d_name;
		if (name[0] != '.' && strcmp(name, "control") != 0) {
			if (!is_spool_name(name))
				s->unfinished_names++;
			else if (!is_known(s, name))
				found += entry_take(s, name);
		}
		free(names[i]);
	}
	free(names);
	return found;
}

void spools_remove_unfinished(struct spools *s)
{
	struct dirent **names = NULL;
	int count = scandirat(s->dir_fd, ".", &names, NULL, NULL);
	for (int i = 0; i < count; i++) {
		const char *suffix = strrchr(names[i]->d_name, '.');
		if (suffix && suffix != names[i]->d_name && !strcmp(suffix, ".new"))
			unlinkat(s->dir_fd, names[i]->d_name, 0);
		free(names[i]);
	}
	free(names);
}
