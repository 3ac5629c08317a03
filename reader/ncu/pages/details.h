/* SPDX-License-Identifier: Apache-2.0 */
/*
 * details.h - the pages of `trace details`, with the columns and numbers of `ncu --import --page`.
 *
 * A page is printed result by result, so memory is bounded by one result. The exception is the raw
 * page as CSV, which needs the names of all metrics first. One thread.
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

/* A name or a regular expression; if unset, it matches every name. */
struct details_pattern {
	const char *text;
	regex_t regex;
	bool is_regex;
};

/* The filter of results (filter.c), and the number of results that it has seen. */
struct details_filter {
	enum details_base base;
	struct details_pattern name, id_name, invocation;
	char *id_text; /* value of --kernel-id, split into its parts */
	bool has_id, has_context, has_stream;
	uint32_t context, stream;
	uint64_t skip_before_match, skip, count;
	const struct nvtx_filter *nvtx; /* NULL = none */
	uint64_t seen, matched, invocations;
	bool is_asked, any; /* is_asked: a result was checked; any: a result was accepted */
};

/* Set the filter from the options. Returns 0, or a negative errno after a message. */
int details_filter_set(struct details_filter *f, const struct options *o);

/* Free all memory of the filter. */
void details_filter_release(struct details_filter *f);

/* Return the name of the kernel in the form `base`; "" if there is none. */
const char *details_name_by(enum details_base base, const Ncu__ProfileResult *result);

/* Return whether the filter accepts a result. It counts launches: call it once for each result, in
 * order, and details_filter_again() before another pass. */
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
	bool base_units,
		floating; /* units are not scaled; always two digits after the decimal point */
	bool rule_details,
		rename; /* print rules' focus metrics; prefix kernel names with NVTX ranges */
	enum details_part part;
	enum details_names names;
	enum details_instances instances;
	enum details_summary summary;
	enum details_base kernel_base;
	struct details_filter filter;
	struct details_choice choice;
	const uint8_t *name_bits; /* the metrics to read, by NameId; NULL = all */
	enum details_view source_view;
	const char *source_files; /* --resolve-source-file, or NULL */
	FILE *out;
	/* CSV pages need these columns; has_kernels: columns of grids and blocks. */
	bool has_kernels, has_nvtx, has_rules, has_speedups;
	bool has_nvlink;      /* a note about tables of NVLink has been printed */
	size_t groups_shown;  /* groups printed on the session page */
	size_t process_shown; /* index + 1 of the process named last; 0 = none */
};

/* Print a page. Each function returns 0 or a negative errno. */
int details_session(struct details *d);
int details_raw(struct details *d);
int details_sections(struct details *d);
int details_summary(struct details *d, bool is_raw);
int details_source(struct details *d);
int details_listing(struct details *d);

/* ---- functions shared by the pages (parts.c) ---- */

/* Read the results and call `one` for each that the filter accepts; `id` counts all results.
 * Reports damaged results and skips them. Stops at the first error of `one`. Returns 0 or a
 * negative errno. */
typedef int details_visit(
	struct details *d, size_t id, const Ncu__ProfileResult *result, void *user);
int details_each(struct details *d, details_visit *one, void *user);

/* Return the last part of a path of Linux or Windows; it points into `path`. */
const char *details_base_name(const char *path);

/* Return whether the result is of a kernel, not of a range, command list or graph. */
bool details_is_kernel(const struct details *d, size_t id);

/* Write dimensions as "(X, Y, Z)" and the compute capability as "MAJOR.MINOR"; return the number
 * of the device. */
#define DETAILS_DIM_BYTES 80u
void details_dim_text(const Ncu__Uint64x3 *dim, char ret_text[DETAILS_DIM_BYTES]);
void details_cc_text(const struct details *d, const Ncu__ProfileResult *result,
	char ret_text[DETAILS_DIM_BYTES]);
uint64_t details_device(const struct details *d, const Ncu__ProfileResult *result);

/* Return the kernel's name as it is printed. The caller frees it; NULL = no memory. */
char *details_kernel_name(const struct details *d, const Ncu__ProfileResult *result);

/* Print the columns that identify the launch of a row: their heading, their values. */
void details_csv_heading(const struct details *d);
void details_csv_launch(const struct details *d, size_t id, const Ncu__ProfileResult *result);

/* Print the lines that identify a launch, with its callchain and NVTX ranges if it has any. */
void details_text_launch(struct details *d, size_t id, const Ncu__ProfileResult *result);

/* ---- metrics (metric.c) ---- */

/* A metric of a section; it owns its texts. */
struct details_metric {
	char *label, *value;
	char unit[NCU_UNIT_BYTES];
	bool is_missing; /* the result does not have it */
};

/* Return the label of a metric. The caller frees it; NULL = no memory. */
char *details_label(const struct details *d, const struct ncu_shown *shown);

/* Write the unit of a metric in sections, not scaled. */
void details_section_unit(const char *name, char ret_unit[NCU_UNIT_BYTES]);

/* Print the key of instance `i` of a metric. */
void details_key_print(
	const struct details *d, const Ncu__ProfileMetricResult *m, size_t i, FILE *out);

/* Fill in the texts of a metric. Returns 0 or -ENOMEM; after -ENOMEM there is nothing to
 * release. */
int details_metric_fill(const struct details *d, const struct ncu_shown *shown,
	enum details_instances instances, struct details_metric *ret_metric);
void details_metric_release(struct details_metric *m);

/* Return the divisor of the metric's value, and change `unit` to match; 1 if units are not
 * scaled. */
double details_scale(
	const struct details *d, const Ncu__ProfileMetricResult *m, char unit[NCU_UNIT_BYTES]);

/* Format the value of a metric and its instances. m: may be NULL, which gives "". The caller frees
 * the text; NULL = no memory. */
char *details_value_text(const struct details *d, const Ncu__ProfileMetricResult *m, double scale,
	bool many_digits, enum details_instances instances);

/* ---- the metrics of a result on the raw page (raw.c) ---- */

/* Call `one` for each result that the filter accepts, with its metrics sorted by name, each once.
 * Returns 0 or a negative errno. */
typedef int details_metrics_visit(struct details *d, size_t id, const Ncu__ProfileResult *result,
	const struct ncu_shown_list *metrics, void *user);
int details_raw_metrics(struct details *d, details_metrics_visit *one, void *user);

/* ---- a section of a result ---- */

/* A table or chart of a section; the names are those of the body and of the item, and may be
 * NULL. */
struct details_item {
	struct details_section *s;
	size_t place; /* index in the section, from 1; 0: the header */
	const char *body, *label, *description;
};

/* Receive a table of a section that has metrics, instead of printing it. list NULL: the bodies of
 * a section begin. Returns 0 or a negative errno. */
typedef int details_take(
	void *user, const struct details_item *item, const struct ncu_shown_list *list);

struct details_section {
	struct details *d;
	size_t id;
	const Ncu__ProfileResult *result;
	struct ncu_target target;
	const Ncu__ProfilerSection *of;
	const char *name, *identifier;
	bool is_titled;          /* the name of the section has been printed */
	const char *body_titled; /* the body whose name was printed last */
	size_t items;            /* number of items of its bodies seen so far */
	bool has_nvlink;         /* the result's table of NVLink has been printed */
	details_take *take;      /* or NULL: print the tables */
	void *user;
};

/* Pass all tables of all sections of a result to `take`. Returns 0 or a negative errno. */
int details_take_sections(
	struct details *d, size_t id, const Ncu__ProfileResult *r, details_take *take, void *user);

/* Print the names of the section and of its body (NULL: none) unless they have been printed. */
void details_section_title(struct details_section *s, const char *body);

/* Print a table of metrics. item: the label of the item of the body; NULL = the header. Returns 0
 * or a negative errno. */
int details_table(struct details_section *s, const char *item, const struct ncu_shown_list *list);

/* Sort by name; members of a group sort by the group's name. details_by_name() is the comparison,
 * for qsort(). */
void details_sort(struct ncu_shown_list *list);
int details_by_name(const void *a, const void *b);

/* Print the tables and charts of a section's bodies (body.c), and the messages of rules about it
 * (rules.c). Both return 0 or a negative errno. */
int details_bodies(struct details_section *s, const Ncu__ProfilerSection *of);
int details_rules(struct details_section *s);

/* Print the table of NUMA nodes, or that of NVLink, which is printed once for a result (devices.c).
 * Both return 0 or -ENOMEM. */
int details_numa_table(const struct details_item *item);
int details_nvlink_table(const struct details_item *item);

/* A table of texts. Columns in `left` (bits) are left-aligned, the others right-aligned. */
struct details_rows {
	const char *const *titles;
	size_t columns;
	uint32_t left;
	enum details_lines { LINE_BELOW_TITLES, LINES_ROUND_TITLES, LINES_ROUND_ALL } lines;
	char **cells;
	size_t count;
	uint32_t capacity;
	size_t last_least;          /* least width of the last column */
	const uint8_t (*widths)[2]; /* least and greatest width of each column; NULL = by texts */
};
/* Append a copy of a cell; NULL means "". Returns 0 or -ENOMEM. */
int details_rows_add(struct details_rows *t, const char *text);

/* Return how many of the `length` bytes of a text fit in a line of `width`, which is broken between
 * words if `words`. The blank at a break begins the next line. */
size_t details_line_take(const char *text, size_t length, size_t width, bool words);

/* Print the table. The last column is at most `most` wide (0 = no limit); longer texts continue in
 * the lines below, broken between words if `words`. */
void details_rows_print(
	const struct details_rows *t, FILE *out, int indent, size_t most, bool words);

/* Free all memory of the table and clear it. */
void details_rows_release(struct details_rows *t);

#endif
