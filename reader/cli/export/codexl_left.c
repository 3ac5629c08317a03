/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codexl_left.c - notes about the events that text files of CodeXL cannot store.
 */
#include "reader/cli/export/codexl_left.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "reader/cli/export/timeline.h"
#include "reader/codexl/put.h"

struct left_out {
	const char *path, *format;
	const uint64_t *events; /* number of events of the report, by kind */
};

enum { LEFT_OUT_KINDS = 8, LEFT_OUT_COLUMNS = 7 };

static uint64_t less(uint64_t number, uint64_t part)
{
	return number > part ? number - part : 0;
}

/* Columns: the numbers of operations, marks, start/end ranges, ranges that overlap others, ranges
 * that are written, CUDA calls outside of other CUDA calls, and calls that are written. */
static int left_out_row(void *user, const struct sql_value *v, int count)
{
	const struct left_out *l = user;
	static const char *const what[LEFT_OUT_KINDS] = {"copies and memory sets on the device",
		"NVTX marks", "NVTX start/end ranges", "NVTX ranges that overlap others",
		"CUDA calls inside other CUDA calls", "calls that did not return",
		"NVTX ranges of push and pop", "calls"};
	if (count != LEFT_OUT_COLUMNS)
		return 0;
	const bool is_timeline = !strcmp(l->format, "atp");
	const uint64_t cuda = l->events[KIND_CUDA_API], calls = cuda + l->events[KIND_OSRT_CALL],
		       inner = less(cuda, (uint64_t)v[5].integer),
		       left[LEFT_OUT_KINDS] = {(uint64_t)v[0].integer, (uint64_t)v[1].integer,
			       (uint64_t)v[2].integer, (uint64_t)v[3].integer,
			       is_timeline ? inner : 0,
			       is_timeline ? less(calls, inner + (uint64_t)v[6].integer) : 0,
			       is_timeline ? 0 : (uint64_t)v[4].integer, is_timeline ? 0 : calls};
	char text[400] = "";
	size_t at = 0;
	for (int i = 0; i < LEFT_OUT_KINDS; i++)
		if (left[i])
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%" PRIu64 " %s",
				at ? ", " : "", left[i], what[i]);
	if (at)
		cli_note(
			"'%s': left out, since %s cannot store them: %s", l->path, l->format, text);
	return 0;
}

int codexl_left_out_print(struct stats_database *d, const char *format, const uint64_t *events)
{
	struct left_out l = {d->file, format, events};
	const struct sql_visitor visitor = {&l, NULL, left_out_row};
	return sql_run(&d->sql,
		"SELECT (SELECT count(*) FROM MEMORY_OPERATIONS), "
		"(SELECT count(*) FROM NVTX_EVENTS WHERE eventType IN (34, 69)), "
		"(SELECT count(*) FROM NVTX_RANGES WHERE style = 'StartEnd'), "
		"(SELECT count(*) FROM NVTX_RANGES WHERE style = 'PushPop') - "
		"(SELECT count(*) FROM CODEXL_RANGES), (SELECT count(*) FROM CODEXL_RANGES), "
		"(SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME), "
		"(SELECT count(*) FROM CODEXL_CALLS)",
		&visitor);
}

/* The kinds in `carried` are counted by codexl_left_out_print(), or stored. Devices are stored in
 * the rows of their kernels, or in the header. */
void codexl_others_print(const char *path, enum codexl_format format, uint64_t *events)
{
	static const uint32_t carried[] = {KIND_OSRT_CALL, KIND_CUDA_API, KIND_CUDA_KERNEL,
		KIND_NVTX_RANGE, KIND_NVTX_MARK, KIND_NVTX_START_END, KIND_CUDA_MEMCPY,
		KIND_CUDA_MEMSET, KIND_CUDA_DEVICE, KIND_CUDA_DEVICE_ATTRIBUTE, KIND_THREAD_START,
		KIND_THREAD_END, KIND_THREAD_NAME, KIND_MODULE_LOAD, KIND_MODULE_UNLOAD,
		KIND_PYTHON_CODE, KIND_CUDA_RECEIPT, KIND_CODEXL_KERNEL, KIND_OPENCL_DEVICE};
	for (size_t i = 0; i < sizeof(carried) / sizeof(carried[0]); i++)
		events[carried[i]] = 0;
	export_note_left_out(path, codexl_format_name(format), events);
}
