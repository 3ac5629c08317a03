/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_codexl.c - fuzz target of the CodeXL reader: reads arbitrary bytes as a timeline, counters
 * or occupancy, selected by the first byte. The events are written to a report and exported to a
 * CodeXL file again, which must be readable and contain as many events.
 *
 * clang -fsanitize=fuzzer provides main().
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "reader/codexl/import.h"
#include "reader/codexl/read.h"
#include "reader/codexl/write.h"

static int lines_take(struct codexl_file *f, const char *at, const char *end)
{
	int error = 0;
	while (!error && at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		error = codexl_file_line(f, at, (size_t)((newline ? newline : end) - at));
		at = newline ? newline + 1 : end;
	}
	if (!error)
		error = codexl_file_end(f);
	if (error && (error != -EBADMSG || !f->cause[0]))
		abort(); /* refused without a cause */
	return error;
}

static bool is_equal(const struct codexl_file *a, const struct codexl_file *b)
{
	return a->headers.count == b->headers.count && a->calls.count == b->calls.count &&
		a->commands.count == b->commands.count && a->kernels.count == b->kernels.count &&
		a->markers.count == b->markers.count && a->cells.count == b->cells.count;
}

/* Return the report exported as a file, which the caller frees. */
static char *text_of(
	const uint8_t *data, size_t bytes, enum codexl_format format, size_t *ret_bytes)
{
	struct report report;
	struct contents contents;
	const char *cause;
	char *text = NULL;
	uint64_t lost;
	int error, fd = memfd_create("report", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
		abort();
	if (report_open_fd(&report, fd, "report", &cause))
		abort();
	contents_init(&contents);
	struct codexl_writer *w = codexl_writer_open(&report, &contents, NULL, &error);
	FILE *out = open_memstream(&text, ret_bytes);
	if (error || !out || contents.tally.torn_bytes)
		abort();
	if (codexl_writer_has(w, format) && (codexl_writer_write(w, out, format, &lost) || lost))
		abort();
	fclose(out);
	codexl_writer_close(w);
	contents_release(&contents);
	report_close(&report);
	return text;
}

static void round_trip(struct codexl_file *f)
{
	struct codexl_import import = {f, "fuzz", 0};
	struct codexl_file again;
	struct pool pool = {0};
	uint8_t *data;
	size_t bytes, text_bytes;
	if (codexl_import(&import, 1, &data, &bytes))
		abort();
	char *text = text_of(data, bytes, f->format, &text_bytes);
	if (codexl_file_init(&again, f->format, &pool))
		abort();
	if (text_bytes && (lines_take(&again, text, text + text_bytes) || !is_equal(f, &again)))
		abort();
	codexl_file_release(&again);
	pool_release(&pool);
	free(text);
	free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pool pool = {0};
	struct codexl_file file;
	if (!size || codexl_file_init(&file, data[0] % CODEXL_FORMATS, &pool))
		return 0;
	if (!lines_take(&file, (const char *)data + 1, (const char *)data + size))
		round_trip(&file);
	codexl_file_release(&file);
	pool_release(&pool);
	return 0;
}
