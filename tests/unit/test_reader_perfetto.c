/* SPDX-License-Identifier: Apache-2.0 */
/* test_reader_perfetto.c - tests of the states of threads in a Perfetto trace. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/export/timeline/perfetto.h"
#include "tests/unit/chained_report.h"
#include "tests/unit/tap.h"

struct given {
	const struct contents *contents;
	int cpu, error;
};

static int states(void *user, int (*put)(void *sink, const struct perfetto_state *), void *sink)
{
	const struct given *g = user;
	struct perfetto_state state = {.process = process_find_pid(&g->contents->processes, 100),
		.tid = 101,
		.start_ns = 5000,
		.duration_ns = 700,
		.name = "blocked",
		.detail = "in poll",
		.cpu = g->cpu};
	int error = put(sink, &state);
	return error ? error : g->error;
}

/* Write the trace of a report; the caller frees it. */
static char *written(const char *path, struct given g, size_t *ret_bytes, int *ret_error)
{
	static struct timeline t;
	const struct contents_visitor nobody = {0};
	struct report report;
	const char *cause;
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_bytes);
	if (!out || report_open(&report, path, 0, &cause) || timeline_init(&t, &report, NULL) ||
		timeline_read(&t, &nobody))
		abort();
	g.contents = &t.contents;
	*ret_error = perfetto_write(out, &t, true, g.cpu == -2 ? NULL : states, &g);
	fclose(out);
	timeline_release(&t);
	report_close(&report);
	return text;
}

static bool has(const char *trace, size_t bytes, const char *part, size_t part_bytes)
{
	return memmem(trace, bytes, part, part_bytes);
}

#define HAS(part) has(trace, bytes, part, sizeof(part) - 1)

int main(void)
{
	char path[] = "/tmp/test_reader_perfetto.XXXXXX";
	struct make_report m;
	size_t bytes;
	int error, fd = mkstemp(path);
	if (fd < 0)
		return 1;
	close(fd);
	make_chained(&m, true);
	make_save(&m, path);
	make_release(&m);
	char *trace = written(path, (struct given){.cpu = -1}, &bytes, &error);
	check(!error && HAS("states of the thread") && HAS("blocked") && HAS("in poll"),
		"a state is a slice with its detail on a track of its own");
	check(!HAS("\x18\x65\x20\x04"), "a state without a CPU is no scheduling");
	free(trace);
	/* cpu 3, comm "worker...", tid 101, state 4: asleep */
	trace = written(path, (struct given){.cpu = 3}, &bytes, &error);
	check(!error && HAS("\x08\x03\x12") && HAS("\x18\x65\x20\x04"),
		"a state of a context switch is scheduling, too");
	free(trace);
	trace = written(path, (struct given){.cpu = -2}, &bytes, &error);
	check(!error && bytes && !HAS("states of the thread"), "without states: no such track");
	free(trace);
	trace = written(path, (struct given){.cpu = -1, .error = -EIO}, &bytes, &error);
	check(error == -EIO, "an error of the states ends the trace");
	free(trace);
	unlink(path);
	return tap_done();
}
