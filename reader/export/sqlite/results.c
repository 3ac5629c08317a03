/* SPDX-License-Identifier: Apache-2.0 */
/* results.c - rows of kernel results. */
#include "reader/export/sqlite/results.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/export/sqlite/export_state.h"
#include "reader/ncu/metrics.h"
#include "reader/ncu/nvtx_match.h"
#include "reader/ncu/nvtx_names.h"
#include "reader/ncu/workload.h"

#define VALUES_MAX 19u              /* columns of the widest table of libtrace */
#define TIME_MAX_NS (INT64_MAX / 4) /* later times of a hostile report are reduced to this */

/* The columns are filled by index. */
static const struct {
	const char *name, *columns;
} tables[RESULTS_TABLES] = {
	[OF_RESULT] = {"LIBTRACE_NCU_RESULT",
		"id INTEGER NOT NULL PRIMARY KEY, kernelId INTEGER, globalTid INTEGER, "
		"deviceId INTEGER, contextId INTEGER, streamId INTEGER, apiCallId INTEGER, "
		"demangledName INTEGER, shortName INTEGER, mangledName INTEGER, gridX INTEGER, "
		"gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, "
		"duration REAL, creationTime INTEGER, workload TEXT NOT NULL"},
	[OF_METRIC] = {"LIBTRACE_NCU_METRIC",
		"id INTEGER NOT NULL PRIMARY KEY, resultId INTEGER NOT NULL, "
		"nameId INTEGER NOT NULL, unitId INTEGER, value, isSeries INTEGER NOT NULL, "
		"isStored INTEGER NOT NULL"},
	[OF_INSTANCE] = {"LIBTRACE_NCU_INSTANCE", "metricId INTEGER NOT NULL, key, value"},
	[OF_SECTION] = {"LIBTRACE_NCU_SECTION",
		"resultId INTEGER NOT NULL, identifier TEXT, name TEXT"},
	[OF_RULE] = {"LIBTRACE_NCU_RULE",
		"resultId INTEGER NOT NULL, identifier TEXT, name TEXT, section TEXT, type TEXT, "
		"title TEXT, message TEXT, speedupType TEXT, speedup REAL"},
	[OF_RANGE] = {"LIBTRACE_NCU_RANGE",
		"resultId INTEGER NOT NULL, style TEXT NOT NULL, globalTid INTEGER, domain TEXT, "
		"depth INTEGER, name TEXT"},
	[OF_FRAME] = {"LIBTRACE_NCU_FRAME",
		"resultId INTEGER NOT NULL, stackDepth INTEGER NOT NULL, address INTEGER, "
		"symbol TEXT, module TEXT, file TEXT, line INTEGER"},
};

static const char *const fact_metrics[RESULT_FACTS] = {
	[FACT_DURATION] = "gpu__time_duration.sum",
	[FACT_DEVICE] = "device__attribute_device_index",
	[FACT_REGISTERS] = "launch__registers_per_thread",
	[FACT_STATIC_SHARED] = "launch__shared_mem_per_block_static",
	[FACT_DYNAMIC_SHARED] = "launch__shared_mem_per_block_dynamic",
};

static const char *const kernel_columns[KERNEL_COLUMNS] = {
	[KERNEL_START] = "start",
	[KERNEL_END] = "end",
	[KERNEL_DEVICE] = "deviceId",
	[KERNEL_CONTEXT] = "contextId",
	[KERNEL_STREAM] = "streamId",
	[KERNEL_PID] = "globalPid",
	[KERNEL_DEMANGLED] = "demangledName",
	[KERNEL_SHORT] = "shortName",
	[KERNEL_MANGLED] = "mangledName",
	[KERNEL_REGISTERS] = "registersPerThread",
	[KERNEL_GRID_X] = "gridX",
	[KERNEL_GRID_Y] = "gridY",
	[KERNEL_GRID_Z] = "gridZ",
	[KERNEL_BLOCK_X] = "blockX",
	[KERNEL_BLOCK_Y] = "blockY",
	[KERNEL_BLOCK_Z] = "blockZ",
	[KERNEL_STATIC_SHARED] = "staticSharedMemory",
	[KERNEL_DYNAMIC_SHARED] = "dynamicSharedMemory",
	[KERNEL_LOCAL_PER_THREAD] = "localMemoryPerThread",
	[KERNEL_LOCAL_TOTAL] = "localMemoryTotal",
	[KERNEL_GRID_ID] = "gridId",
	[KERNEL_TENSOR] = "tensorSizeMinusOneElements",
};

/* ---- tables ---- */

int results_begin(struct sqlite_export *x)
{
	struct ncu_rows *r = &x->results;
	int error = 0;
	for (size_t i = 0; i < KERNEL_COLUMNS; i++) {
		r->kernel_columns[i] =
			nsys_column(NSYS_CUPTI_ACTIVITY_KIND_KERNEL, kernel_columns[i]);
		if (r->kernel_columns[i] < 0)
			return -EINVAL;
	}
	for (size_t i = 0; !error && i < RESULTS_TABLES; i++)
		error = bulk_table_begin(
			&r->tables[i], &x->database, tables[i].name, tables[i].columns);
	return error;
}

int results_end(struct ncu_rows *r)
{
	int error = 0;
	for (size_t i = 0; !error && i < RESULTS_TABLES; i++)
		error = bulk_table_end(&r->tables[i]);
	return error;
}

void results_release(struct ncu_rows *r)
{
	for (size_t i = 0; i < RESULTS_TABLES; i++)
		bulk_table_release(&r->tables[i]);
}

/* ---- values ---- */

static struct cell of_number(int64_t number)
{
	return (struct cell){.kind = CELL_INTEGER, .integer = number};
}

static struct cell of_real(double real)
{
	return (struct cell){.kind = isnan(real) ? CELL_NULL : CELL_REAL, .real = real};
}

static struct cell of_u64(uint64_t number)
{
	return number <= INT64_MAX ? of_number((int64_t)number) : of_real((double)number);
}

static struct cell of_id(uint32_t id_plus_1)
{
	return (struct cell){
		.kind = id_plus_1 ? CELL_INTEGER : CELL_NULL, .integer = (int64_t)id_plus_1 - 1};
}

static int of_texts(
	struct sqlite_export *x, const char *const *texts, size_t count, struct cell *values)
{
	int error = 0;
	for (size_t i = 0; !error && i < count; i++)
		error = text_cell(&x->texts, texts[i], &values[i]);
	return error;
}

static int of_value(struct sqlite_export *x, const Ncu__ProfileMetricValue *from, struct cell *v)
{
	*v = (struct cell){.kind = CELL_NULL};
	if (!from)
		return 0;
	if (from->string_value)
		return text_cell(&x->texts, from->string_value, v);
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

static int row_put(struct sqlite_export *x, enum results_table table, const struct cell *values)
{
	int error = bulk_table_row(&x->results.tables[table], values);
	return error;
}

/* Return the id of the current result, whose own row is added last. */
static struct cell result_id(const struct sqlite_export *x)
{
	return of_number((int64_t)x->results.tables[OF_RESULT].rows + 1);
}

/* ---- metrics ---- */

/* Find the ids of the name and unit of a metric. */
static int name_find(struct sqlite_export *x, uint32_t name_id, struct results_name *ret_name)
{
	const struct ncu_results *n = &x->results.results;
	char unnamed[32], unit[NCU_UNIT_BYTES];
	const bool is_known = name_id < n->name_count;
	struct results_name *kept = is_known ? &x->results.names[name_id] : NULL;
	if (kept && kept->text) {
		*ret_name = *kept;
		return 0;
	}
	snprintf(unnamed, sizeof(unnamed), "[string %u]", name_id);
	*ret_name = (struct results_name){.fact = kept ? kept->fact : FACT_NONE};
	int error = text_id(&x->texts, is_known ? n->names[name_id] : unnamed, &ret_name->text);
	ncu_unit(is_known ? n->names[name_id] : "", unit);
	if (!error && *unit) {
		error = text_id(&x->texts, unit, &ret_name->unit);
		ret_name->unit++;
	}
	ret_name->text++;
	if (!error && kept)
		*kept = *ret_name;
	return error;
}

static int instances_put(struct sqlite_export *x, const Ncu__ProfileMetricResult *m)
{
	struct cell v[VALUES_MAX] = {of_number((int64_t)x->results.tables[OF_METRIC].rows)};
	int error = 0;
	for (size_t i = 0; !error && i < m->n_metric_value_list; i++) {
		error = of_value(x, m->metric_value_list[i]->correlation_id, &v[1]);
		if (!error)
			error = of_value(x, m->metric_value_list[i]->element_value, &v[2]);
		if (!error)
			error = row_put(x, OF_INSTANCE, v);
	}
	return error;
}

/* Return the value to write for a metric that has only instances: 0 if they are numbers, as in ncu;
 * else NULL. */
static struct cell value_of_instances(const Ncu__ProfileMetricResult *m)
{
	const Ncu__ProfileMetricValue *first =
		m->n_metric_value_list ? m->metric_value_list[0]->element_value : NULL;
	if (first && (first->has_double_value || first->has_float_value))
		return of_real(0);
	return first && (first->has_uint64_value || first->has_uint32_value)
		? of_number(0)
		: (struct cell){.kind = CELL_NULL};
}

static int metric_put(struct sqlite_export *x, const Ncu__ProfileMetricResult *m)
{
	struct results_name name;
	int error = name_find(x, m->name_id, &name);
	struct cell v[VALUES_MAX] = {{.kind = CELL_NULL}, result_id(x), of_id(name.text),
		of_id(name.unit), {.kind = CELL_NULL},
		of_number(m->has_category && m->category == 1), of_number(m->metric_value != NULL)};
	if (!error)
		error = of_value(x, m->metric_value, &v[4]);
	if (!m->metric_value)
		v[4] = value_of_instances(m);
	if (!error)
		error = row_put(x, OF_METRIC, v);
	return error ? error : instances_put(x, m);
}

static int metrics_put(struct sqlite_export *x, const Ncu__ProfileResult *result)
{
	int error = 0;
	for (size_t i = 0; !error && i < result->n_metric_results; i++)
		error = metric_put(x, result->metric_results[i]);
	return error;
}

/* Read the first value of each fact; a result may contain a metric several times. CELL_NULL = the
 * result has no such fact. */
static int facts_read(struct sqlite_export *x, const Ncu__ProfileResult *result,
	struct cell ret_facts[RESULT_FACTS])
{
	const struct ncu_rows *r = &x->results;
	int error = 0;
	memset(ret_facts, 0, RESULT_FACTS * sizeof(*ret_facts));
	for (size_t i = 0; !error && i < result->n_metric_results; i++) {
		const Ncu__ProfileMetricResult *m = result->metric_results[i];
		const uint8_t fact =
			m->name_id < r->results.name_count ? r->names[m->name_id].fact : FACT_NONE;
		if (fact && ret_facts[fact].kind == CELL_NULL)
			error = of_value(x, m->metric_value, &ret_facts[fact]);
		if (!error && ret_facts[fact].kind == CELL_TEXT)
			ret_facts[fact] = (struct cell){.kind = CELL_NULL};
	}
	return error;
}

/* ---- sections, rules, ranges, frames ---- */

static int sections_put(struct sqlite_export *x, const Ncu__ProfileResult *result)
{
	struct cell v[VALUES_MAX] = {result_id(x)};
	int error = 0;
	for (size_t i = 0; !error && i < result->n_sections; i++) {
		const char *const texts[] = {
			result->sections[i]->identifier, result->sections[i]->display_name};
		error = of_texts(x, texts, 2, &v[1]);
		if (!error)
			error = row_put(x, OF_SECTION, v);
	}
	return error;
}

static const char *enum_name(const ProtobufCEnumDescriptor *type, int value)
{
	const ProtobufCEnumValue *v = protobuf_c_enum_descriptor_get_value(type, value);
	return v ? v->name : NULL;
}

/* Add a message or an estimated speedup of a rule. `item` NULL = the rule has
 * neither. */
static int finding_put(
	struct sqlite_export *x, const Ncu__RuleResult *rule, const Ncu__RuleResultBodyItem *item)
{
	const Ncu__RuleResultMessage *m = item ? item->message : NULL;
	const Ncu__RuleResultSpeedup *s = item ? item->speedup : NULL;
	struct cell v[VALUES_MAX] = {result_id(x)};
	const char *const texts[] = {rule->identifier, rule->display_name, rule->section_identifier,
		m ? enum_name(&ncu__rule_result_message__rule_result_message_type__descriptor,
			    (int)m->type)
		  : NULL,
		m ? m->name : NULL, m ? m->message : NULL,
		s ? enum_name(&ncu__rule_result_speedup__rule_result_speedup_type__descriptor,
			    (int)s->speedup_type)
		  : NULL};
	int error = of_texts(x, texts, 7, &v[1]);
	v[8] = s ? of_real(s->value) : (struct cell){.kind = CELL_NULL};
	return error ? error : row_put(x, OF_RULE, v);
}

static int rules_put(struct sqlite_export *x, const Ncu__ProfileResult *result)
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
			error = finding_put(x, rule, item);
		}
		if (!error && !any)
			error = finding_put(x, rule, NULL);
	}
	return error;
}

static int range_put(struct sqlite_export *x, struct ncu_nvtx_names *names, bool pushed,
	int64_t global_tid, uint64_t domain, size_t depth, const char *name)
{
	const char *texts[] = {pushed ? "PushPop" : "StartEnd"};
	struct cell v[VALUES_MAX] = {result_id(x)};
	int error = of_texts(x, texts, 1, &v[1]);
	v[2] = of_number(global_tid);
	if (!error)
		error = text_cell(&x->texts, ncu_nvtx_domain(names, domain), &v[3]);
	v[4] = pushed ? of_number((int64_t)depth) : (struct cell){.kind = CELL_NULL};
	if (!error)
		error = text_cell(&x->texts, name, &v[5]);
	return error ? error : row_put(x, OF_RANGE, v);
}

static int stacks_put(struct sqlite_export *x, struct ncu_nvtx_names *names,
	const Ncu__NvtxThread *t, int64_t global_pid)
{
	int error = 0;
	for (size_t i = 0; i < t->n_push_pop_domains; i++)
		for (size_t k = 0; !error && k < t->push_pop_domains[i]->n_stack; k++)
			error = range_put(x, names, true, global_pid | (t->tid & 0xffffff),
				t->push_pop_domains[i]->id, k,
				t->push_pop_domains[i]->stack[k]->name);
	return error;
}

static int ranges_put(struct sqlite_export *x, const Ncu__ProfileResult *result, int64_t global_pid)
{
	const Ncu__NvtxState *s = result->nvtx;
	struct ncu_nvtx_names names;
	int error = 0;
	ncu_nvtx_names_init(&names, s);
	for (size_t i = 0; !error && s && i < s->n_threads; i++)
		error = stacks_put(x, &names, s->threads[i], global_pid);
	for (size_t i = 0; s && i < s->n_start_end_domains; i++) {
		const Ncu__NvtxStartEndDomain *d = s->start_end_domains[i];
		for (size_t k = 0; !error && k < d->n_ranges; k++)
			error = range_put(x, &names, false,
				global_pid | (d->ranges[k]->start_tid & 0xffffff), d->id, 0,
				d->ranges[k]->name);
	}
	ncu_nvtx_names_release(&names);
	return error;
}

static int frames_put(struct sqlite_export *x, const Ncu__ProfileResult *result)
{
	const Ncu__CpuStacktraceStackMessage *s = result->cpu_stack;
	struct cell v[VALUES_MAX] = {result_id(x)};
	int error = 0;
	for (size_t i = 0; !error && s && i < s->n_frames; i++) {
		const Ncu__CpuStacktraceStackFrameMessage *f = s->frames[i];
		const char *const texts[] = {f->func_name, f->module_name, f->file_name};
		v[1] = of_number((int64_t)i);
		v[2] = of_u64(f->pc);
		error = of_texts(x, texts, 3, &v[3]);
		v[6] = of_number(f->line);
		if (!error)
			error = row_put(x, OF_FRAME, v);
	}
	return error;
}

/* ---- results ---- */

/* Values of a launch that both CUPTI_ACTIVITY_KIND_KERNEL and LIBTRACE_NCU_RESULT contain. */
struct launch {
	int64_t global_pid;
	enum ncu_entry_kind workload;
	struct cell demangled, base, mangled; /* text ids */
	struct cell grid[3], block[3];
	struct cell facts[RESULT_FACTS];
};

static void dim_read(const Ncu__Uint64x3 *dim, struct cell ret_dim[3])
{
	const uint64_t axes[] = {dim ? dim->x : 0, dim ? dim->y : 0, dim ? dim->z : 0};
	for (size_t i = 0; i < 3; i++)
		ret_dim[i] = of_u64(axes[i]);
}

static int64_t global_pid_of(const struct sqlite_export *x, size_t i)
{
	const struct ncu_results *n = &x->results.results;
	return x->threads.vid | (int64_t)(n->processes[n->entries[i].process].pid & 0xffffff) << 24;
}

/* Set the text id of a name; a missing name is empty. */
static int name_id_cell(struct sqlite_export *x, const char *name, struct cell *cell)
{
	return text_id_cell(&x->texts, name ? name : "", cell);
}

static int launch_read(
	struct sqlite_export *x, size_t i, const Ncu__ProfileResult *result, struct launch *l)
{
	*l = (struct launch){.global_pid = global_pid_of(x, i),
		.workload = (enum ncu_entry_kind)x->results.results.entries[i].kind};
	int error = name_id_cell(x, ncu_kernel_name(result), &l->demangled);
	if (!error)
		error = name_id_cell(x, result->kernel_function_name, &l->base);
	if (!error)
		error = name_id_cell(x, result->kernel_mangled_name, &l->mangled);
	if (l->workload == NCU_RESULT) {
		dim_read(result->grid_size, l->grid);
		dim_read(result->block_size, l->block);
	}
	return error ? error : facts_read(x, result, l->facts);
}

/* Return the start of a kernel: the second in which its result was created, but not before the end
 * of the previous kernel. */
static uint64_t start_of(const struct sqlite_export *x, const Ncu__ProfileResult *result)
{
	const uint64_t second = 1000000000u;
	uint64_t start_ns = 0;
	if (result->creation_time > TIME_MAX_NS / second)
		start_ns = TIME_MAX_NS;
	else if (result->creation_time * second > x->clock.base_real_ns)
		start_ns = result->creation_time * second - x->clock.base_real_ns;
	return start_ns > x->results.end_ns ? start_ns : x->results.end_ns;
}

/* Return a fact for a column that must not be NULL. */
static struct cell fact_or_0(const struct launch *l, enum result_fact fact)
{
	const struct cell *v = &l->facts[fact];
	if (v->kind == CELL_REAL)
		return of_number(
			v->real >= 0 && v->real < (double)TIME_MAX_NS ? llround(v->real) : 0);
	return of_number(v->kind == CELL_INTEGER ? v->integer : 0);
}

/* Add the row of a kernel that has a duration. */
static int kernel_put(
	struct sqlite_export *x, const Ncu__ProfileResult *result, const struct launch *l)
{
	struct ncu_rows *r = &x->results;
	struct cell v[NSYS_COLUMNS];
	const uint64_t start_ns = start_of(x, result);
	const uint64_t duration_ns = (uint64_t)fact_or_0(l, FACT_DURATION).integer;
	const uint64_t end_ns = start_ns + (duration_ns < TIME_MAX_NS ? duration_ns : 0);
	const struct cell places[KERNEL_COLUMNS] = {
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
		[KERNEL_GRID_ID] = result_id(x),
		[KERNEL_TENSOR] = {.kind = CELL_TEXT, .bytes = 2, .text = "[]"},
	};
	memset(v, 0, sizeof(v));
	for (size_t i = 0; i < KERNEL_COLUMNS; i++)
		v[r->kernel_columns[i]] = places[i];
	int error = bulk_table_row(&x->nsys.tables[NSYS_CUPTI_ACTIVITY_KIND_KERNEL], v);
	r->end_ns = end_ns;
	if ((int64_t)end_ns > x->clock.last_ns)
		x->clock.last_ns = (int64_t)end_ns;
	return error;
}

static int launch_put(
	struct sqlite_export *x, const Ncu__ProfileResult *result, const struct launch *l)
{
	const struct bulk_table *kernels = &x->nsys.tables[NSYS_CUPTI_ACTIVITY_KIND_KERNEL];
	const bool is_kernel = l->workload == NCU_RESULT;
	const bool was_timed = is_kernel && l->facts[FACT_DURATION].kind != CELL_NULL;
	const struct cell none = {.kind = CELL_NULL};
	const char *workload = ncu_workload_name(l->workload);
	x->results.tally.untimed += is_kernel && !was_timed;
	int error = was_timed ? kernel_put(x, result, l) : 0;
	struct cell v[VALUES_MAX] = {none, /* id of the row */
		was_timed ? of_number((int64_t)kernels->rows) : none,
		of_number(l->global_pid | (result->thread_id & 0xffffff)), l->facts[FACT_DEVICE],
		of_number(result->context_id),
		is_kernel || result->has_stream_id ? of_number(result->stream_id) : none,
		of_u64(result->api_call_id), l->demangled, l->base, l->mangled, l->grid[0],
		l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
		l->facts[FACT_DURATION],
		result->has_creation_time ? of_u64(result->creation_time) : none,
		{CELL_TEXT, (uint32_t)strlen(workload), {.text = workload}}};
	return error ? error : row_put(x, OF_RESULT, v);
}

static int result_put(struct sqlite_export *x, size_t i, const Ncu__ProfileResult *result)
{
	struct launch l;
	int error = launch_read(x, i, result, &l);
	if (!error && !x->job->kernels_only)
		error = metrics_put(x, result);
	if (!error)
		error = sections_put(x, result);
	if (!error)
		error = rules_put(x, result);
	if (!error)
		error = ranges_put(x, result, l.global_pid);
	if (!error)
		error = frames_put(x, result);
	return error ? error : launch_put(x, result, &l);
}

/* ---- a report ---- */

void results_report_begin(struct ncu_rows *r, const struct report *report)
{
	ncu_results_init(&r->results, report);
	r->is_foreign = false;
	r->next = 0;
	r->end_ns = 0;
}

void results_report_end(struct ncu_rows *r)
{
	ncu_results_release(&r->results);
	free(r->names);
	free(r->facts_only);
	r->names = NULL;
	r->facts_only = NULL;
}

static void problem(const struct sqlite_export *x, uint64_t offset, const char *cause)
{
	const struct contents_visitor *v = &x->source->visitor;
	if (v->problem)
		v->problem(v->user, offset, cause);
}

int results_note(struct sqlite_export *x, const struct report_block *block)
{
	const char *cause;
	int error = ncu_results_note(&x->results.results, block, &cause);
	if (error != -EBADMSG)
		return error;
	problem(x, block->offset, cause);
	return 0;
}

static int facts_find(struct ncu_rows *r, bool only)
{
	struct ncu_results *n = &r->results;
	uint32_t ids[RESULT_FACTS];
	int error = 0;
	for (size_t i = FACT_NONE + 1; !error && i < RESULT_FACTS; i++)
		error = ncu_results_name(n, fact_metrics[i], &ids[i]);
	r->names = error ? NULL : calloc(n->name_count + 1, sizeof(*r->names));
	if (only)
		r->facts_only = calloc(n->name_count / 8 + 1, 1);
	if (!r->names || (only && !r->facts_only))
		return -ENOMEM;
	for (size_t i = FACT_NONE + 1; i < RESULT_FACTS; i++) {
		r->names[ids[i]].fact = (uint8_t)i;
		if (only)
			r->facts_only[ids[i] / 8] |= (uint8_t)(1u << ids[i] % 8);
	}
	return 0;
}

/* ---- devices ---- */

static const struct {
	const char *column, *attribute;
	uint32_t factor;
} device_columns[] = {
	{"isDiscrete", "integrated", 0}, /* 0: the value is negated */
	{"l2CacheSize", "l2_cache_size", 1},
	{"totalMemory", "total_memory", 1},
	{"clockRate", "clock_rate", 1000},
	{"smCount", "multiprocessor_count", 1},
	{"cuDevice", "device_index", 1},
	{"constantMemory", "total_constant_memory", 1},
	{"maxIPC", "max_ipc_per_multiprocessor", 1},
	{"maxRegistersPerBlock", "max_registers_per_block", 1},
	{"maxShmemPerBlock", "max_shared_memory_per_block", 1},
	{"maxShmemPerBlockOptin", "max_shared_memory_per_block_optin", 1},
	{"maxShmemPerSm", "max_shared_memory_per_multiprocessor", 1},
	{"maxRegistersPerSm", "max_registers_per_multiprocessor", 1},
	{"threadsPerWarp", "warp_size", 1},
	{"asyncEngines", "async_engine_count", 1},
	{"maxWarpsPerSm", "max_warps_per_multiprocessor", 1},
	{"maxBlocksPerSm", "max_blocks_per_multiprocessor", 1},
	{"maxThreadsPerBlock", "max_threads_per_block", 1},
	{"maxBlockDimX", "max_block_dim_x", 1},
	{"maxBlockDimY", "max_block_dim_y", 1},
	{"maxBlockDimZ", "max_block_dim_z", 1},
	{"maxGridDimX", "max_grid_dim_x", 1},
	{"maxGridDimY", "max_grid_dim_y", 1},
	{"maxGridDimZ", "max_grid_dim_z", 1},
	{"computeMajor", "compute_capability_major", 1},
	{"computeMinor", "compute_capability_minor", 1},
	{"smMajor", "compute_capability_major", 1},
	{"smMinor", "compute_capability_minor", 1},
};

static const Ncu__ProfileMetricValue *attribute_find(
	const Ncu__DeviceAttributes *device, const char *name)
{
	static const char prefix[] = "device__attribute_";
	for (size_t i = 0; i < device->n_attributes; i++) {
		const char *at = device->attributes[i]->name;
		if (at && !strncmp(at, prefix, sizeof(prefix) - 1))
			at += sizeof(prefix) - 1;
		if (at && !strcmp(at, name))
			return device->attributes[i]->value;
	}
	return NULL;
}

static void column_put(struct cell *values, const char *column, int64_t number)
{
	const int place = nsys_column(NSYS_TARGET_INFO_GPU, column);
	if (place >= 0)
		cell_set_number(&values[place], number);
}

static int device_put(struct sqlite_export *x, const Ncu__DeviceAttributes *device, uint32_t number)
{
	struct cell v[NSYS_COLUMNS], name;
	memset(v, 0, sizeof(v));
	uint32_t gpu = 0;
	int error = gpus_add(&x->cuda.gpus, (uint32_t)(x->source - x->job->sources), number, &gpu);
	if (!error)
		error = text_cell(&x->texts, device->name, &name);
	if (error)
		return error;
	column_put(v, "vmId", x->threads.vid);
	column_put(v, "id", cuda_gpu_unnumbered(gpu));
	v[nsys_column(NSYS_TARGET_INFO_GPU, "name")] = name;
	for (size_t i = 0; i < sizeof(device_columns) / sizeof(device_columns[0]); i++) {
		const Ncu__ProfileMetricValue *a =
			attribute_find(device, device_columns[i].attribute);
		const uint32_t factor = device_columns[i].factor;
		const uint64_t value = a && a->has_uint64_value ? a->uint64_value
			: a                                     ? a->uint32_value
								: 0;
		if (a && !a->string_value && value < INT64_MAX / 1000)
			column_put(v, device_columns[i].column,
				factor ? (int64_t)value * factor : !value);
	}
	return bulk_table_row(&x->nsys.tables[NSYS_TARGET_INFO_GPU], v);
}

static int devices_put(struct sqlite_export *x)
{
	const Libtrace__SessionDetails *d = x->contents.details;
	int error = 0;
	for (size_t i = 0; !error && d && i < d->n_device_attributes; i++)
		error = device_put(x, d->device_attributes[i], (uint32_t)i);
	return error;
}

/* Results are rows only in a report without traced processes, which has no events. In other
 * reports, launches are events, which are already rows. */
int results_ready(struct sqlite_export *x)
{
	struct ncu_rows *r = &x->results;
	r->is_foreign = !x->contents.session && r->results.count;
	int error = r->is_foreign ? facts_find(r, x->job->kernels_only) : 0;
	return error || !r->is_foreign ? error : devices_put(x);
}

static int entry_put(struct sqlite_export *x, size_t i)
{
	struct ncu_rows *r = &x->results;
	Ncu__ProfileResult *result;
	int error = r->facts_only ? ncu_result_read_some(&r->results, i, r->facts_only, &result)
				  : ncu_result_read(&r->results, i, &result);
	if (error == -EBADMSG)
		problem(x, r->results.entries[i].offset, "malformed result");
	if (error)
		return error == -EBADMSG ? 0 : error;
	error = ncu_metrics_settle(&r->results, result);
	r->tally.results++;
	if (x->job->nvtx && !ncu_nvtx_passes(x->job->nvtx, result->nvtx, result->thread_id))
		r->tally.left_out++;
	else if (!error)
		error = result_put(x, i, result);
	ncu__profile_result__free_unpacked(result, NULL);
	return error;
}

int results_rows(struct sqlite_export *x, const struct report_block *block)
{
	struct ncu_rows *r = &x->results;
	const struct ncu_results *n = &r->results;
	int error = 0;
	while (!error && r->is_foreign && r->next < n->count &&
		n->entries[r->next].offset < block->end)
		error = entry_put(x, r->next++);
	return error;
}

int results_processes(struct sqlite_export *x)
{
	const struct ncu_results *n = &x->results.results;
	int error = 0;
	for (size_t i = 0; !error && x->results.is_foreign && i < n->process_count; i++) {
		const struct ncu_process *p = &n->processes[i];
		const char *slash = strrchr(p->path, '/'), *back = strrchr(p->path, '\\');
		slash = back && (!slash || back > slash) ? back : slash; /* a path of Windows */
		error = database_row(&x->database, "PROCESSES", "iit",
			x->threads.vid | (int64_t)(p->pid & 0xffffff) << 24, (int64_t)p->pid,
			slash ? slash + 1 : p->path);
	}
	return error;
}
