/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ncu.c - `trace export --type ncu`: a report of Nsight Compute.
 */
#include "reader/cli/export/ncu.h"

#include <errno.h>
#include <inttypes.h>

#include "reader/cli/export/timeline.h"
#include "reader/cli/base/select.h"
#include "reader/export/ncu/ncu.h"
#include "reader/export/pack.h"
#include "reader/ncu/nvtx_match.h"
#include "reader/ncu/rewrite.h"

struct indexing {
	struct cursor cursor;
	struct ncu_results results;
	const struct contents_visitor *visitor;
	struct ncu_devices devices;
	struct ncu_metrics metrics;
	struct ncu_ranges ranges;
	struct ncu_code code;
};

static int visit_block(void *user, const struct report_block *block)
{
	struct indexing *x = user;
	const char *cause;
	int error = ncu_results_note(&x->results, block, &cause);
	if (error == -EBADMSG) {
		x->visitor->problem(x->visitor->user, block->offset, cause);
		error = 0;
	}
	if (!error)
		error = cursor_add_block(&x->cursor, block);
	return error ? error : x->visitor->block(x->visitor->user, block);
}

static int visit_batch(void *user, struct walk *walk, const struct event_batch *batch)
{
	struct indexing *x = user;
	(void)walk;
	int error = ncu_devices_collect(&x->devices, batch);
	if (!error)
		error = ncu_metrics_collect(&x->metrics, batch);
	if (!error)
		error = ncu_ranges_collect(&x->ranges, &x->metrics, batch);
	return error ? error : ncu_code_collect(&x->code, batch);
}

static void visit_problem(void *user, uint64_t offset, const char *cause)
{
	struct indexing *x = user;
	x->visitor->problem(x->visitor->user, offset, cause);
}

static void note_tally(const char *path, const struct ncu_tally *t)
{
	if (t->without_call)
		cli_note("'%s': of %" PRIu64 " launches, %" PRIu64
			 " have no call in the report, and so no thread, NVTX ranges or callchain",
			path, t->launches, t->without_call);
	if (t->ranges_left_out)
		cli_note("'%s': left out %" PRIu64
			 " NVTX ranges, since too many were open at a time",
			path, t->ranges_left_out);
	if (t->states_left_out)
		cli_note("'%s': %" PRIu64 " calls have no NVTX ranges, since too many were open",
			path, t->states_left_out);
}

struct choosing {
	const struct nvtx_filter *filter;
	size_t kept;
};

static int judge(void *user, size_t i, Ncu__ProfileResult *result)
{
	struct choosing *c = user;
	(void)i;
	if (!ncu_nvtx_passes(c->filter, result->nvtx, result->thread_id))
		return NCU_DROP;
	c->kept++;
	return NCU_KEEP;
}

/* Copy a report of Nsight Compute, without the results that an NVTX filter leaves out. Returns
 * -ENODATA if it leaves out all. */
static int rewrite(FILE *out, struct cli_report *r, const struct ncu_results *results)
{
	const char *cause;
	struct choosing choosing = {.filter = select_filter()};
	const struct ncu_rewrite all = {
		.results = results, .judge = choosing.filter ? judge : NULL, .user = &choosing};
	for (size_t i = 0; i < results->count; i++)
		choosing.kept += results->entries[i].kind != NCU_RESULT; /* never left out */
	int error = ncu_rewrite(&all, out, &cause);
	if (!error && choosing.filter && !choosing.kept)
		error = -ENODATA;
	if (error == -EBADMSG)
		cli_problem(r, 0, cause);
	return error;
}

static int write_results(FILE *out, struct cli_report *r, struct indexing *x,
	const struct contents *c, struct symbols *symbols)
{
	static const uint32_t carried[] = {KIND_CUDA_KERNEL, KIND_CUDA_API, KIND_CUDA_DEVICE,
		KIND_CUDA_METRIC, KIND_CUDA_MODULE, KIND_CUDA_RANGE_METRIC, KIND_CUDA_SETUP,
		KIND_NVTX_RANGE, KIND_NVTX_START_END, KIND_NVTX_NAME, 0};
	struct ncu_tally tally = {0};
	if (!c->session && x->results.count)
		return rewrite(out, r, &x->results);
	int error = ncu_code_index(&x->code, &x->results);
	ncu_metrics_index(&x->metrics);
	ncu_ranges_index(&x->ranges);
	if (!error)
		error = ncu_write(out, &x->cursor, symbols, &x->devices, &x->metrics, &x->ranges,
			&x->code, &tally);
	if (!error) {
		export_note_others(r->path, "ncu", c, carried);
		note_tally(r->path, &tally);
		cli_note_cut_off(r, c);
		error = tally.launches || tally.ranges ? 0 : -ENODATA;
	}
	return error;
}

static int write_packed(FILE *out, struct cli_report *r, struct indexing *x,
	const struct contents *c, struct symbols *symbols)
{
	FILE *packed = pack_open(out);
	if (!packed)
		return -errno;
	int error = write_results(packed, r, x, c, symbols);
	if (fclose(packed) && !error)
		error = errno ? -errno : -EIO;
	return error;
}

int export_ncu(FILE *out, struct cli_report *r, const struct contents_visitor *visitor,
	const struct export_ncu_form *form)
{
	static struct indexing x;
	struct contents c;
	struct symbols symbols;
	const struct cursor_filter all = {.end_ns = UINT64_MAX};
	const struct contents_visitor index = {&x, visit_block, visit_batch, visit_problem};
	x.visitor = visitor;
	contents_init(&c);
	symbols_init(&symbols, &c, form->symbol_path);
	symbols.no_names = form->no_symbols;
	cursor_init(&x.cursor, &r->report, &c, &all);
	ncu_results_init(&x.results, &r->report);
	int error = contents_read(&c, &r->report, &index);
	if (!error)
		error = (form->packed ? write_packed : write_results)(out, r, &x, &c, &symbols);
	ncu_metrics_release(&x.metrics);
	ncu_ranges_release(&x.ranges);
	ncu_code_release(&x.code);
	ncu_results_release(&x.results);
	cursor_release(&x.cursor);
	symbols_release(&symbols);
	contents_release(&c);
	return error;
}
