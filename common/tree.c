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
#include "common/sys.h"
#include "common/text.h"

#define ROOM_BYTES (UINT64_C(1) << 20)

static size_t control_path(const char *dir, char *ret_path, size_t bytes)
{
	return text_append(ret_path, bytes, text_append(ret_path, bytes, 0, dir), "/control");
}

/* <base>/libtrace-<uid>-<id>, with an id that no other tree has. */
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

/* Told elsewhere, or no matter of what is recorded. */
static bool is_told(const char *name)
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

/* "osrt_threshold=1000": a value that is too long is cut, and so are line ends in it. */
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
		if (is_told(rows[i].name + PREFIX_BYTES))
			at = option_put(control->options, sizeof(control->options), at,
				rows[i].name + PREFIX_BYTES, value ? value : rows[i].otherwise);
	}
}

static void control_fill(struct tree_control *control, const struct tree_options *options)
{
	control->version = TREE_VERSION;
	control->clock_kind = clock_init();
	control->root_pid = options->root_pid;
	control->created_mono_ns = sys_clock_ns(CLOCK_MONOTONIC);
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
	__atomic_store_n(&control->magic, TREE_MAGIC, __ATOMIC_RELEASE);
}

static struct tree_control *control_map(int fd, int *ret_error)
{
	return sys_mmap(
		NULL, TREE_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0, ret_error);
}

/*
 * The descriptor that holds the lock must not be the one that is mapped: a mapping keeps its open
 * file, and with it the lock, for as long as the process lives.
 */
static struct tree_control *control_map_again(const char *path, int *ret_error)
{
	int fd = sys_openat(AT_FDCWD, path, O_RDWR | O_NOFOLLOW, 0);
	*ret_error = fd;
	if (fd < 0)
		return NULL;
	struct tree_control *control = control_map(fd, ret_error);
	sys_close(fd);
	return control;
}

static int control_reserve(int fd)
{
	if (TREE_CONTROL_BYTES > sys_file_limit())
		return -EFBIG;
	int error = sys_fallocate(fd, 0, 0, TREE_CONTROL_BYTES);
	return error == -EOPNOTSUPP ? sys_ftruncate(fd, TREE_CONTROL_BYTES) : error;
}

static struct tree_control *control_create(const char *path, int *ret_fd, int *ret_error)
{
	int fd = sys_openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	*ret_error = fd;
	if (fd < 0)
		return NULL;
	*ret_error = control_reserve(fd);
	if (*ret_error == 0)
		*ret_error = sys_flock(fd, LOCK_EX | LOCK_NB);
	struct tree_control *control = *ret_error ? NULL : control_map_again(path, ret_error);
	if (!control) {
		sys_close(fd);
		sys_unlink(path);
		return NULL;
	}
	*ret_fd = fd;
	return control;
}

static struct tree_control *create_in(const char *base, const struct tree_options *options,
	char *ret_dir, int *ret_lock_fd, int *ret_error)
{
	char path[TREE_PATH_BYTES + 16];
	*ret_error = directory_make(base, ret_dir);
	if (*ret_error < 0)
		return NULL;
	control_path(ret_dir, path, sizeof(path));
	struct tree_control *control = control_create(path, ret_lock_fd, ret_error);
	if (!control) {
		sys_rmdir(ret_dir);
		return NULL;
	}
	control_fill(control, options);
	return control;
}

/* For a process or two; containers may have next to none. */
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
		"events wait in " TREE_SECOND_BASE ": " TREE_DEFAULT_BASE
		" is not there, closed or full");
	return control;
}

/* Ours alone: a real directory, our user's, closed to everybody else. */
static int directory_check(const char *dir)
{
	struct stat status;
	long error = SYS4(SYS_newfstatat, AT_FDCWD, dir, &status, AT_SYMLINK_NOFOLLOW);
	if (error < 0)
		return (int)error;
	if (!S_ISDIR(status.st_mode) || (status.st_mode & 077) ||
		status.st_uid != (uid_t)sys_geteuid())
		return -EPERM;
	return 0;
}

struct tree_control *tree_open(const char *dir, int *ret_error)
{
	char path[TREE_PATH_BYTES + 16];
	if (text_length(dir) + 64 > TREE_PATH_BYTES) {
		*ret_error = -ENAMETOOLONG;
		return NULL;
	}
	*ret_error = directory_check(dir);
	if (*ret_error < 0)
		return NULL;
	control_path(dir, path, sizeof(path));
	int fd = sys_openat(AT_FDCWD, path, O_RDWR | O_NOFOLLOW, 0);
	struct stat status;
	*ret_error = fd < 0 ? fd : (int)SYS2(SYS_fstat, fd, &status);
	if (*ret_error == 0 && (uint64_t)status.st_size < TREE_CONTROL_BYTES)
		*ret_error = -EINVAL;
	struct tree_control *control = *ret_error ? NULL : control_map(fd, ret_error);
	if (fd >= 0)
		sys_close(fd);
	if (control &&
		(__atomic_load_n(&control->magic, __ATOMIC_ACQUIRE) != TREE_MAGIC ||
			control->version != TREE_VERSION)) {
		sys_munmap(control, TREE_CONTROL_BYTES);
		*ret_error = -EINVAL;
		return NULL;
	}
	return control;
}

int tree_lock(const char *dir)
{
	char path[TREE_PATH_BYTES + 16];
	control_path(dir, path, sizeof(path));
	int fd = sys_openat(AT_FDCWD, path, O_RDWR | O_NOFOLLOW, 0);
	if (fd < 0)
		return fd;
	int error = sys_flock(fd, LOCK_EX | LOCK_NB);
	if (error < 0) {
		sys_close(fd);
		return error;
	}
	return fd;
}

/* The list is empty; the word is named as the one about to be put on it, which the kernel treats
 * alike. The head lies in shared memory: an out-of-memory killer empties private memory first. */
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
	uint32_t index = __atomic_fetch_add(&control->diagnostic_count, 1, __ATOMIC_RELAXED);
	if (index >= TREE_DIAGNOSTICS)
		return;
	struct tree_diagnostic *d = &control->diagnostics[index];
	d->mono_ns = sys_clock_ns(CLOCK_MONOTONIC);
	d->pid = pid;
	text_append(d->text, sizeof(d->text), 0, text);
	__atomic_store_n(&d->ready, kind, __ATOMIC_RELEASE);
}
