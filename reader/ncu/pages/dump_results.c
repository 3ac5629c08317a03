/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_results.c - `trace dump` and `trace export -t json` of a report of Nsight Compute.
 */
#define _GNU_SOURCE
#include "reader/ncu/pages/dump_results.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reader/api/json.h"
#include "reader/base/print.h"
#include "reader/ncu/depth.h"
#include "reader/ncu/metrics.h"
#include "reader/ncu/workload.h"

struct dumping {
	struct cli_report *r;
	struct ncu_results results;
	FILE *out;
	bool json;
	uint64_t sources;
};

bool is_of_ncu(const struct report *report)
{
	struct report_block b;
	const char *cause;
	report_block_init(&b);
	bool is = report->source.size > report->first_block &&
		!report_block_find(&b, &report->source, report->first_block, &cause) && !b.own;
	report_block_release(&b);
	return is;
}

/* ---- modules ---- */

static void source_print(struct dumping *d, const Ncu__SourceData *s)
{
	const Ncu__RelocationData *symbols = s->relocation_data;
	fprintf(d->out, "{\"source\": %" PRIu64 ", \"reference\": %" PRIu64, d->sources++,
		s->reference);
	fprintf(d->out, ", \"binary_bytes\": %zu, \"intermediate_bytes\": %zu", s->binary.len,
		s->intermediate.len);
	fprintf(d->out, ", \"sass_level\": %d, \"sm_revision\": %" PRIu32, (int)s->sass_level,
		s->sm_revision);
	fprintf(d->out, ", \"functions\": %zu, \"files\": %zu}\n",
		symbols ? symbols->n_functions : 0, s->source_files ? s->source_files->n_files : 0);
}

/* Print the sources of a block, which results.h skips. */
static int sources_print(struct dumping *d, const struct report_block *b)
{
	uint64_t at = b->payload_offset;
	int error = 0;
	for (uint32_t i = 0; !error && i < b->header->num_sources && b->end - at >= 4; i++) {
		uint32_t bytes;
		error = source_read(&d->r->report.source, at, &bytes, 4);
		bytes = le32toh(bytes);
		if (error || bytes > b->end - at - 4)
			break;
		uint8_t *data = malloc(bytes + 1u);
		if (!data)
			return -ENOMEM;
		error = source_read(&d->r->report.source, at + 4, data, bytes);
		Ncu__SourceData *s = NULL;
		if (!error && message_depth_is_sane(&ncu__source_data__descriptor, data, bytes))
			s = ncu__source_data__unpack(NULL, bytes, data);
		if (s)
			source_print(d, s);
		else if (!error)
			cli_problem(d->r, at, "malformed module");
		if (s)
			ncu__source_data__free_unpacked(s, NULL);
		free(data);
		at += 4 + (uint64_t)bytes;
	}
	return error;
}

static int note_block(void *user, const struct report_block *block)
{
	struct dumping *d = user;
	const char *cause;
	int error = ncu_results_note(&d->results, block, &cause);
	if (error == -EBADMSG) {
		cli_problem(d->r, block->offset, cause);
		error = 0;
	}
	return error || !d->json ? error : sources_print(d, block);
}

static void note_problem(void *user, uint64_t offset, const char *cause)
{
	cli_problem(((struct dumping *)user)->r, offset, cause);
}

/* ---- results ---- */

/* Print a value; null if there is none or it is not a finite number. */
static void value_print(FILE *out, const Ncu__ProfileMetricValue *v)
{
	if (v && v->string_value)
		print_json_string(out, v->string_value);
	else if (v && v->has_uint64_value)
		print_u64(out, v->uint64_value);
	else if (v && v->has_uint32_value)
		print_u64(out, v->uint32_value);
	else if (v && v->has_double_value && isfinite(v->double_value))
		print_real(out, v->double_value, 17);
	else if (v && v->has_float_value && isfinite(v->float_value))
		print_real(out, (double)v->float_value, 9);
	else
		fputs("null", out);
}

static void metric_print(const struct dumping *d, const Ncu__ProfileMetricResult *m)
{
	fputs("{\"name\": ", d->out);
	print_json_string(
		d->out, m->name_id < d->results.name_count ? d->results.names[m->name_id] : NULL);
	if (m->metric_value) {
		fputs(", \"value\": ", d->out);
		value_print(d->out, m->metric_value);
	}
	if (m->has_category)
		fprintf(d->out, ", \"category\": %d", (int)m->category);
	for (size_t i = 0; i < m->n_metric_value_list; i++) {
		fputs(i ? ", [" : ", \"instances\": [[", d->out);
		value_print(d->out, m->metric_value_list[i]->correlation_id);
		fputs(", ", d->out);
		value_print(d->out, m->metric_value_list[i]->element_value);
		fputc(']', d->out);
	}
	fputs(m->n_metric_value_list ? "]}" : "}", d->out);
}

/* Print a result: metrics in their own form, sections by their names, all other fields under the
 * names of the message. */
static int result_json(struct dumping *d, size_t id, Ncu__ProfileResult *r)
{
	const struct ncu_process *p = &d->results.processes[d->results.entries[id].process];
	const size_t metrics = r->n_metric_results, sections = r->n_sections;
	char *rest = NULL;
	r->n_metric_results = r->n_sections = 0;
	int error = json_message(&r->base, &rest);
	r->n_metric_results = metrics;
	r->n_sections = sections;
	if (error)
		return error;
	fprintf(d->out,
		"{\"result\": %zu, \"workload\": \"%s\", \"pid\": %" PRIu32 ", \"process_name\": ",
		id, ncu_workload_name((enum ncu_entry_kind)d->results.entries[id].kind), p->pid);
	print_json_string(d->out, p->path);
	fputs(", \"hostname\": ", d->out);
	print_json_string(d->out, p->host);
	const size_t bytes = strlen(rest);
	fprintf(d->out, "%s%.*s", bytes > 2 ? ", " : "", (int)(bytes - 2), rest + 1);
	free(rest);
	fputs(", \"sections\": [", d->out);
	for (size_t i = 0; i < sections; i++) {
		fputs(i ? ", " : "", d->out);
		print_json_string(d->out, r->sections[i]->identifier);
	}
	fputs("], \"metrics\": [", d->out);
	for (size_t i = 0; i < metrics; i++) {
		fputs(i ? ", " : "", d->out);
		metric_print(d, r->metric_results[i]);
	}
	fputs("]}\n", d->out);
	return 0;
}

static void result_line(struct dumping *d, size_t id, const Ncu__ProfileResult *r)
{
	const struct ncu_process *p = &d->results.processes[d->results.entries[id].process];
	const Ncu__ProfileMetricResult *m =
		ncu_metric_find(&d->results, r, "gpu__time_duration.sum");
	const uint16_t kind = d->results.entries[id].kind;
	double duration_ns;
	fprintf(d->out, "%6zu  %" PRIu32 ":%" PRIu32 "  ", id, p->pid, r->thread_id);
	print_text(d->out, ncu_kernel_name(r), strlen(ncu_kernel_name(r)));
	if (r->grid_size && r->block_size)
		fprintf(d->out,
			" <<<%" PRIu64 ",%" PRIu64 ",%" PRIu64 ", %" PRIu64 ",%" PRIu64 ",%" PRIu64
			">>>",
			r->grid_size->x, r->grid_size->y, r->grid_size->z, r->block_size->x,
			r->block_size->y, r->block_size->z);
	fprintf(d->out, "  context %" PRIu32, r->context_id);
	if (r->has_stream_id || kind == NCU_RESULT)
		fprintf(d->out, ", stream %" PRIu32, r->stream_id);
	if (m && m->metric_value && ncu_value_number(m->metric_value, &duration_ns))
		fprintf(d->out, "  %.0f ns", duration_ns);
	fprintf(d->out, "  %zu metrics\n", r->n_metric_results);
}

static int result_print(struct dumping *d, size_t id)
{
	Ncu__ProfileResult *r;
	int error = ncu_result_read(&d->results, id, &r);
	if (error == -EBADMSG) {
		cli_problem(d->r, d->results.entries[id].offset, "malformed result");
		return 0;
	}
	if (error)
		return error;
	if (d->json)
		error = result_json(d, id, r);
	else
		result_line(d, id, r);
	ncu__profile_result__free_unpacked(r, NULL);
	return error;
}

void results_print_torn(struct cli_report *r, const struct contents *c)
{
	if (c->tally.torn_bytes)
		cli_problem(
			r, r->report.source.size - c->tally.torn_bytes, "the file is truncated");
}

int results_print(FILE *out, struct cli_report *r, bool json)
{
	struct dumping d = {.r = r, .out = out, .json = json};
	struct contents c;
	const struct contents_visitor visitor = {&d, note_block, NULL, note_problem};
	contents_init(&c);
	ncu_results_init(&d.results, &r->report);
	int error = contents_read(&c, &r->report, &visitor);
	for (size_t i = 0; !error && i < d.results.count; i++)
		error = result_print(&d, i);
	if (!error)
		results_print_torn(r, &c);
	ncu_results_release(&d.results);
	contents_release(&c);
	return error;
}
