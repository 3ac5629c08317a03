/*
 * details.h - the pages of `trace details`: what NVIDIA's `ncu --import --page` prints of a report,
 * in the same columns and numbers.
 *
 * A page is printed result by result, so memory follows one result, except that the raw page as CSV
 * needs the names of all metrics first. One thread.
 */
#ifndef READER_CLI_DETAILS_H
#define READER_CLI_DETAILS_H

#include <regex.h>

#include "reader/cli/cli.h"
#include "reader/cli/select.h"
#include "reader/ncu/shown.h"

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
};

/* 0, or a negative errno after a message. */
int details_filter_set(struct details_filter *f, const struct options *o);
void details_filter_release(struct details_filter *f);

/* Asked for each result in order; ..._again() before another pass. */
bool details_wants(struct details_filter *f, const Ncu__ProfileResult *result);
void details_filter_again(struct details_filter *f);

struct details {
	struct cli_report r;
	struct contents contents;
	struct ncu_results results;
	bool csv;
	struct details_filter filter;
	FILE *out;
	bool has_nvtx, has_rules, has_speedups; /* columns that CSV pages have only where needed */
	size_t groups_shown;                    /* of the session page */
	size_t process_shown;                   /* index + 1 of the one named last; 0 = none */
};

/* Each 0 or a negative errno. */
int details_session(struct details *d);
int details_raw(struct details *d);
int details_sections(struct details *d);

/* ---- what the pages share (details_parts.c) ---- */

/* Calls `one` for each result that is wanted, `id` counting all. Stops at an error. */
typedef int details_visit(
	struct details *d, size_t id, const Ncu__ProfileResult *result, void *user);
int details_each(struct details *d, details_visit *one, void *user);

/* Was an NVTX range open at the launch? */
bool details_has_ranges(const Ncu__ProfileResult *result);

/* Cells of a CSV row: quoted, a comma in front of all but the first. */
void csv_cell(FILE *out, bool first, const char *text);
__attribute__((format(printf, 2, 3))) void csv_format(FILE *out, const char *format, ...);

/* The columns that say which launch a row is about. */
void details_csv_heading(const struct details *d);
void details_csv_launch(const struct details *d, size_t id, const Ncu__ProfileResult *result);

/* The lines that say which launch follows, with its callchain and its ranges where it has them. */
void details_text_launch(struct details *d, size_t id, const Ncu__ProfileResult *result);

/* A table of rows with `columns` texts each, the first `left` of them left-aligned; the last column
 * is at most `most` wide (0: as it must be), longer texts go on in the lines below, broken between
 * words if `words`. */
struct details_rows {
	const char *const *titles;
	size_t columns, left;
	enum details_lines { LINE_BELOW_TITLES, LINES_ROUND_TITLES, LINES_ROUND_ALL } lines;
	char **cells;
	size_t count, capacity;
};
int details_rows_add(struct details_rows *t, const char *text);
void details_rows_print(
	const struct details_rows *t, FILE *out, int indent, size_t most, bool words);
void details_rows_release(struct details_rows *t);

#endif
