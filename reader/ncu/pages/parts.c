/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parts.c - functions that the pages of `trace details` share: launches, rows of CSV, tables.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "reader/ncu/pages/details.h"
#include "reader/ncu/pages/nvtx.h"

static int visit(
	struct details *d, size_t id, Ncu__ProfileResult *r, details_visit *one, void *user)
{
	struct details_sections_before before;
	int error = details_choice_apply(&d->choice, &d->results, r, &before);
	if (!error)
		error = one(d, id, r, user);
	details_choice_undo(r, &before);
	return error;
}

int details_each(struct details *d, details_visit *one, void *user)
{
	int error = 0;
	details_filter_again(&d->filter);
	for (size_t i = 0; !error && i < d->results.count; i++) {
		Ncu__ProfileResult *result;
		error = d->name_bits ? ncu_result_read_some(&d->results, i, d->name_bits, &result)
				     : ncu_result_read(&d->results, i, &result);
		if (error == -EBADMSG) {
			cli_problem(&d->r, d->results.entries[i].offset, "malformed result");
			error = 0;
			continue;
		}
		if (!error)
			error = ncu_metrics_settle(&d->results, result);
		if (!error && details_wants(&d->filter, result))
			error = visit(d, i, result, one, user);
		if (!error || result)
			ncu__profile_result__free_unpacked(result, NULL);
	}
	return error;
}

const char *details_base_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *back = strrchr(path, '\\');
	const char *last = !slash || (back && back > slash) ? back : slash;
	return last ? last + 1 : path;
}

static uint64_t metric_u64(const struct details *d, const Ncu__ProfileResult *r, const char *name)
{
	double number = 0;
	const Ncu__ProfileMetricResult *m = ncu_metric_find(&d->results, r, name);
	const Ncu__ProfileMetricValue *v = m ? m->metric_value : NULL;
	return v && ncu_value_number(v, &number) && number >= 0 && number < 1e18 ? (uint64_t)number
										 : 0;
}

bool details_is_kernel(const struct details *d, size_t id)
{
	return d->results.entries[id].kind == NCU_RESULT;
}

static uint64_t of_dim(const Ncu__Uint64x3 *dim, int axis)
{
	if (!dim)
		return 0;
	return axis == 0 ? dim->x : axis == 1 ? dim->y : dim->z;
}

void details_dim_text(const Ncu__Uint64x3 *dim, char ret_text[DETAILS_DIM_BYTES])
{
	snprintf(ret_text, DETAILS_DIM_BYTES, "(%" PRIu64 ", %" PRIu64 ", %" PRIu64 ")",
		of_dim(dim, 0), of_dim(dim, 1), of_dim(dim, 2));
}

uint64_t details_device(const struct details *d, const Ncu__ProfileResult *r)
{
	return metric_u64(d, r, "device__attribute_device_index");
}

void details_cc_text(
	const struct details *d, const Ncu__ProfileResult *r, char ret_text[DETAILS_DIM_BYTES])
{
	snprintf(ret_text, DETAILS_DIM_BYTES, "%" PRIu64 ".%" PRIu64,
		metric_u64(d, r, "device__attribute_compute_capability_major"),
		metric_u64(d, r, "device__attribute_compute_capability_minor"));
}

/* ---- the launch ---- */

char *details_kernel_name(const struct details *d, const Ncu__ProfileResult *r)
{
	char *name = NULL;
	const char *range = d->rename ? nvtx_innermost(r) : NULL;
	if (asprintf(&name, "%s%s%s", range ? range : "", range ? "/" : "",
		    details_name_by(d->kernel_base, r)) < 0)
		return NULL;
	return name;
}

void details_csv_heading(const struct details *d)
{
	static const char *const before[] = {"ID", "Process ID", "Process Name", "Host Name"};
	static const char *const after[] = {
		"Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC"};
	const size_t dims = 3; /* number of columns of dimensions */
	for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++)
		csv_cell(d->out, i == 0, before[i]);
	if (d->has_nvtx) {
		csv_cell(d->out, false,
			"thread "
			"Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg");
		csv_cell(d->out, false,
			"Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg");
	}
	for (size_t i = 0; i < sizeof(after) / sizeof(*after); i++)
		if (d->has_kernels || i < dims || i >= dims + 2)
			csv_cell(d->out, false, after[i]);
}

/* Print the dimensions of the launch; empty for results without them. */
static void csv_dims(const struct details *d, size_t id, const Ncu__ProfileResult *r)
{
	const bool is_kernel = details_is_kernel(d, id);
	char text[DETAILS_DIM_BYTES];
	details_dim_text(r->block_size, text);
	csv_cell(d->out, false, is_kernel ? text : "");
	details_dim_text(r->grid_size, text);
	csv_cell(d->out, false, is_kernel ? text : "");
}

void details_csv_launch(const struct details *d, size_t id, const Ncu__ProfileResult *r)
{
	const struct ncu_process *p = &d->results.processes[d->results.entries[id].process];
	char text[DETAILS_DIM_BYTES];
	snprintf(text, sizeof(text), "%zu", id);
	csv_cell(d->out, true, text);
	csv_format(d->out, "%" PRIu32, p->pid);
	csv_cell(d->out, false, details_base_name(p->path));
	csv_cell(d->out, false, p->host);
	if (d->has_nvtx)
		nvtx_cells(r, d->out);
	char *name = details_kernel_name(d, r);
	csv_cell(d->out, false, name);
	free(name);
	csv_format(d->out, "%" PRIu32, r->context_id);
	if (details_is_kernel(d, id) || r->has_stream_id)
		csv_format(d->out, "%" PRIu32, r->stream_id);
	else
		csv_cell(d->out, false, "n/a");
	if (d->has_kernels)
		csv_dims(d, id, r);
	csv_format(d->out, "%" PRIu64, details_device(d, r));
	details_cc_text(d, r, text);
	csv_cell(d->out, false, text);
}

static void callchain_lines(const Ncu__CpuStacktraceStackMessage *stack, FILE *out)
{
	if (!stack || !stack->n_frames)
		return;
	fputs("\n    CPU Call Stack:\n", out);
	for (size_t i = 0; i < stack->n_frames; i++) {
		const Ncu__CpuStacktraceStackFrameMessage *f = stack->frames[i];
		int indent = fprintf(out, "      #%zu ", i);
		fprintf(out, "0x%" PRIx64 " in %s\n", f->pc, f->func_name ? f->func_name : "");
		if (f->file_name && *f->file_name)
			fprintf(out, "%*sat %s:%" PRIu32 "\n", indent, "", f->file_name, f->line);
		if (f->module_name && *f->module_name)
			fprintf(out, "%*sof %s\n", indent, "", f->module_name);
		fputc('\n', out);
	}
}

void details_text_launch(struct details *d, size_t id, const Ncu__ProfileResult *r)
{
	const size_t process = d->results.entries[id].process;
	const struct ncu_process *p = &d->results.processes[process];
	char grid[DETAILS_DIM_BYTES], block[DETAILS_DIM_BYTES], cc[DETAILS_DIM_BYTES];
	if (d->process_shown != process + 1)
		fprintf(d->out, "[%" PRIu32 "] %s@%s\n", p->pid, details_base_name(p->path),
			p->host);
	d->process_shown = process + 1;
	char *name = details_kernel_name(d, r);
	fprintf(d->out, "  %s", name ? name : "");
	if (details_is_kernel(d, id)) {
		details_dim_text(r->grid_size, grid);
		details_dim_text(r->block_size, block);
		fprintf(d->out, " %sx%s, Context %" PRIu32 ", Stream %" PRIu32, grid, block,
			r->context_id, r->stream_id);
	} else {
		fprintf(d->out, ", Context %" PRIu32, r->context_id);
	}
	details_cc_text(d, r, cc);
	fprintf(d->out, ", Device %" PRIu64 ", CC %s\n", details_device(d, r), cc);
	free(name);
	callchain_lines(r->cpu_stack, d->out);
	if (nvtx_has_ranges(r))
		nvtx_lines(r, d->out);
}
