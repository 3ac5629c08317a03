/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_ncu_rewrite.c - tests of rewriting reports of Nsight Compute (SHARED/fixtures/ncu).
 *
 * A report that is unpacked and packed again has the same bytes. New names, changed results and
 * dropped results are found when the new report is read.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "reader/ncu/metrics.h"
#include "reader/ncu/rewrite.h"
#include "reader/report/contents.h"
#include "tests/unit/tap.h"

struct opened {
	struct report report;
	struct contents contents;
	struct ncu_results results;
	uint64_t problems;
};

static int note_block(void *user, const struct report_block *block)
{
	struct opened *o = user;
	const char *cause;
	int error = ncu_results_note(&o->results, block, &cause);
	o->problems += error == -EBADMSG;
	return error == -EBADMSG ? 0 : error;
}

static void note_problem(void *user, uint64_t offset, const char *cause)
{
	(void)offset;
	(void)cause;
	((struct opened *)user)->problems++;
}

static bool contents_take(struct opened *o)
{
	const struct contents_visitor visitor = {o, note_block, NULL, note_problem};
	contents_init(&o->contents);
	ncu_results_init(&o->results, &o->report);
	return !contents_read(&o->contents, &o->report, &visitor) && !o->problems;
}

static void opened_close(struct opened *o)
{
	ncu_results_release(&o->results);
	contents_release(&o->contents);
	report_close(&o->report);
}

static int all_changed(void *user, size_t i, Ncu__ProfileResult *r)
{
	(void)user;
	(void)i;
	(void)r;
	return NCU_CHANGED;
}

static int odd_dropped(void *user, size_t i, Ncu__ProfileResult *r)
{
	(void)user;
	(void)r;
	return i % 2 ? NCU_DROP : NCU_KEEP;
}

/* Give each result a metric of the first new name. */
static int metric_added(void *user, size_t i, Ncu__ProfileResult *r)
{
	const struct ncu_results *n = user;
	Ncu__ProfileMetricResult *m = malloc(sizeof(*m));
	Ncu__ProfileMetricValue *v = malloc(sizeof(*v));
	Ncu__ProfileMetricResult **all = reallocarray(
		r->metric_results, r->n_metric_results + 1, sizeof(*r->metric_results));
	if (!m || !v || !all)
		return -ENOMEM;
	ncu__profile_metric_result__init(m);
	ncu__profile_metric_value__init(v);
	v->has_double_value = 1;
	v->double_value = 1000 + (double)i;
	m->has_name_id = 1;
	m->name_id = (uint32_t)n->name_count;
	m->metric_value = v;
	r->metric_results = all;
	r->metric_results[r->n_metric_results++] = m;
	return NCU_CHANGED;
}

static int rewritten(
	const struct opened *o, struct ncu_rewrite *w, char **ret_data, size_t *ret_bytes)
{
	const char *cause;
	FILE *out = open_memstream(ret_data, ret_bytes);
	w->results = &o->results;
	int error = out ? ncu_rewrite(w, out, &cause) : -ENOMEM;
	if (out)
		fclose(out);
	return error;
}

static bool is_same(const struct opened *o, const char *data, size_t bytes)
{
	char *whole = malloc(bytes + 1);
	bool same = whole && bytes == o->report.source.size &&
		!source_read(&o->report.source, 0, whole, bytes) && !memcmp(whole, data, bytes);
	free(whole);
	return same;
}

/* Read the report in `data`; count its results, and those that have the metric of the first new
 * name. */
static void read_again(const char *data, size_t bytes, size_t *ret_results, size_t *ret_metrics)
{
	static struct opened again;
	const char *cause;
	*ret_results = *ret_metrics = 0;
	memset(&again, 0, sizeof(again));
	if (report_open_memory(&again.report, data, bytes, &cause) || !contents_take(&again))
		return;
	for (size_t i = 0; i < again.results.count; i++) {
		Ncu__ProfileResult *r;
		double number = 0;
		if (ncu_result_read(&again.results, i, &r))
			continue;
		const Ncu__ProfileMetricResult *m =
			ncu_metric_find(&again.results, r, "added__metric.sum");
		++*ret_results;
		*ret_metrics += m && ncu_value_number(m->metric_value, &number) && number >= 1000;
		ncu__profile_result__free_unpacked(r, NULL);
	}
	opened_close(&again);
}

static void one_report(const char *path)
{
	static struct opened o;
	static const char *const names[] = {"added__metric.sum", "added__other"};
	const char *cause, *name = strrchr(path, '/') + 1;
	char *data = NULL;
	size_t bytes, results, metrics;
	memset(&o, 0, sizeof(o));
	if (report_open(&o.report, path, 0, &cause) || !contents_take(&o)) {
		check(false, "%s: the report opens", name);
		return;
	}
	struct ncu_rewrite w = {.judge = NULL};
	check(!rewritten(&o, &w, &data, &bytes) && is_same(&o, data, bytes),
		"%s: an unchanged copy has the same bytes", name);
	free(data);
	w.judge = all_changed;
	check(!rewritten(&o, &w, &data, &bytes) && is_same(&o, data, bytes),
		"%s: headers and results unpacked and packed again are the same %zu bytes", name,
		bytes);
	free(data);
	w.judge = odd_dropped;
	check(!rewritten(&o, &w, &data, &bytes), "%s: results can be left out", name);
	read_again(data, bytes, &results, &metrics);
	check(results == (o.results.count + 1) / 2, "%s: every second result remains: %zu", name,
		results);
	free(data);
	w = (struct ncu_rewrite){
		.judge = metric_added, .user = &o.results, .names = names, .name_count = 2};
	check(!rewritten(&o, &w, &data, &bytes), "%s: a metric can be added", name);
	read_again(data, bytes, &results, &metrics);
	check(results == o.results.count && metrics == results,
		"%s: the added metric is found in %zu of %zu results", name, metrics, results);
	free(data);
	opened_close(&o);
}

int main(void)
{
	char pattern[4096];
	glob_t found;
	const char *shared = getenv("SHARED");
	snprintf(pattern, sizeof(pattern), "%s/fixtures/ncu/*.ncu-rep", shared ? shared : "");
	if (glob(pattern, 0, NULL, &found)) {
		check(true, "reports of Nsight Compute written anew # SKIP no fixtures");
		return tap_done();
	}
	for (size_t i = 0; i < found.gl_pathc; i++)
		one_report(found.gl_pathv[i]);
	globfree(&found);
	return tap_done();
}
