/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.c - the directory and control page of a traced tree: creation, opening, and the writer's
 * lock.
 */
#define _GNU_SOURCE
#include "common/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "common/clock.h"
#include "common/seccomp.h"
#include "common/sys.h"
#include "common/text.h"

#define ROOM_BYTES (UINT64_C(1) << 20)

/* Check that the file is of that type, and ours alone. */
static int ownership_check(int fd, uint32_t type)
{
	struct stat status;
	int error = (int)SYS2(SYS_fstat, fd, &status);
	if (error < 0)
		return error;
	if ((status.st_mode & S_IFMT) != type)
		return type == S_IFDIR ? -ENOTDIR : -EINVAL;
	if (status.st_uid != (uid_t)sys_geteuid() || (status.st_mode & 077) ||
		(type == S_IFREG && status.st_nlink > 1))
		return -EPERM;
	return 0;
}

static int open_checked(int dir_fd, const char *name, int flags, uint32_t type)
{
	int fd = sys_openat(dir_fd, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	int error = fd < 0 ? fd : ownership_check(fd, type);
	if (error < 0 && fd >= 0)
		sys_close(fd);
	return error < 0 ? error : fd;
}

int tree_open_dir(const char *dir)
{
	return open_checked(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, S_IFDIR);
}

int tree_open_file(int dir_fd, const char *name, int flags)
{
	return open_checked(dir_fd, name, flags, S_IFREG);
}

/* Create <base>/libtrace-<uid>-<id>, with an id that no other tree has. */
static int directory_make(const char *base, char *ret_dir)
{
	uint64_t id = sys_clock_ns(CLOCK_MONOTONIC) ^ (uint64_t)sys_getpid() << 40;
	for (int try = 0; try < 100; try++, id++) {
		size_t at = text_append(ret_dir, TREE_PATH_BYTES, 0, base);
		at = text_append(ret_dir, TREE_PATH_BYTES, at, "/libtrace-");
		at = text_append_number(ret_dir, TREE_PATH_BYTES, at, (uint64_t)sys_geteuid(), 10);
		at = text_append(ret_dir, TREE_PATH_BYTES, at, "-");
		at = text_append_number(ret_dir, TREE_PATH_BYTES, at, id, 16);
		if (at + 64 > TREE_PATH_BYTES)
			return -ENAMETOOLONG;
		int error = sys_mkdir(ret_dir, 0700);
		if (error != -EEXIST)
			return error;
	}
	return -EEXIST;
}

/* Return true if the variable belongs to the options in the report. Variables that are recorded
 * elsewhere, or do not affect what is recorded, do not. */
static bool is_kept(const char *name)
{
	static const char *const others[] = {"OUTPUT", "FORCE_OVERWRITE", "COMPRESS",
		"FLUSH_INTERVAL", "DELAY", "DURATION", "HOME", "TREE", "LOG"};
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (text_equal(name, others[i]))
			return false;
	return true;
}

#define PREFIX_BYTES (sizeof("LIBTRACE_") - 1)
#define OPTION_VALUE_BYTES 256u

/* Append "osrt_threshold=1000". A value that is too long is cut, and so are line ends in it. */
static size_t option_put(char *text, size_t bytes, size_t at, const char *name, const char *value)
{
	size_t value_at, begin = at;
	if (!value || !*value || at + text_length(name) + OPTION_VALUE_BYTES + 2 > bytes)
		return at;
	at = text_append(text, bytes, at, name);
	for (size_t i = begin; i < at; i++)
		text[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]);
	value_at = text_append(text, bytes, at, "=");
	at = text_append(text, value_at + OPTION_VALUE_BYTES, value_at, value);
	for (size_t i = value_at; i < at; i++)
		text[i] = (char)(text[i] == '\n' ? ' ' : text[i]);
	return text_append(text, bytes, at, "\n");
}

static void options_fill(struct tree_control *control, const struct tree_options *options)
{
	static const struct {
		const char *name, *otherwise;
	} rows[] = {
#define ENV(name, otherwise, meaning) {#name, otherwise},
#include "common/env.def"
	};
	size_t at = 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *value =
			options->value ? options->value(rows[i].name, options->user) : NULL;
		if (options->has_option && options->has_option(rows[i].name, options->user))
			control->named_rows |= UINT64_C(1) << i;
		if (is_kept(rows[i].name + PREFIX_BYTES))
			at = option_put(control->options, sizeof(control->options), at,
				rows[i].name + PREFIX_BYTES, value ? value : rows[i].otherwise);
	}
}

static void control_fill(struct tree_control *control, const struct tree_options *options)
{
	struct clock_point now;
	control->version = TREE_VERSION;
	control->clock_kind = clock_init();
	control->root_pid = options->root_pid;
	clock_point_take(&now);
	control->created_mono_ns = now.mono_ns;
	control->created_tick = now.tick;
	control->created_error_ns = now.error_ns;
	uint32_t unused;
	int filters = seccomp_filters(SECCOMP_PROCESS_STATUS, &unused);
	control->filters = filters > 0 ? (uint32_t)filters : 0;
	control->created_realtime_ns = sys_clock_ns(CLOCK_REALTIME);
	long length = sys_read_file(
		"/proc/sys/kernel/random/boot_id", control->boot_id, sizeof(control->boot_id));
	if (length > 0 && control->boot_id[length - 1] == '\n')
		control->boot_id[length - 1] = 0;
	text_append(control->output, sizeof(control->output), 0, options->output);
	control->overwrite = options->overwrite;
	control->compress = options->compress;
	control->flush_interval_ns = options->flush_interval_ns;
	control->delay_ns = options->delay_ns;
	control->duration_ns = options->duration_ns;
	options_fill(control, options);
	capture_init(control, options->capture, options->delay_ns, options->duration_ns);
	control->guard_first = control->guard_last = TREE_GUARD;
	control->magic = TREE_MAGIC;
}

/* Map the whole file for writing, then map the parts that this process may not change through a
 * descriptor that cannot write, so that mprotect() cannot make them writable. */
static struct tree_control *control_map(int read_fd, int write_fd, bool as_writer, int *ret_error)
{
	struct tree_control *control = sys_mmap(NULL, TREE_CONTROL_BYTES, PROT_READ | PROT_WRITE,
		MAP_SHARED, write_fd, 0, ret_error);
	if (control &&
		!sys_mmap(control, as_writer ? TREE_WRITER_AT : TREE_SHARED_AT, PROT_READ,
			MAP_SHARED | MAP_FIXED, read_fd, 0, ret_error)) {
		sys_munmap(control, TREE_CONTROL_BYTES);
		return NULL;
	}
	return control;
}

static int size_check(int fd)
{
	struct stat status;
	int error = (int)SYS2(SYS_fstat, fd, &status);
	return error < 0 ? error : (uint64_t)status.st_size < TREE_CONTROL_BYTES ? -EINVAL : 0;
}

static bool ends(const char *text, size_t bytes)
{
	while (bytes && text[bytes - 1])
		bytes--;
	return bytes;
}

static bool control_is_sound(const struct tree_control *c)
{
	return __atomic_load_n(&c->magic, __ATOMIC_ACQUIRE) == TREE_MAGIC &&
		c->version == TREE_VERSION && ends(c->output, sizeof(c->output)) &&
		ends(c->boot_id, sizeof(c->boot_id)) && ends(c->root_path, sizeof(c->root_path));
}

/*
 * Open the file again rather than use the descriptor that holds the lock: a mapping keeps its open
 * file, and with it the lock, for as long as the process lives.
 */
struct tree_control *tree_map(int dir_fd, bool as_writer, int *ret_error)
{
	struct tree_control *control = NULL;
	int read_fd = tree_open_file(dir_fd, "control", O_RDONLY);
	int write_fd = read_fd < 0 ? read_fd : tree_open_file(dir_fd, "control", O_RDWR);
	*ret_error = write_fd < 0 ? write_fd : size_check(read_fd);
	if (*ret_error == 0)
		control = control_map(read_fd, write_fd, as_writer, ret_error);
	if (write_fd >= 0)
		sys_close(write_fd);
	if (read_fd >= 0)
		sys_close(read_fd);
	if (control && !control_is_sound(control)) {
		bool is_ours = control->magic == TREE_MAGIC && control->version != TREE_VERSION;
		sys_munmap(control, TREE_CONTROL_BYTES);
		*ret_error = is_ours ? -EPROTO : -EINVAL;
		return NULL;
	}
	return control;
}

static int control_reserve(int fd)
{
	if (TREE_CONTROL_BYTES > sys_file_limit())
		return -EFBIG;
	int error = sys_fallocate(fd, 0, 0, TREE_CONTROL_BYTES);
	return error == -EOPNOTSUPP ? sys_ftruncate(fd, TREE_CONTROL_BYTES) : error;
}

/* Store the magic last: a page that has it is complete. */
static int control_write(int fd, const struct tree_options *options)
{
	const size_t first = sizeof(((struct tree_control *)0)->magic);
	struct tree_control *control = sys_mmap_private(TREE_CONTROL_BYTES);
	if (!control)
		return -ENOMEM;
	control_fill(control, options);
	long rest = sys_pwrite(fd, (char *)control + first, TREE_CONTROL_BYTES - first, first);
	long magic = rest < 0 ? rest : sys_pwrite(fd, control, first, 0);
	sys_munmap(control, TREE_CONTROL_BYTES);
	if (rest < 0 || magic < 0)
		return (int)(rest < 0 ? rest : magic);
	return rest + magic == (long)TREE_CONTROL_BYTES ? 0 : -ENOSPC;
}

/* Take the lock by a descriptor that cannot write, since others inherit it; some file systems
 * require one that can. */
static int lock_open(int dir_fd)
{
	int fd = tree_open_file(dir_fd, "control", O_RDONLY);
	int error = fd < 0 ? fd : sys_flock(fd, LOCK_EX | LOCK_NB);
	if (error == -EBADF) {
		sys_close(fd);
		fd = tree_open_file(dir_fd, "control", O_RDWR);
		error = fd < 0 ? fd : sys_flock(fd, LOCK_EX | LOCK_NB);
	}
	if (error < 0 && fd >= 0)
		sys_close(fd);
	return error < 0 ? error : fd;
}

static int control_create(int dir_fd, const struct tree_options *options)
{
	int fd = sys_openat(dir_fd, "control", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fd;
	int error = control_reserve(fd);
	if (error == 0)
		error = control_write(fd, options);
	sys_close(fd);
	return error;
}

static struct tree_control *create_in(const char *base, const struct tree_options *options,
	char *ret_dir, int *ret_lock_fd, int *ret_error)
{
	struct tree_control *control = NULL;
	int lock_fd = -1;
	*ret_error = directory_make(base, ret_dir);
	if (*ret_error < 0)
		return NULL;
	int dir_fd = tree_open_dir(ret_dir);
	*ret_error = dir_fd < 0 ? dir_fd : control_create(dir_fd, options);
	if (*ret_error == 0)
		*ret_error = lock_fd = lock_open(dir_fd);
	if (*ret_error >= 0)
		control = tree_map(dir_fd, false, ret_error);
	if (!control) {
		if (lock_fd >= 0)
			sys_close(lock_fd);
		if (dir_fd >= 0)
			SYS3(SYS_unlinkat, dir_fd, "control", 0);
		sys_rmdir(ret_dir);
	}
	if (dir_fd >= 0)
		sys_close(dir_fd);
	*ret_lock_fd = lock_fd;
	return control;
}

/* Return true if there is room for a process or two; containers may have next to none. */
static bool has_room(const char *base)
{
	struct statfs status;
	return SYS2(SYS_statfs, base, &status) < 0 ||
		(uint64_t)status.f_bavail * (uint64_t)status.f_bsize >= ROOM_BYTES;
}

struct tree_control *tree_create(
	const struct tree_options *options, char *ret_dir, int *ret_lock_fd, int *ret_error)
{
	struct tree_control *control = NULL;
	if (options->base)
		return create_in(options->base, options, ret_dir, ret_lock_fd, ret_error);
	if (has_room(TREE_DEFAULT_BASE))
		control = create_in(TREE_DEFAULT_BASE, options, ret_dir, ret_lock_fd, ret_error);
	if (control)
		return control;
	control = create_in(TREE_SECOND_BASE, options, ret_dir, ret_lock_fd, ret_error);
	if (!control)
		return create_in(TREE_DEFAULT_BASE, options, ret_dir, ret_lock_fd, ret_error);
	tree_note(control, options->root_pid, TREE_NOTE_LINE,
		"shared memory is in " TREE_SECOND_BASE ", since " TREE_DEFAULT_BASE
		" is missing, not writable or full");
	return control;
}

struct tree_control *tree_open(const char *dir, int *ret_error)
{
	if (text_length(dir) + 64 > TREE_PATH_BYTES) {
		*ret_error = -ENAMETOOLONG;
		return NULL;
	}
	int dir_fd = tree_open_dir(dir);
	*ret_error = dir_fd;
	if (dir_fd < 0)
		return NULL;
	struct tree_control *control = tree_map(dir_fd, false, ret_error);
	sys_close(dir_fd);
	return control;
}

int tree_set_root(const char *dir, uint32_t pid, uint32_t verdict, const char *path)
{
	struct {
		uint32_t pid, verdict;
		char path[TREE_ROOT_PATH_BYTES];
	} root = {pid, verdict, ""};
	text_append(root.path, sizeof(root.path), 0, path);
	int dir_fd = tree_open_dir(dir);
	int fd = dir_fd < 0 ? dir_fd : tree_open_file(dir_fd, "control", O_WRONLY);
	long written = fd < 0
		? fd
		: sys_pwrite(fd, &root, sizeof(root), offsetof(struct tree_control, root_pid));
	if (fd >= 0)
		sys_close(fd);
	if (dir_fd >= 0)
		sys_close(dir_fd);
	return written < 0 ? (int)written : 0;
}

/* Check only the content, since only the calls that a loader makes are allowed here: the folder is
 * named by our own environment, and the process only adds a line. */
struct tree_control *tree_open_filtered(const char *dir)
{
	char path[TREE_PATH_BYTES + 16], piece[1024];
	long got, bytes = 0;
	size_t at = text_append(path, sizeof(path), 0, dir);
	if (at + 64 > TREE_PATH_BYTES)
		return NULL;
	text_append(path, sizeof(path), at, "/control");
	int error, read_fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, 0);
	int write_fd = read_fd < 0 ? read_fd : sys_openat(AT_FDCWD, path, O_RDWR | O_NOFOLLOW, 0);
	struct tree_control *control = NULL;
	while (write_fd >= 0 && (got = SYS3(SYS_read, read_fd, piece, sizeof(piece))) > 0)
		bytes += got;
	if (bytes >= (long)TREE_CONTROL_BYTES)
		control = control_map(read_fd, write_fd, false, &error);
	if (write_fd >= 0)
		sys_close(write_fd);
	if (read_fd >= 0)
		sys_close(read_fd);
	if (control && !control_is_sound(control)) {
		sys_munmap(control, TREE_CONTROL_BYTES);
		return NULL;
	}
	return control;
}

int tree_lock(const char *dir)
{
	int dir_fd = tree_open_dir(dir);
	if (dir_fd < 0)
		return dir_fd;
	int fd = lock_open(dir_fd);
	sys_close(dir_fd);
	return fd;
}

/* Register an empty list with the word as its pending entry, which the kernel handles in the same
 * way. The head is in shared memory, where only the writer writes: an out-of-memory killer empties
 * private memory first. */
void tree_writer_holds(struct tree_control *control)
{
	static struct robust_list_head none;
	struct robust_list_head *head = control ? &control->writer_robust : &none;
	head->list.next = &head->list;
	head->futex_offset = (long)offsetof(struct tree_control, writer_holder) -
		(long)offsetof(struct tree_control, writer_robust);
	head->list_op_pending = control ? &head->list : NULL;
	bool known = SYS2(SYS_set_robust_list, head, sizeof(*head)) == 0;
	if (control)
		__atomic_store_n(&control->writer_holder, known ? (uint32_t)sys_gettid() : 0,
			__ATOMIC_RELEASE);
}

bool tree_writer_died(const struct tree_control *control)
{
	return __atomic_load_n(&control->writer_holder, __ATOMIC_ACQUIRE) & FUTEX_OWNER_DIED;
}

void tree_note(struct tree_control *control, uint32_t pid, enum tree_note kind, const char *text)
{
	tree_note_at(control, sys_clock_ns(CLOCK_MONOTONIC), pid, kind, text);
}

void tree_note_at(struct tree_control *control, uint64_t mono_ns, uint32_t pid, enum tree_note kind,
	const char *text)
{
	uint32_t index = __atomic_fetch_add(&control->diagnostic_count, 1, __ATOMIC_RELAXED);
	if (index >= TREE_DIAGNOSTICS) {
		if (kind != TREE_NOTE_LINE)
			__atomic_add_fetch(&control->untraced_unsaid, 1, __ATOMIC_RELEASE);
		return;
	}
	struct tree_diagnostic *d = &control->diagnostics[index];
	d->mono_ns = mono_ns;
	d->pid = pid;
	text_append(d->text, sizeof(d->text), 0, text);
	__atomic_store_n(&d->ready, kind, __ATOMIC_RELEASE);
}
