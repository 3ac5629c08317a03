/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples.c - the processes that sample the machine, and their records as rows.
 */
#define _GNU_SOURCE
#include "writer/machine/samples.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/machine/record.h"
#include "common/sys.h"
#include "writer/base/notes.h"
#include "writer/base/output.h"
#include "writer/base/writer.h"
#include "writer/lane/segment.h"

#define KEPT_MAX 256u        /* records that wait for their rows */
#define DEVICES_KEPT_MAX 16u /* of GPUs, without a process that owns the rows */
#define ROWS_NS                                                                            \
	UINT64_C(1000000000) /* rows are added after this time: a batch of a few takes the \
				same header as one of many */
#define SILENCE_NS UINT64_C(5000000000) /* after this time without an answer, NVML hangs */
#define READ_RECORDS 13u                /* records of a read */

#define END_TURNS 20 /* turns in which a killed process is waited for */
#define END_TURN_NS UINT64_C(1000000)

enum mode { MODE_AUTO, MODE_ALWAYS, MODE_NONE };

/* What libtrace-host samples, by a process each. */
static const char *const sampler_names[] = {"gpus", "infiniband", "host"};
enum { GPUS, OTHERS, SAMPLERS = 3 };

struct sampler {
	pid_t pid; /* 0 = none */
	int fd;    /* the pipe */
	bool has_crashed;
};

struct samples {
	enum mode mode;
	bool is_read;         /* the options were read */
	uint32_t started;     /* number of processes that were started, once each */
	bool has_nvml;        /* it was loaded */
	uint64_t answered_ns; /* when NVML last answered, or was first asked; 0 = it is not asked */
	uint64_t lost;        /* records that are not in the report, and not yet reported */
	uint32_t count;
	struct sampler samplers[SAMPLERS];
	struct machine_record kept[KEPT_MAX];
};

/* ---- the processes ---- */

/* Kill a process, and wait a little for its end. If it hangs in a driver, the system reaps it. */
static void sampler_end(struct sampler *r)
{
	int status = 0;
	if (!r->pid)
		return;
	close(r->fd);
	kill(r->pid, SIGKILL);
	for (int i = 0; i < END_TURNS && !waitpid(r->pid, &status, WNOHANG); i++)
		sys_sleep_ns(END_TURN_NS);
	r->has_crashed = WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL;
	r->pid = 0;
}

static void samples_release(void *data)
{
	struct samples *s = data;
	for (int i = 0; i < SAMPLERS; i++)
		sampler_end(&s->samplers[i]);
}

/* Return the value of an option of the tree, "" if it was not set: `ret_value` has 256 bytes. */
static const char *option_read(const struct tree_control *c, const char *name, char *ret_value)
{
	size_t length = strlen(name);
	*ret_value = 0;
	for (const char *line = c->options; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, length) && line[length] == '=')
			snprintf(ret_value, 256, "%.*s", (int)strcspn(line + length + 1, "\n"),
				line + length + 1);
	}
	return ret_value;
}

/* Write the path of libtrace-host, which is beside this program. */
static bool host_path(char *ret_path, size_t bytes)
{
	static const char name[] = "libtrace-host";
	ssize_t length = readlink("/proc/self/exe", ret_path, bytes - sizeof(name) - 1);
	if (length <= 0)
		return false;
	ret_path[length] = 0;
	char *slash = strrchr(ret_path, '/');
	memcpy(slash ? slash + 1 : ret_path, name, sizeof(name));
	return true;
}

static int host_spawn(pid_t *ret_pid, const char *path, char *const *arguments, int fd)
{
	static char *const no_environment[] = {NULL};
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);
	if (error)
		return error;
	error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, fd, 1);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, 0, 2);
	if (!error)
		error = posix_spawn(ret_pid, path, &actions, NULL, arguments, no_environment);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

/* Start the next process. */
static void sampler_start(struct writer *w, struct samples *s)
{
	const char *name = sampler_names[s->started];
	struct sampler *r = &s->samplers[s->started++];
	char path[4096], nvml[256];
	char *arguments[] = {"libtrace-host", "sample", (char *)name, nvml, NULL};
	int fds[2];
	option_read(w->control, "nvml", nvml);
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK))
		return;
	int error = host_path(path, sizeof(path)) ? host_spawn(&r->pid, path, arguments, fds[1])
						  : ENOENT;
	close(fds[1]);
	r->fd = fds[0];
	if (!error)
		return;
	r->pid = 0;
	close(fds[0]);
	writer_note(w, 0, clock_monotonic_ns(), "no samples of the machine (%s): libtrace-host: %s",
		name, strerror(error));
}

static bool uses_cuda(const struct writer *w)
{
	for (uint32_t i = 0; i < w->spools.count; i++)
		if (__atomic_load_n(&spool_header(w->spools.all[i])->cuda_offset, __ATOMIC_ACQUIRE))
			return true;
	return false;
}

static void start_if_due(struct writer *w, struct samples *s)
{
	char value[256];
	if (!s->is_read) {
		option_read(w->control, "machine_samples", value);
		s->mode = !strcmp(value, "always") ? MODE_ALWAYS
			: !strcmp(value, "none")   ? MODE_NONE
						   : MODE_AUTO;
		s->is_read = true;
	}
	if (!s->started && w->spools.count &&
		(s->mode == MODE_ALWAYS || (s->mode == MODE_AUTO && uses_cuda(w))))
		sampler_start(w, s);
	if (s->started == OTHERS && (s->mode == MODE_ALWAYS || s->has_nvml))
		while (s->started < SAMPLERS)
			sampler_start(w, s);
}

/* ---- records ---- */

static void record_take(struct samples *s, const struct machine_record *r, uint64_t now_ns)
{
	if (r->kind == MACHINE_GPU_ASKED || r->kind == MACHINE_GPU_SAMPLE)
		s->answered_ns = now_ns;
	s->has_nvml |= r->kind == MACHINE_GPU_ASKED;
	if (r->kind == MACHINE_LOST)
		s->lost += r->values[0];
	if (r->kind < MACHINE_GPU_DEVICE || r->kind >= MACHINE_KINDS || s->count == KEPT_MAX)
		return;
	struct machine_record *kept = &s->kept[s->count++];
	*kept = *r;
	kept->ns = r->ns < now_ns ? r->ns : now_ns;
}

/* Return true if there is no room for another read. */
static bool is_full(const struct samples *s)
{
	return s->count + READ_RECORDS > KEPT_MAX;
}

/* Read what has arrived from a process, as far as there is room. */
static void records_read(struct samples *s, struct sampler *from)
{
	struct machine_record records[READ_RECORDS];
	while (from->pid && !is_full(s)) {
		ssize_t bytes = read(from->fd, records, sizeof(records));
		if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		for (size_t i = 0; bytes > 0 && i < (size_t)bytes / sizeof(*records); i++)
			record_take(s, &records[i], clock_monotonic_ns());
		if (bytes <= 0 || (size_t)bytes % sizeof(*records))
			sampler_end(from); /* it has ended, or writes something else */
	}
}

static void all_read(struct samples *s)
{
	for (int i = 0; i < SAMPLERS; i++)
		records_read(s, &s->samplers[i]);
}

/* ---- rows ---- */

static uint32_t text_id(struct writer *w, const char *text)
{
	char clean[MACHINE_NAME_BYTES];
	size_t bytes = strnlen(text, sizeof(clean) - 1);
	for (size_t i = 0; i < bytes; i++)
		clean[i] = (char)(text[i] < ' ' || text[i] > '~' ? '?' : text[i]);
	return strings_id(&w->report.strings, clean, bytes);
}

/* The event of a kind of records, the columns of the device and of the first value. */
static const struct row_kind {
	enum event_kind event;
	uint32_t device, first_value;
} row_kinds[MACHINE_KINDS] = {
	[MACHINE_GPU_DEVICE] = {EVENT_GPU_DEVICE, GPU_DEVICE_GPU, 0},
	[MACHINE_GPU_SAMPLE] = {EVENT_GPU_SAMPLE, GPU_SAMPLE_GPU, GPU_SAMPLE_UTILIZATION},
	[MACHINE_NIC_SAMPLE] = {EVENT_NIC_SAMPLE, NIC_SAMPLE_PORT, NIC_SAMPLE_LINK},
	[MACHINE_HOST_SAMPLE] = {EVENT_HOST_SAMPLE, 0, HOST_SAMPLE_BUSY},
};

static void row_fill(struct writer *w, struct batch *b, const struct machine_record *r)
{
	const struct row_kind *k = &row_kinds[r->kind];
	if (k->device)
		batch_set(b, k->device, r->device);
	for (uint32_t i = 0; k->first_value && i < MACHINE_VALUES_MAX; i++)
		batch_set(b, k->first_value + i, r->reported >> i & 1 ? r->values[i] : 0);
	switch (k->event) {
	case EVENT_GPU_DEVICE:
		batch_set(b, GPU_DEVICE_NAME, text_id(w, r->name));
		batch_set(b, GPU_DEVICE_UUID, text_id(w, r->uuid));
		batch_set(b, GPU_DEVICE_BUS, text_id(w, r->bus));
		break;
	case EVENT_GPU_SAMPLE:
		batch_set(b, GPU_SAMPLE_REPORTED, r->reported);
		break;
	case EVENT_NIC_SAMPLE:
		batch_set(b, NIC_SAMPLE_DURATION, r->duration_ns);
		batch_set(b, NIC_SAMPLE_NAME, text_id(w, r->name));
		break;
	default:
		batch_set(b, HOST_SAMPLE_REPORTED, r->reported);
	}
}

/* Return the process that the rows belong to: the first that has not ended, so that most rows
 * belong to the same one. */
static struct spool *owner_find(struct writer *w)
{
	for (uint32_t i = 0; i < w->spools.count; i++) {
		struct spool *spool = w->spools.all[i];
		if (spool->announced && !spool->finished && spool->lane_count)
			return spool;
	}
	return NULL;
}

static void kind_put(struct writer *w, struct samples *s, struct spool *spool, uint32_t kind)
{
	struct batch *b = w->rows.batches[row_kinds[kind].event];
	for (uint32_t i = 0; i < s->count; i++)
		if (s->kept[i].kind == kind && batch_row_add(b, s->kept[i].ns))
			row_fill(w, b, &s->kept[i]);
	lane_rows_put(w, spool, spool->lanes[0], b, 0, s->kept[0].ns, s->kept[s->count - 1].ns);
}

static int by_time(const void *a, const void *b)
{
	const struct machine_record *x = a, *y = b;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Drop records for lack of room, but those of GPUs, which come once. */
static void kept_drop(struct samples *s)
{
	uint32_t left = 0;
	for (uint32_t i = 0; i < s->count && left < DEVICES_KEPT_MAX; i++)
		if (s->kept[i].kind == MACHINE_GPU_DEVICE)
			s->kept[left++] = s->kept[i];
	s->lost += s->count - left;
	s->count = left;
}

/* Report the records that are missing before those that are about to get rows. */
static void lost_note(struct writer *w, struct samples *s)
{
	if (s->lost)
		writer_note(w, 0, s->kept[0].ns,
			"%" PRIu64 " samples of the machine are missing: no process of the "
			"tree lived, or the writer waited",
			s->lost);
	s->lost = 0;
}

/* Records wait for a process that owns the rows. */
static int rows_put(struct writer *w, struct samples *s)
{
	struct spool *spool = s->count ? owner_find(w) : NULL;
	int error = spool ? writer_make_room(w) : 0;
	if (error)
		return error;
	if (!spool) {
		if (is_full(s))
			kept_drop(s);
		return 0;
	}
	qsort(s->kept, s->count, sizeof(*s->kept), by_time);
	lost_note(w, s);
	for (uint32_t kind = MACHINE_GPU_DEVICE; kind < MACHINE_KINDS; kind++)
		kind_put(w, s, spool, kind);
	s->count = 0;
	return 0;
}

/* Report why samples of GPUs are missing. */
static void silence_note(struct writer *w, struct samples *s, uint64_t now_ns)
{
	const struct sampler *r = &s->samplers[GPUS];
	bool hangs = r->pid && s->answered_ns && now_ns - s->answered_ns >= SILENCE_NS;
	if (!hangs && !r->has_crashed)
		return;
	writer_note(w, 0, now_ns, "%s: samples of GPUs are missing",
		hangs ? "NVML has not answered for 5 s" : "NVML has crashed libtrace-host");
	s->samplers[GPUS].has_crashed = false;
	s->answered_ns = 0;
}

static struct samples *samples_of(struct writer *w)
{
	return slot_get(&w->slots[SLOT_SAMPLES], sizeof(struct samples), samples_release);
}

int samples_look(struct writer *w)
{
	struct samples *s = samples_of(w);
	if (!s)
		return 0;
	start_if_due(w, s);
	all_read(s);
	const uint64_t now_ns = clock_monotonic_ns();
	silence_note(w, s, now_ns);
	bool is_due = is_full(s) || (s->count && now_ns - s->kept[0].ns >= ROWS_NS);
	return is_due ? rows_put(w, s) : 0;
}

int samples_flush(struct writer *w)
{
	struct samples *s = samples_of(w);
	if (!s)
		return 0;
	all_read(s);
	return rows_put(w, s);
}
