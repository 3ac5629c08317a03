/* SPDX-License-Identifier: Apache-2.0 */
/*
 * details.h - the pages of `trace details`: what NVIDIA's `ncu --import --page` prints of a report,
 * in the same columns and numbers.
 *
 * A page is printed result by result, so memory follows one result, except that the raw page as CSV
 * needs the names of all metrics first. One thread.
 */
#ifndef READER_NCU_PAGES_DETAILS_H
#define READER_NCU_PAGES_DETAILS_H

#include <regex.h>

#include "reader/cli/base/csv.h"
#include "reader/ncu/pages/choice.h"
#include "reader/cli/base/input_state.h"
#include "reader/cli/base/options.h"
#include "reader/cli/base/select.h"
#include "reader/ncu/displayed_metrics.h"

enum details_base { BASE_FUNCTION, BASE_DEMANGLED, BASE_MANGLED };

/* A name or an expression of names; unset, it fits all. */
struct details_pattern {
	const char *text;
	regex_t regex;
	bool is_regex;
};

/* Which results are wanted (details_filter.c), and how many were met. */
struct details_filter {
	enum details_base base;
	struct details_pattern name, id_name, invocation;
	char *id_text; /* of --kernel-id, cut into its parts */
	bool has_id, has_context, has_stream;
	uint32_t context, stream;
	uint64_t skip_before_match, skip, count;
	const struct nvtx_filter *nvtx; /* NULL = none */
	uint64_t seen, matched, invocations;
	bool is_asked, any; /* of a result at all; one was wanted */
};

/* 0, or a negative errno after a message. */
int details_filter_set(struct details_filter *f, const struct options *o);
void details_filter_release(struct details_filter *f);

/* The kernel's name of that kind, "" without one. */
const char *details_name_by(enum details_base base, const Ncu__ProfileResult *result);

/* Asked for each result in order; ..._again() before another pass. */
bool details_wants(struct details_filter *f, const Ncu__ProfileResult *result);
void details_filter_again(struct details_filter *f);

enum details_part { PART_HEADER, PART_BODY, PART_ALL };
enum details_names { NAMES_LABEL, NAMES_NAME, NAMES_BOTH };
enum details_instances { INSTANCES_NONE, INSTANCES_VALUES, INSTANCES_DETAILS };
enum details_summary { SUMMARY_NONE, SUMMARY_KERNEL, SUMMARY_GPU, SUMMARY_NVTX };

enum details_view { SOURCE_SASS, SOURCE_PTX, SOURCE_CUDA, SOURCE_LINES };

struct details {
	struct cli_report r;
	struct contents contents;
	struct ncu_results results;
	bool csv;
	bool base_units, floating; /* units are not scaled; two digits behind the point always */
	bool rule_details, rename; /* focus metrics of rules; kernels get the name of their range */
	enum details_part part;
	enum details_names names;
	enum details_instances instances;
	enum details_summary summary;
	enum details_base kernel_base;
	struct details_filter filter;
	struct details_choice choice;
	const uint8_t *name_bits; /* of the metrics that are read, by NameId; NULL = all */
	enum details_view source_view;
	const char *source_files; /* --resolve-source-file, or NULL */
	FILE *out;
	/* Columns that CSV pages have only where needed; has_kernels: of grids and blocks. */
	bool has_kernels, has_nvtx, has_rules, has_speedups;
	size_t groups_shown;  /* of the session page */
	size_t process_shown; /* index + 1 of the one named last; 0 = none */
};

/* Each 0 or a negative errno. */
int details_session(struct details *d);
int details_raw(struct details *d);
int details_sections(struct details *d);
int details_summary(struct details *d, bool is_raw);
int details_source(struct details *d);
int details_listing(struct details *d);

/* ---- what the pages share (details_parts.c) ---- */

/* Calls `one` for each result that is wanted, `id` counting all. Stops at an error. */
typedef int details_visit(
	struct details *d, size_t id, const Ncu__ProfileResult *result, void *user);
int details_each(struct details *d, details_visit *one, void *user);

/* The last part of a path of Linux or Windows. */
const char *details_base_name(const char *path);

/* Is it of a kernel, and not of a range, command list or graph? */
bool details_is_kernel(const struct details *d, size_t id);

/* "(X, Y, Z)", "MAJOR.MINOR", and the number of the device. */
#define DETAILS_DIM_BYTES 80u
void details_dim_text(const Ncu__Uint64x3 *dim, char ret_text[DETAILS_DIM_BYTES]);
void details_cc_text(const struct details *d, const Ncu__ProfileResult *result,
	char ret_text[DETAILS_DIM_BYTES]);
uint64_t details_device(const struct details *d, const Ncu__ProfileResult *result);

/* The kernel's name as it is to be printed, for the caller to free; NULL: no memory. */
char *details_kernel_name(const struct details *d, const Ncu__ProfileResult *result);

/* The columns that say which launch a row is about. */
void details_csv_heading(const struct details *d);
void details_csv_launch(const struct details *d, size_t id, const Ncu__ProfileResult *result);

/* The lines that say which launch follows, with its callchain and its ranges where it has them. */
void details_text_launch(struct details *d, size_t id, const Ncu__ProfileResult *result);

/* ---- metrics (details_metric.c) ---- */

/* A metric of a section; texts are its own. */
struct details_metric {
	char *label, *value;
	char unit[NCU_UNIT_BYTES];
	bool is_missing; /* the result does not have it */
};

/* For the caller to free; NULL: no memory. */
char *details_label(const struct details *d, const struct ncu_shown *shown);
/* Its unit in a section, not scaled. */
void details_section_unit(const char *name, char ret_unit[NCU_UNIT_BYTES]);

/* What an instance is of. */
void details_key_print(
	const struct details *d, const Ncu__ProfileMetricResult *m, size_t i, FILE *out);

/* 0 or -ENOMEM. */
int details_metric_fill(const struct details *d, const struct ncu_shown *shown,
	enum details_instances instances, struct details_metric *ret_metric);
void details_metric_release(struct details_metric *m);

/* What to divide the metric's value by, and its unit made to fit; 1 where units are not scaled. */
double details_scale(
	const struct details *d, const Ncu__ProfileMetricResult *m, char unit[NCU_UNIT_BYTES]);

/* Its value and instances, for the caller to free; NULL: no memory. m: NULL makes "". */
char *details_value_text(const struct details *d, const Ncu__ProfileMetricResult *m, double scale,
	bool many_digits, enum details_instances instances);

/* ---- the raw page's metrics of a result (details_raw.c) ---- */

/* Calls `one` for each result that is wanted, with its metrics by name, each once. */
typedef int details_metrics_visit(struct details *d, size_t id, const Ncu__ProfileResult *result,
	const struct ncu_shown_list *metrics, void *user);
int details_raw_metrics(struct details *d, details_metrics_visit *one, void *user);

/* ---- a section of a result ---- */

/* A table or chart of a section; names are of the body and of the item, and may be NULL. */
struct details_item {
	struct details_section *s;
	size_t place; /* in the section, from 1; 0: the header */
	const char *body, *label, *description;
};

/* Takes the tables of sections in place of their being printed: each that has metrics, and with
 * list NULL the begin of a section's bodies. 0 or a negative errno. */
typedef int details_take(
	void *user, const struct details_item *item, const struct ncu_shown_list *list);

struct details_section {
	struct details *d;
	size_t id;
	const Ncu__ProfileResult *result;
	struct ncu_target target;
	const Ncu__ProfilerSection *of;
	const char *name, *identifier;
	bool is_titled;          /* its name was printed */
	const char *body_titled; /* the body whose name was printed last */
	size_t items;            /* of its bodies, that were walked */
	details_take *take;      /* or NULL: what it has is printed */
	void *user;
};

/* Hands all tables of all sections of a result to `take`. */
int details_take_sections(
	struct details *d, size_t id, const Ncu__ProfileResult *r, details_take *take, void *user);

/* Prints the names of the section and of its body (NULL: none) where that is not done yet. */
void details_section_title(struct details_section *s, const char *body);

/* Prints a table of metrics; item: the label of what it is in the body, NULL = the header. */
int details_table(struct details_section *s, const char *item, const struct ncu_shown_list *list);

/* Sort by name, members of a group by the group's; the comparison for qsort() alone. */
void details_sort(struct ncu_shown_list *list);
int details_by_name(const void *a, const void *b);

/* Each 0 or a negative errno: what lies in the bodies of a section (details_body.c), what rules
 * said of it (details_rules.c). */
int details_bodies(struct details_section *s, const Ncu__ProfilerSection *of);
int details_rules(struct details_section *s);

/* A table of rows with `columns` texts each, those of `left` (bits) left-aligned; the last column
 * is at most `most` wide (0: as it must be), longer texts go on in the lines below, broken between
 * words if `words`. */
struct details_rows {
	const char *const *titles;
	size_t columns;
	uint32_t left;
	enum details_lines { LINE_BELOW_TITLES, LINES_ROUND_TITLES, LINES_ROUND_ALL } lines;
	char **cells;
	size_t count;
	uint32_t capacity;
};
int details_rows_add(struct details_rows *t, const char *text);
void details_rows_print(
	const struct details_rows *t, FILE *out, int indent, size_t most, bool words);
void details_rows_release(struct details_rows *t);

#endif
