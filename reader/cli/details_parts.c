/*
 * details_parts.c - what the pages of `trace details` share: the launches, rows of CSV, tables.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "reader/cli/details.h"

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
		if (d->results.entries[i].kind != NCU_RESULT)
			continue;
		error = d->name_bits ? ncu_result_read_some(&d->results, i, d->name_bits, &result)
				     : ncu_result_read(&d->results, i, &result);
		if (error == -EBADMSG) {
			cli_problem(&d->r, d->results.entries[i].offset, "broken result");
			error = 0;
			continue;
		}
		if (!error && details_wants(&d->filter, result))
			error = visit(d, i, result, one, user);
		if (!error || result)
			ncu__profile_result__free_unpacked(result, NULL);
	}
	return error;
}

void csv_cell(FILE *out, bool first, const char *text)
{
	fputs(first ? "\"" : ",\"", out);
	for (; text && *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

void csv_format(FILE *out, const char *format, ...)
{
	char text[128];
	va_list list;
	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	csv_cell(out, false, text);
}

/* Of a path of Linux or Windows. */
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

/* ---- NVTX ---- */

bool details_has_ranges(const Ncu__ProfileResult *r)
{
	const Ncu__NvtxState *s = r->nvtx;
	for (size_t t = 0; s && t < s->n_threads; t++)
		for (size_t i = 0; i < s->threads[t]->n_push_pop_domains; i++)
			if (s->threads[t]->push_pop_domains[i]->n_stack)
				return true;
	for (size_t i = 0; s && i < s->n_start_end_domains; i++)
		if (s->start_end_domains[i]->n_ranges)
			return true;
	return false;
}

static const char *domain_name(const Ncu__NvtxState *s, uint64_t id)
{
	for (size_t i = 0; i < s->n_domains; i++)
		if (s->domains[i]->id == id && s->domains[i]->name)
			return s->domains[i]->name;
	return "";
}

static void payload_text(const Ncu__NvtxPayload *p, FILE *out, const char *between)
{
	switch (p ? (int)p->payload_type : 0) {
	case NCU__NVTX_PAYLOAD_TYPE__NvtxPayloadTypeUint64:
		fprintf(out, "Uint64%s%" PRIu64, between, p->ull_value);
		break;
	case NCU__NVTX_PAYLOAD_TYPE__NvtxPayloadTypeInt64:
		fprintf(out, "Int64%s%" PRId64, between, p->ll_value);
		break;
	case NCU__NVTX_PAYLOAD_TYPE__NvtxPayloadTypeDouble:
		fprintf(out, "Double%s%f", between, p->double_value);
		break;
	case NCU__NVTX_PAYLOAD_TYPE__NvtxPayloadTypeUint32:
		fprintf(out, "Uint32%s%" PRIu32, between, p->u_value);
		break;
	case NCU__NVTX_PAYLOAD_TYPE__NvtxPayloadTypeInt32:
		fprintf(out, "Int32%s%" PRId32, between, p->i_value);
		break;
	case NCU__NVTX_PAYLOAD_TYPE__NvtxPayloadTypeFloat:
		fprintf(out, "Float%s%f", between, (double)p->f_value);
		break;
	default:
		fprintf(out, "none%snone", between);
	}
}

static const char *message_kind(const Ncu__NvtxMessage *m)
{
	switch (m ? (int)m->message_type : 0) {
	case NCU__NVTX_MESSAGE_TYPE__NvtxMessageTypeAscii:
		return "ASCII";
	case NCU__NVTX_MESSAGE_TYPE__NvtxMessageTypeUnicode:
		return "UNICODE";
	case NCU__NVTX_MESSAGE_TYPE__NvtxMessageTypeRegistered:
		return "REGISTERED";
	default:
		return "none";
	}
}

static bool has_color(const Ncu__NvtxEventAttributes *a)
{
	return a && a->color && a->color->color_type == NCU__NVTX_COLOR_TYPE__NvtxColorTypeArgb;
}

/* domain:name:payload type:payload:colour type:colour:message type:message */
static void range_cell(
	const char *domain, const char *name, const Ncu__NvtxEventAttributes *a, FILE *out)
{
	fprintf(out, "%s:%s:", domain, name ? name : "");
	payload_text(a ? a->payload : NULL, out, ":");
	if (has_color(a))
		fprintf(out, ":RGB:0x%08x", a->color->color);
	else
		fputs(":none:none", out);
	fprintf(out, ":%s:%s\" ", message_kind(a ? a->message : NULL),
		a && a->message && a->message->message ? a->message->message : "none");
}

/* The stacks of the thread that made the launch, if any. */
static const Ncu__NvtxThread *launching_thread(const Ncu__ProfileResult *r)
{
	const Ncu__NvtxThread *thread = NULL;
	for (size_t t = 0; r->nvtx && t < r->nvtx->n_threads; t++)
		if (r->nvtx->threads[t]->tid == r->thread_id)
			thread = r->nvtx->threads[t];
	for (size_t d = 0; thread && d < thread->n_push_pop_domains; d++)
		if (thread->push_pop_domains[d]->n_stack)
			return thread;
	return NULL;
}

static void push_pop_cell(const Ncu__ProfileResult *r, FILE *out)
{
	const Ncu__NvtxThread *thread = launching_thread(r);
	if (!thread)
		return;
	fprintf(out, "%" PRIu32 " ", thread->tid);
	for (size_t d = 0; d < thread->n_push_pop_domains; d++) {
		const Ncu__NvtxPushPopDomain *domain = thread->push_pop_domains[d];
		for (size_t i = 0; i < domain->n_stack; i++) {
			fputs(" \"", out);
			range_cell(domain_name(r->nvtx, domain->id), domain->stack[i]->name,
				domain->stack[i]->attributes, out);
		}
	}
}

static void start_end_cell(const Ncu__ProfileResult *r, FILE *out)
{
	const Ncu__NvtxState *s = r->nvtx;
	for (size_t d = 0; s && d < s->n_start_end_domains; d++) {
		const Ncu__NvtxStartEndDomain *domain = s->start_end_domains[d];
		for (size_t i = 0; i < domain->n_ranges; i++) {
			fprintf(out, " \"%" PRIu64 ":", domain->ranges[i]->id);
			range_cell(domain_name(s, domain->id), domain->ranges[i]->name,
				domain->ranges[i]->attributes, out);
		}
	}
}

static void nvtx_cell(const Ncu__ProfileResult *r,
	void (*print)(const Ncu__ProfileResult *r, FILE *out), FILE *out)
{
	char *text = NULL;
	size_t bytes;
	FILE *memory = open_memstream(&text, &bytes);
	if (memory) {
		print(r, memory);
		fclose(memory);
	}
	csv_cell(out, false, text);
	free(text);
}

static void range_lines(
	uint64_t level, const char *name, const Ncu__NvtxEventAttributes *a, FILE *out)
{
	fprintf(out, "        <%" PRIu64 ",%s>\n", level, name ? name : "");
	if (a && a->payload && a->payload->payload_type) {
		fputs("          ", out);
		payload_text(a->payload, out, ": ");
		fputc('\n', out);
	}
	if (has_color(a))
		fprintf(out, "          RGB: 0x%08x\n", a->color->color);
	if (a && a->message && a->message->message)
		fprintf(out, "          %s: %s\n", message_kind(a->message), a->message->message);
}

static void nvtx_lines(const Ncu__ProfileResult *r, FILE *out)
{
	const Ncu__NvtxState *s = r->nvtx;
	const Ncu__NvtxThread *thread = launching_thread(r);
	const char *title = "\n    NVTX Start/End Ranges:\n";
	for (size_t d = 0; s && d < s->n_start_end_domains; d++) {
		const Ncu__NvtxStartEndDomain *domain = s->start_end_domains[d];
		if (domain->n_ranges)
			fprintf(out, "%s      %s\n", title, domain_name(s, domain->id));
		for (size_t i = 0; i < domain->n_ranges; i++)
			range_lines(domain->ranges[i]->id, domain->ranges[i]->name,
				domain->ranges[i]->attributes, out);
		title = domain->n_ranges ? "" : title;
	}
	if (thread)
		fprintf(out, "\n    NVTX Push/Pop Stack for Thread %" PRIu32 ":\n", thread->tid);
	for (size_t d = 0; thread && d < thread->n_push_pop_domains; d++) {
		const Ncu__NvtxPushPopDomain *domain = thread->push_pop_domains[d];
		if (domain->n_stack)
			fprintf(out, "     %s\n", domain_name(s, domain->id));
		for (size_t i = 0; i < domain->n_stack; i++)
			range_lines(i, domain->stack[i]->name, domain->stack[i]->attributes, out);
	}
}

/* ---- the launch ---- */

/* The range that the launching thread pushed last; NULL: none. */
static const char *innermost_range(const Ncu__ProfileResult *r)
{
	const Ncu__NvtxThread *thread = launching_thread(r);
	const char *name = NULL;
	for (size_t d = 0; thread && d < thread->n_push_pop_domains; d++) {
		const Ncu__NvtxPushPopDomain *domain = thread->push_pop_domains[d];
		if (domain->n_stack)
			name = domain->stack[domain->n_stack - 1]->name;
	}
	return name && *name ? name : NULL;
}

char *details_kernel_name(const struct details *d, const Ncu__ProfileResult *r)
{
	char *name = NULL;
	const char *range = d->rename ? innermost_range(r) : NULL;
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
		csv_cell(d->out, false, after[i]);
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
	if (d->has_nvtx) {
		nvtx_cell(r, push_pop_cell, d->out);
		nvtx_cell(r, start_end_cell, d->out);
	}
	char *name = details_kernel_name(d, r);
	csv_cell(d->out, false, name);
	free(name);
	csv_format(d->out, "%" PRIu32, r->context_id);
	csv_format(d->out, "%" PRIu32, r->stream_id);
	details_dim_text(r->block_size, text);
	csv_cell(d->out, false, text);
	details_dim_text(r->grid_size, text);
	csv_cell(d->out, false, text);
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
	details_dim_text(r->grid_size, grid);
	details_dim_text(r->block_size, block);
	char *name = details_kernel_name(d, r);
	details_cc_text(d, r, cc);
	fprintf(d->out,
		"  %s %sx%s, Context %" PRIu32 ", Stream %" PRIu32 ", Device %" PRIu64 ", CC %s\n",
		name ? name : "", grid, block, r->context_id, r->stream_id, details_device(d, r),
		cc);
	free(name);
	callchain_lines(r->cpu_stack, d->out);
	if (details_has_ranges(r))
		nvtx_lines(r, d->out);
}
