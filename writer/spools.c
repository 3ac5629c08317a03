/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "writer/spools.h"

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

#define SPOOL_BYTES_MAX \
	(UINT64_C(1) << 40) /* of address space; sparse files beyond are no spools of ours */

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
	results_free(spool->results);
	launches_free(spool->launches);
	modules_free(spool->modules);
	cubins_free(spool->cubins);
	callchains_free(spool->callchains);
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

/* How much of the file is in use: the rest is for growth, and has no pages yet. */
static uint64_t used_bytes(int fd)
{
	struct stat status;
	uint64_t size = 0;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode) ||
		status.st_size < (off_t)SPOOL_HEADER_BYTES)
		return 0;
	uint64_t file_bytes = (uint64_t)status.st_size;
	bool told = pread(fd, &size, sizeof(size), offsetof(struct spool_header, size_bytes)) ==
			sizeof(size) &&
		size >= SPOOL_HEADER_BYTES && size < file_bytes;
	return told ? size : file_bytes;
}

/* Maps the file as far as it is in use. The old mapping stays when that fails. */
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

static struct spools
	*owner; /* for spool_at() and the SIGBUS handler: there is one writer in the process */

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

/* 0 = a spool of ours that is ready, -EAGAIN = not ready, -EPROTO = made by another version. */
static int header_check(const struct spool *spool)
{
	const struct spool_header *h = spool_header(spool);
	if (__atomic_load_n(&h->magic, __ATOMIC_ACQUIRE) != SPOOL_MAGIC)
		return -EAGAIN;
	return h->version == SPOOL_VERSION && h->fn_count == fn_count() && h->fn_hash == fn_hash()
		? 0
		: -EPROTO;
}

/* "<pid>-<tick>.spool" */
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

/* Remembered, so that it is not looked at again. */
static void spool_refuse(struct spools *s, const char *name, int error)
{
	if (array_room(&s->refused, s->refused_count, &s->refused_capacity, sizeof(*s->refused)))
		return;
	struct refused_spool *spool = &s->refused[s->refused_count++];
	*spool = (struct refused_spool){.pid = pid_of(name)};
	snprintf(spool->name, sizeof(spool->name), "%.63s", name);
	snprintf(spool->reason, sizeof(spool->reason), "spool '%.63s' %s: not read", name,
		error == -EPROTO ? "was made by another version of the library"
			: error == -EPERM || error == -ELOOP
			? "is somebody else's, or others have rights on it"
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

/* By the tick in the name: a program that replaced another comes behind it. */
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

static struct lane_view *lane_add(struct spool *spool)
{
	struct lane_view *view = calloc(1, sizeof(*view));
	struct lane_view **lanes = realloc(spool->lanes, (spool->lane_count + 1) * sizeof(*lanes));
	if (lanes)
		spool->lanes = lanes;
	if (!view || !lanes) {
		free(view);
		return NULL;
	}
	view->index = spool->lane_count;
	spool->lanes[spool->lane_count++] = view;
	return view;
}

/* Two lanes that overlap would show events twice. */
static bool is_taken(const struct spool *spool, uint64_t offset)
{
	for (uint32_t i = 0; i < spool->lane_count; i++)
		if (offset < spool->lanes[i]->offset + LANE_BYTES &&
			spool->lanes[i]->offset < offset + LANE_BYTES)
			return true;
	return false;
}

void spool_find_lanes(struct spools *s, struct spool *spool)
{
	struct spool_header *h = spool_header(spool);
	(void)s;
	uint32_t count = __atomic_load_n(&h->lane_count, __ATOMIC_ACQUIRE);
	if (count > SPOOL_LANES_MAX)
		count = SPOOL_LANES_MAX;
	while (spool->lane_count < count) {
		uint64_t offset =
			__atomic_load_n(&h->lane_offset[spool->lane_count], __ATOMIC_ACQUIRE);
		if (!offset && !spool->dead)
			return; /* its maker is between counting and storing */
		struct lane *lane =
			is_taken(spool, offset) ? NULL : spool_at(spool, offset, LANE_BYTES);
		struct lane_view *view = lane_add(spool);
		if (!view)
			return;
		view->offset = offset;
		view->damaged = !lane;
		spool->damaged_lanes += offset && !lane;
		h = spool_header(spool);
		if (lane && __atomic_load_n(&lane->state, __ATOMIC_RELAXED) == LANE_DEVICE)
			spool->device_lane = view->index + 1;
		if (lane)
			view->position = __atomic_load_n(&lane->tail, __ATOMIC_RELAXED) /
				RECORD_BYTES * RECORD_BYTES;
	}
}

struct lane *lane_of(struct spool *spool, const struct lane_view *view)
{
	return view->damaged ? NULL : spool_at(spool, view->offset, LANE_BYTES);
}

static uint64_t lane_look(struct spool *spool, struct lane_view *view)
{
	struct lane *lane = lane_of(spool, view);
	if (!lane)
		return 0;
	uint64_t head = __atomic_load_n(&lane->head, __ATOMIC_ACQUIRE);
	if (head < view->position || head % RECORD_BYTES ||
		head - view->position > (uint64_t)LANE_CHUNKS_MAX * CHUNK_BYTES) {
		view->damaged = true;
		spool->damaged_lanes++;
		return 0;
	}
	view->head = head;
	return head - view->position;
}

/* Lanes share the file: together they cannot hold more data than it does. */
static bool is_too_much(struct spool *spool, uint64_t bytes)
{
	if (bytes > SPOOL_FIRST_BYTES && bytes > spool->data_bytes && owner)
		spool->data_bytes = spool_data_bytes(owner->dir_fd, spool->name);
	return bytes > SPOOL_FIRST_BYTES && bytes > spool->data_bytes;
}

uint64_t spool_look(struct spool *spool, uint64_t *fullest)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < spool->lane_count; i++) {
		struct lane_view *view = spool->lanes[i];
		uint64_t available = view->closed ? 0 : lane_look(spool, view);
		if (available && is_too_much(spool, bytes + available)) {
			view->damaged = true;
			view->head = view->position;
			spool->damaged_lanes++;
			continue;
		}
		bytes += available;
		if (available > *fullest)
			*fullest = available;
	}
	return bytes;
}
