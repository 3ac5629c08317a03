/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_results.c - fuzz target of reports of Nsight Compute: arbitrary bytes as any message of one.
 *
 * The first two bytes select the type, from all types of the standard entries and the header: the
 * message is unpacked and packed again, twice with the same result. The bytes are also used as a
 * result and as the whole report: printed on every page of `trace details`, with every option that
 * changes the output, printed as lines of `trace dump`, exported as a database, and rewritten.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/ncu/pages/details.h"
#include "reader/ncu/pages/dump_results.h"
#include "reader/export/sqlite/export.h"
#include "reader/ncu/depth.h"
#include "reader/ncu/findings.h"
#include "reader/ncu/nvtx_match.h"
#include "reader/ncu/rewrite.h"
#include "tests/fuzz/mutate.h"

/* ---- every type of message ---- */

#define TYPES_MAX 200u

static const ProtobufCMessageDescriptor *types[TYPES_MAX];
static size_t type_count;

/* Collect the type and the types of its fields, each once. */
static void type_add(const ProtobufCMessageDescriptor *type)
{
	for (size_t i = 0; i < type_count; i++)
		if (types[i] == type)
			return;
	if (type_count == TYPES_MAX)
		abort();
	types[type_count++] = type;
	for (unsigned i = 0; i < type->n_fields; i++)
		if (type->fields[i].type == PROTOBUF_C_TYPE_MESSAGE)
			type_add(type->fields[i].descriptor);
}

static void types_fill(void)
{
	type_add(&ncu__profile_result__descriptor);
	type_add(&ncu__range_result__descriptor);
	type_add(&ncu__cmdlist_result__descriptor);
	type_add(&ncu__graph_result__descriptor);
	type_add(&ncu__source_data__descriptor);
	type_add(&ncu__profiler_section__descriptor);
	type_add(&libtrace__file_header__descriptor);
	type_add(&libtrace__block_header__descriptor);
	type_add(&libtrace__session_details__descriptor);
}

static uint8_t *packed(const ProtobufCMessage *m, size_t *ret_bytes)
{
	*ret_bytes = protobuf_c_message_get_packed_size(m);
	uint8_t *data = malloc(*ret_bytes + 1);
	if (data && protobuf_c_message_pack(m, data) != *ret_bytes)
		abort();
	return data;
}

/* Check that a packed message is packed to the same bytes again. */
static void as_message(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t bytes)
{
	size_t once_bytes = 0, twice_bytes = 0;
	if (!message_depth_is_sane(type, data, bytes))
		return;
	ProtobufCMessage *first = protobuf_c_message_unpack(type, NULL, bytes, data);
	if (!first)
		return;
	uint8_t *once = packed(first, &once_bytes);
	ProtobufCMessage *second =
		once ? protobuf_c_message_unpack(type, NULL, once_bytes, once) : NULL;
	if (once && !second)
		abort();
	uint8_t *twice = second ? packed(second, &twice_bytes) : NULL;
	if (twice && (once_bytes != twice_bytes || memcmp(once, twice, once_bytes)))
		abort();
	if (second)
		protobuf_c_message_free_unpacked(second, NULL);
	protobuf_c_message_free_unpacked(first, NULL);
	free(once);
	free(twice);
}

/* ---- pages ---- */

static int note_block(void *user, const struct report_block *block)
{
	const char *cause;
	int error = ncu_results_note(user, block, &cause);
	return error == -EBADMSG ? 0 : error;
}

static int some_changed(void *user, size_t i, Ncu__ProfileResult *result)
{
	(void)user;
	(void)result;
	return (int)(i % 3);
}

static void write_anew(const struct ncu_results *results)
{
	static const char *const names[] = {"one", "two"};
	const char *cause;
	char *data = NULL;
	size_t bytes;
	const struct ncu_rewrite keep = {.results = results},
				 change = {.results = results,
					 .judge = some_changed,
					 .names = names,
					 .name_count = 2};
	FILE *out = open_memstream(&data, &bytes);
	if (!out)
		return;
	int error = ncu_rewrite(&keep, out, &cause);
	fclose(out);
	if (!error && bytes != results->report->source.size)
		abort();
	free(data);
	out = open_memstream(&data, &bytes);
	if (!out)
		return;
	ncu_rewrite(&change, out, &cause);
	fclose(out);
	free(data);
}

/* Print what a rule reports about the results; the input is a frame of the rule. */
static const uint8_t *frame;
static size_t frame_bytes;

static void put_findings(const struct ncu_results *results)
{
	struct findings found;
	const char *cause;
	char *data = NULL;
	size_t bytes;
	FILE *out = open_memstream(&data, &bytes);
	if (!out)
		return;
	findings_init(&found, results);
	findings_take(&found, 'M', frame, frame_bytes);
	findings_take(&found, 'R', frame, frame_bytes);
	findings_sort(&found);
	const struct ncu_rewrite change = {.results = results,
		.judge = findings_judge,
		.user = &found,
		.names = (const char *const *)found.names,
		.name_count = found.name_count};
	ncu_rewrite(&change, out, &cause);
	findings_release(&found);
	fclose(out);
	free(data);
}

/* Print summaries, and the views of the source page; the disassembler is not started. */
static void print_views(struct details *d)
{
	const struct details before = *d;
	d->part = PART_ALL;
	for (unsigned form = 0; form < 12; form++) {
		d->csv = form & 1;
		d->summary = (enum details_summary)(SUMMARY_KERNEL + form / 2 % 3);
		d->instances = form < 6 ? INSTANCES_DETAILS : INSTANCES_NONE;
		details_summary(d, form >= 6);
	}
	d->summary = SUMMARY_NONE;
	d->part = before.part;
	d->instances = before.instances;
	for (unsigned form = 0; form < 8; form++) {
		d->csv = form & 1;
		d->source_view = (enum details_view)(form / 2);
		d->filter.nvtx = NULL;
		if (d->source_view == SOURCE_PTX || d->source_view == SOURCE_CUDA)
			details_listing(d);
		else
			details_source(d);
	}
}

static void no_problem(void *user, uint64_t offset, const char *cause)
{
	(void)user;
	(void)offset;
	(void)cause;
}

/* Export to a database, for one report in 16: files are slow. */
static void as_database(const struct report *report, const struct nvtx_filter *nvtx)
{
	static char name[64];
	static unsigned calls;
	struct sqlite_result result;
	const struct sqlite_source source = {report, {NULL, NULL, NULL, no_problem}, NULL};
	const struct sqlite_job job = {.output = name,
		.overwrite = true,
		.no_symbols = true,
		.kernels_only = calls % 64 == 16,
		.nvtx = calls % 64 == 32 ? nvtx : NULL,
		.sources = &source,
		.count = 1};
	if (calls++ % 16)
		return;
	snprintf(name, sizeof(name), "/dev/shm/fuzz-%d.sqlite", (int)getpid());
	if (!sqlite_export(&job, &result))
		unlink(name);
}

static void print_pages(struct details *d, const struct nvtx_filter *nvtx)
{
	uint8_t *some_names = malloc(d->results.name_count / 8 + 1);
	if (!some_names)
		return;
	memset(some_names, 0x55, d->results.name_count / 8 + 1);
	for (unsigned form = 0; form < 8; form++) {
		d->csv = form & 1;
		d->base_units = form & 2;
		d->floating = form & 4;
		d->rule_details = form & 4;
		d->rename = form & 2;
		d->part = (enum details_part)(form % 3);
		d->names = (enum details_names)(form % 3);
		d->instances = (enum details_instances)((form + 1) % 3);
		d->kernel_base = (enum details_base)(form % 3);
		d->filter.nvtx = form == 5 ? nvtx : NULL;
		d->name_bits = form == 6 ? some_names : NULL;
		details_raw(d);
		d->name_bits = NULL;
		details_session(d);
		details_sections(d);
	}
	print_views(d);
	free(some_names);
}

static void as_report(const uint8_t *data, size_t bytes)
{
	static struct details d;
	static struct nvtx_filter nvtx;
	static FILE *nowhere;
	const char *cause;
	size_t at;
	if (!nowhere) {
		nowhere = fopen("/dev/null", "w");
		setenv("PATH", "/nonexistent", 1);
		nvtx_filter_init(&nvtx);
		nvtx_filter_add(&nvtx, "a/*/b", false, &at, &cause);
		nvtx_filter_add(&nvtx, "regex:.@a,b", true, &at, &cause);
	}
	memset(&d, 0, sizeof(d));
	d.r.path = "fuzzed";
	d.r.quiet = true;
	d.filter.count = UINT64_MAX;
	d.out = nowhere;
	if (!nowhere || report_open_memory(&d.r.report, data, bytes, &cause))
		return;
	const struct contents_visitor visitor = {&d.results, note_block, NULL, NULL};
	contents_init(&d.contents);
	ncu_results_init(&d.results, &d.r.report);
	if (!contents_read(&d.contents, &d.r.report, &visitor)) {
		if (frame)
			put_findings(&d.results);
		print_pages(&d, &nvtx);
		results_print(nowhere, &d.r, true);
		results_print(nowhere, &d.r, false);
		as_database(&d.r.report, &nvtx);
		write_anew(&d.results);
	}
	ncu_results_release(&d.results);
	contents_release(&d.contents);
	report_close(&d.r.report);
}

/* Read a report of one block with some names, and the bytes as its result. */
static void as_result(const uint8_t *data, size_t bytes)
{
	static char *const names[] = {"sm__one.sum", "device__attribute_compute_capability_major",
		"launch__two", "numa__dev_display_name_all", "group:all", "gpu__time_duration.sum"};
	Libtrace__StringTable table = LIBTRACE__STRING_TABLE__INIT;
	Libtrace__BlockHeader header = LIBTRACE__BLOCK_HEADER__INIT;
	table.n_strings = sizeof(names) / sizeof(*names);
	table.strings = (char **)names;
	header.string_table = &table;
	header.has_num_results = header.has_payload_size = 1;
	header.num_results = 1;
	header.payload_size = (uint32_t)bytes + 4;
	size_t header_bytes = 0;
	uint8_t *packed_header = packed(&header.base, &header_bytes);
	uint8_t *report = malloc(18 + header_bytes + bytes);
	if (packed_header && report) {
		uint32_t size = (uint32_t)header_bytes;
		memcpy(report, "NVR\0\2\0\0\0\x08\x07", 10);
		memcpy(report + 10, &size, 4);
		memcpy(report + 14, packed_header, header_bytes);
		size = (uint32_t)bytes;
		memcpy(report + 14 + header_bytes, &size, 4);
		memcpy(report + 18 + header_bytes, data, bytes);
		as_report(report, 18 + header_bytes + bytes);
	}
	free(packed_header);
	free(report);
}

static void as_findings(const uint8_t *data, size_t bytes)
{
	static const uint8_t empty[1];
	frame = data;
	frame_bytes = bytes;
	as_result(empty, 0);
	frame = NULL;
}

#define MORE_TYPES 4u /* further choices of the first two bytes: three results, and findings */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	if (!type_count)
		types_fill();
	if (bytes > 8 && !memcmp(data, "NVR", 4)) {
		as_report(data, bytes);
	} else if (bytes >= 2) {
		const size_t type = (data[0] | (size_t)data[1] << 8) % (type_count + MORE_TYPES);
		if (type == type_count + MORE_TYPES - 1)
			as_findings(data + 2, bytes - 2);
		else if (type >= type_count)
			as_result(data + 2, bytes - 2);
		else
			as_message(types[type], data + 2, bytes - 2);
	}
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t max, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t max, unsigned seed)
{
	if (!type_count)
		types_fill();
	if (bytes > 8 && !memcmp(data, "NVR", 4))
		return mutate_report(data, bytes, max, seed);
	if (bytes < 2 || seed % 16 == 0)
		return LLVMFuzzerMutate(data, bytes, max);
	const size_t type = (data[0] | (size_t)data[1] << 8) % (type_count + MORE_TYPES);
	return 2 +
		mutate_message(
			types[type < type_count ? type : 0], data + 2, bytes - 2, max - 2, seed);
}
