/* Rows of one result: its metrics, what rules said of it, the launch. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "reader/export/sqlite_writing.h"
#include "reader/ncu/metrics.h"
#include "reader/ncu/nvtx_names.h"
#include "reader/ncu/workload.h"

#define VALUES_MAX 19u              /* columns of the widest of our tables */
#define TIME_MAX_NS (INT64_MAX / 4) /* of a hostile report: later times are this one */

/* ---- values ---- */

static struct page_value of_number(int64_t number)
{
	return (struct page_value){.kind = PAGE_INTEGER, .integer = number};
}

static struct page_value of_real(double real)
{
	return (struct page_value){.kind = isnan(real) ? PAGE_NULL : PAGE_REAL, .real = real};
}

static struct page_value of_u64(uint64_t number)
{
	return number <= INT64_MAX ? of_number((int64_t)number) : of_real((double)number);
}

static struct page_value of_id(uint32_t id_plus_1)
{
	return (struct page_value){
		.kind = id_plus_1 ? PAGE_INTEGER : PAGE_NULL, .integer = (int64_t)id_plus_1 - 1};
}

/* The text itself, with bytes that are not UTF-8 as \xNN, or in the pool where it has such; NULL
 * is NULL. */
int results_text(struct writing *w, const char *text, struct page_value *v)
{
	const size_t bytes = text ? strlen(text) : 0, clean_bytes = utf8_clean_bytes(text, bytes);
	*v = (struct page_value){.kind = PAGE_NULL};
	if (!text)
		return 0;
	if (clean_bytes > UINT32_MAX)
		return -EOVERFLOW;
	if (clean_bytes != bytes) {
		char *clean = malloc(clean_bytes + 1);
		if (!clean)
			return -ENOMEM;
		utf8_clean(text, bytes, clean);
		text = pool_text(&w->texts.pool, clean, clean_bytes);
		free(clean);
		if (!text)
			return -ENOMEM;
	}
	*v = (struct page_value){.kind = PAGE_TEXT, .bytes = (uint32_t)clean_bytes, .text = text};
	return 0;
}

static int of_texts(
	struct writing *w, const char *const *texts, size_t count, struct page_value *values)
{
	int error = 0;
	for (size_t i = 0; !error && i < count; i++)
		error = results_text(w, texts[i], &values[i]);
	return error;
}

static int of_value(struct writing *w, const Ncu__ProfileMetricValue *from, struct page_value *v)
{
	*v = (struct page_value){.kind = PAGE_NULL};
	if (!from)
		return 0;
	if (from->string_value)
		return results_text(w, from->string_value, v);
	if (from->has_double_value)
		*v = of_real(from->double_value);
	else if (from->has_float_value)
		*v = of_real((double)from->float_value);
	else if (from->has_uint64_value)
		*v = of_u64(from->uint64_value);
	else if (from->has_uint32_value)
		*v = of_number(from->uint32_value);
	return 0;
}

static int text_id(struct writing *w, const char *text, struct page_value *v)
{
	uint32_t id;
	int error = writing_text(w, text ? text : "", &id);
	*v = of_number(id);
	return error;
}

static int row_put(struct writing *w, enum results_table table, const struct page_value *values)
{
	int error = page_table_values(&w->results.tables[table], 0, values);
	w->output_failed |= error != 0;
	return error;
}

/* The id of the result at hand, which is put last. */
static struct page_value result_id(const struct writing *w)
{
	return of_number((int64_t)w->results.tables[OF_RESULT].last_rowid + 1);
}

/* ---- metrics ---- */

/* Ids of a metric's name and unit. */
static int name_find(struct writing *w, uint32_t name_id, struct results_name *ret_name)
{
	const struct ncu_results *n = &w->results.results;
	char unnamed[32], unit[NCU_UNIT_BYTES];
	const bool is_known = name_id < n->name_count;
	struct results_name *kept = is_known ? &w->results.names[name_id] : NULL;
	if (kept && kept->text) {
		*ret_name = *kept;
		return 0;
	}
	snprintf(unnamed, sizeof(unnamed), "[string %u]", name_id);
	*ret_name = (struct results_name){.fact = kept ? kept->fact : FACT_NONE};
	int error = writing_text(w, is_known ? n->names[name_id] : unnamed, &ret_name->text);
	ncu_unit(is_known ? n->names[name_id] : "", unit);
	if (!error && *unit) {
		error = writing_text(w, unit, &ret_name->unit);
		ret_name->unit++;
	}
	ret_name->text++;
	if (!error && kept)
		*kept = *ret_name;
	return error;
}

static int instances_put(struct writing *w, const Ncu__ProfileMetricResult *m)
{
	struct page_value v[VALUES_MAX] = {
		of_number((int64_t)w->results.tables[OF_METRIC].last_rowid)};
	int error = 0;
	for (size_t i = 0; !error && i < m->n_metric_value_list; i++) {
		error = of_value(w, m->metric_value_list[i]->correlation_id, &v[1]);
		if (!error)
			error = of_value(w, m->metric_value_list[i]->element_value, &v[2]);
		if (!error)
			error = row_put(w, OF_INSTANCE, v);
	}
	return error;
}

static int metric_put(struct writing *w, const Ncu__ProfileMetricResult *m)
{
	struct results_name name;
	int error = name_find(w, m->name_id, &name);
	struct page_value v[VALUES_MAX] = {{.kind = PAGE_NULL}, result_id(w), of_id(name.text),
		of_id(name.unit), {.kind = PAGE_NULL},
		of_number(m->has_category && m->category == 1)};
	if (!error)
		error = of_value(w, m->metric_value, &v[4]);
	if (!error)
		error = row_put(w, OF_METRIC, v);
	return error ? error : instances_put(w, m);
}

static int metrics_put(struct writing *w, const Ncu__ProfileResult *result)
{
	int error = 0;
	for (size_t i = 0; !error && i < result->n_metric_results; i++)
		error = metric_put(w, result->metric_results[i]);
	return error;
}

/* The first value of each fact; a NULL where there is none. */
static int facts_read(struct writing *w, const Ncu__ProfileResult *result,
	struct page_value ret_facts[RESULT_FACTS])
{
	const struct results_writing *r = &w->results;
	int error = 0;
	memset(ret_facts, 0, RESULT_FACTS * sizeof(*ret_facts));
	for (size_t i = 0; !error && i < result->n_metric_results; i++) {
		const Ncu__ProfileMetricResult *m = result->metric_results[i];
		const uint8_t fact =
			m->name_id < r->results.name_count ? r->names[m->name_id].fact : FACT_NONE;
		if (fact && ret_facts[fact].kind == PAGE_NULL)
			error = of_value(w, m->metric_value, &ret_facts[fact]);
		if (!error && ret_facts[fact].kind == PAGE_TEXT)
			ret_facts[fact] = (struct page_value){.kind = PAGE_NULL};
	}
	return error;
}

/* ---- sections, rules, ranges, frames ---- */

static int sections_put(struct writing *w, const Ncu__ProfileResult *result)
{
	struct page_value v[VALUES_MAX] = {result_id(w)};
	int error = 0;
	for (size_t i = 0; !error && i < result->n_sections; i++) {
		const char *const texts[] = {
			result->sections[i]->identifier, result->sections[i]->display_name};
		error = of_texts(w, texts, 2, &v[1]);
		if (!error)
			error = row_put(w, OF_SECTION, v);
	}
	return error;
}

static const char *enum_name(const ProtobufCEnumDescriptor *type, int value)
{
	const ProtobufCEnumValue *v = protobuf_c_enum_descriptor_get_value(type, value);
	return v ? v->name : NULL;
}

/* A message, or what following a rule may gain; NULL: a rule without either. */
static int finding_put(
	struct writing *w, const Ncu__RuleResult *rule, const Ncu__RuleResultBodyItem *item)
{
	const Ncu__RuleResultMessage *m = item ? item->message : NULL;
	const Ncu__RuleResultSpeedup *s = item ? item->speedup : NULL;
	struct page_value v[VALUES_MAX] = {result_id(w)};
	const char *const texts[] = {rule->identifier, rule->display_name, rule->section_identifier,
		m ? enum_name(&ncu__rule_result_message__rule_result_message_type__descriptor,
			    (int)m->type)
		  : NULL,
		m ? m->name : NULL, m ? m->message : NULL,
		s ? enum_name(&ncu__rule_result_speedup__rule_result_speedup_type__descriptor,
			    (int)s->speedup_type)
		  : NULL};
	int error = of_texts(w, texts, 7, &v[1]);
	v[8] = s ? of_real(s->value) : (struct page_value){.kind = PAGE_NULL};
	return error ? error : row_put(w, OF_RULE, v);
}

static int rules_put(struct writing *w, const Ncu__ProfileResult *result)
{
	int error = 0;
	for (size_t i = 0; !error && i < result->n_rule_results; i++) {
		const Ncu__RuleResult *rule = result->rule_results[i];
		bool any = false;
		for (size_t k = 0; !error && rule->body && k < rule->body->n_items; k++) {
			const Ncu__RuleResultBodyItem *item = rule->body->items[k];
			if (!item->message && !item->speedup)
				continue;
			any = true;
			error = finding_put(w, rule, item);
		}
		if (!error && !any)
			error = finding_put(w, rule, NULL);
	}
	return error;
}

static int range_put(struct writing *w, struct ncu_nvtx_names *names, bool pushed,
	int64_t global_tid, uint64_t domain, size_t depth, const char *name)
{
	const char *texts[] = {pushed ? "PushPop" : "StartEnd"};
	struct page_value v[VALUES_MAX] = {result_id(w)};
	int error = of_texts(w, texts, 1, &v[1]);
	v[2] = of_number(global_tid);
	if (!error)
		error = results_text(w, ncu_nvtx_domain(names, domain), &v[3]);
	v[4] = pushed ? of_number((int64_t)depth) : (struct page_value){.kind = PAGE_NULL};
	if (!error)
		error = results_text(w, name, &v[5]);
	return error ? error : row_put(w, OF_RANGE, v);
}

static int stacks_put(struct writing *w, struct ncu_nvtx_names *names, const Ncu__NvtxThread *t,
	int64_t global_pid)
{
	int error = 0;
	for (size_t i = 0; i < t->n_push_pop_domains; i++)
		for (size_t k = 0; !error && k < t->push_pop_domains[i]->n_stack; k++)
			error = range_put(w, names, true, global_pid | (t->tid & 0xffffff),
				t->push_pop_domains[i]->id, k,
				t->push_pop_domains[i]->stack[k]->name);
	return error;
}

static int ranges_put(struct writing *w, const Ncu__ProfileResult *result, int64_t global_pid)
{
	const Ncu__NvtxState *s = result->nvtx;
	struct ncu_nvtx_names names;
	int error = 0;
	ncu_nvtx_names_init(&names, s);
	for (size_t i = 0; !error && s && i < s->n_threads; i++)
		error = stacks_put(w, &names, s->threads[i], global_pid);
	for (size_t i = 0; s && i < s->n_start_end_domains; i++) {
		const Ncu__NvtxStartEndDomain *d = s->start_end_domains[i];
		for (size_t k = 0; !error && k < d->n_ranges; k++)
			error = range_put(w, &names, false,
				global_pid | (d->ranges[k]->start_tid & 0xffffff), d->id, 0,
				d->ranges[k]->name);
	}
	ncu_nvtx_names_release(&names);
	return error;
}

static int frames_put(struct writing *w, const Ncu__ProfileResult *result)
{
	const Ncu__CpuStacktraceStackMessage *s = result->cpu_stack;
	struct page_value v[VALUES_MAX] = {result_id(w)};
	int error = 0;
	for (size_t i = 0; !error && s && i < s->n_frames; i++) {
		const Ncu__CpuStacktraceStackFrameMessage *f = s->frames[i];
		const char *const texts[] = {f->func_name, f->module_name, f->file_name};
		v[1] = of_number((int64_t)i);
		v[2] = of_u64(f->pc);
		error = of_texts(w, texts, 3, &v[3]);
		v[6] = of_number(f->line);
		if (!error)
			error = row_put(w, OF_FRAME, v);
	}
	return error;
}

/* ---- results ---- */

/* What both tables say of a launch. */
struct launch {
	int64_t global_pid;
	enum ncu_entry_kind workload;
	struct page_value demangled, base, mangled; /* ids of texts */
	struct page_value grid[3], block[3];
	struct page_value facts[RESULT_FACTS];
};

static void dim_read(const Ncu__Uint64x3 *dim, struct page_value ret_dim[3])
{
	const uint64_t axes[] = {dim ? dim->x : 0, dim ? dim->y : 0, dim ? dim->z : 0};
	for (size_t i = 0; i < 3; i++)
		ret_dim[i] = of_u64(axes[i]);
}

static int64_t global_pid_of(const struct writing *w, size_t i)
{
	const struct ncu_results *n = &w->results.results;
	return w->vid | (int64_t)(n->processes[n->entries[i].process].pid & 0xffffff) << 24;
}

static int launch_read(
	struct writing *w, size_t i, const Ncu__ProfileResult *result, struct launch *l)
{
	*l = (struct launch){.global_pid = global_pid_of(w, i),
		.workload = (enum ncu_entry_kind)w->results.results.entries[i].kind};
	int error = text_id(w, ncu_kernel_name(result), &l->demangled);
	if (!error)
		error = text_id(w, result->kernel_function_name, &l->base);
	if (!error)
		error = text_id(w, result->kernel_mangled_name, &l->mangled);
	if (l->workload == NCU_RESULT) {
		dim_read(result->grid_size, l->grid);
		dim_read(result->block_size, l->block);
	}
	return error ? error : facts_read(w, result, l->facts);
}

/* When the kernel began: in the second in which its result was made, behind the one before. */
static uint64_t start_of(const struct writing *w, const Ncu__ProfileResult *result)
{
	const uint64_t second = 1000000000u;
	uint64_t start_ns = 0;
	if (result->creation_time > TIME_MAX_NS / second)
		start_ns = TIME_MAX_NS;
	else if (result->creation_time * second > w->base_real_ns)
		start_ns = result->creation_time * second - w->base_real_ns;
	return start_ns > w->results.end_ns ? start_ns : w->results.end_ns;
}

/* A fact where the column must not be NULL. */
static struct page_value fact_or_0(const struct launch *l, enum result_fact fact)
{
	const struct page_value *v = &l->facts[fact];
	if (v->kind == PAGE_REAL)
		return of_number(
			v->real >= 0 && v->real < (double)TIME_MAX_NS ? llround(v->real) : 0);
	return of_number(v->kind == PAGE_INTEGER ? v->integer : 0);
}

/* Its row among the kernels that were timed. */
static int kernel_put(struct writing *w, const Ncu__ProfileResult *result, const struct launch *l)
{
	struct results_writing *r = &w->results;
	struct page_value v[NSYS_COLUMNS];
	const uint64_t start_ns = start_of(w, result);
	const uint64_t duration_ns = (uint64_t)fact_or_0(l, FACT_DURATION).integer;
	const uint64_t end_ns = start_ns + (duration_ns < TIME_MAX_NS ? duration_ns : 0);
	const struct page_value places[KERNEL_PLACES] = {
		[KERNEL_START] = of_u64(start_ns),
		[KERNEL_END] = of_u64(end_ns),
		[KERNEL_DEVICE] = fact_or_0(l, FACT_DEVICE),
		[KERNEL_CONTEXT] = of_number(result->context_id),
		[KERNEL_STREAM] = of_number(result->stream_id),
		[KERNEL_PID] = of_number(l->global_pid),
		[KERNEL_DEMANGLED] = l->demangled,
		[KERNEL_SHORT] = l->base,
		[KERNEL_MANGLED] = l->mangled,
		[KERNEL_REGISTERS] = fact_or_0(l, FACT_REGISTERS),
		[KERNEL_GRID_X] = l->grid[0],
		[KERNEL_GRID_Y] = l->grid[1],
		[KERNEL_GRID_Z] = l->grid[2],
		[KERNEL_BLOCK_X] = l->block[0],
		[KERNEL_BLOCK_Y] = l->block[1],
		[KERNEL_BLOCK_Z] = l->block[2],
		[KERNEL_STATIC_SHARED] = fact_or_0(l, FACT_STATIC_SHARED),
		[KERNEL_DYNAMIC_SHARED] = fact_or_0(l, FACT_DYNAMIC_SHARED),
		[KERNEL_LOCAL_PER_THREAD] = of_number(0),
		[KERNEL_LOCAL_TOTAL] = of_number(0),
		[KERNEL_GRID_ID] = result_id(w),
		[KERNEL_TENSOR] = {.kind = PAGE_TEXT, .bytes = 2, .text = "[]"},
	};
	memset(v, 0, sizeof(v));
	for (size_t i = 0; i < KERNEL_PLACES; i++)
		v[r->kernel_places[i]] = places[i];
	int error = page_table_values(&w->tables[NSYS_CUPTI_ACTIVITY_KIND_KERNEL], 0, v);
	w->output_failed |= error != 0;
	r->end_ns = end_ns;
	if ((int64_t)end_ns > w->last_ns)
		w->last_ns = (int64_t)end_ns;
	return error;
}

static int launch_put(struct writing *w, const Ncu__ProfileResult *result, const struct launch *l)
{
	const struct page_table *kernels = &w->tables[NSYS_CUPTI_ACTIVITY_KIND_KERNEL];
	const bool is_kernel = l->workload == NCU_RESULT;
	const bool was_timed = is_kernel && l->facts[FACT_DURATION].kind != PAGE_NULL;
	const struct page_value none = {.kind = PAGE_NULL};
	const char *workload = ncu_workload_name(l->workload);
	w->results.tally.untimed += is_kernel && !was_timed;
	int error = was_timed ? kernel_put(w, result, l) : 0;
	struct page_value v[VALUES_MAX] = {none, /* the row's id */
		was_timed ? of_number((int64_t)kernels->last_rowid) : none,
		of_number(l->global_pid | (result->thread_id & 0xffffff)), l->facts[FACT_DEVICE],
		of_number(result->context_id),
		is_kernel || result->has_stream_id ? of_number(result->stream_id) : none,
		of_u64(result->api_call_id), l->demangled, l->base, l->mangled, l->grid[0],
		l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
		l->facts[FACT_DURATION],
		result->has_creation_time ? of_u64(result->creation_time) : none,
		{PAGE_TEXT, (uint32_t)strlen(workload), {.text = workload}}};
	return error ? error : row_put(w, OF_RESULT, v);
}

int results_row(struct writing *w, size_t i, const Ncu__ProfileResult *result)
{
	struct launch l;
	int error = launch_read(w, i, result, &l);
	if (!error && !w->job->kernels_only)
		error = metrics_put(w, result);
	if (!error)
		error = sections_put(w, result);
	if (!error)
		error = rules_put(w, result);
	if (!error)
		error = ranges_put(w, result, l.global_pid);
	if (!error)
		error = frames_put(w, result);
	return error ? error : launch_put(w, result, &l);
}
