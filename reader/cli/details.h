/*
 * details.h - the pages of `trace details`: what NVIDIA's `ncu --import --page` prints of a report,
 * in the same columns and numbers.
 *
 * A page is printed result by result, so memory follows one result, except that the raw page as CSV
 * needs the names of all metrics first. One thread.
 */
#ifndef READER_CLI_DETAILS_H
#define READER_CLI_DETAILS_H

#include "reader/cli/cli.h"
#include "reader/ncu/shown.h"

struct details {
	struct cli_report r;
	struct contents contents;
	struct ncu_results results;
	bool csv;
	const char *kernel; /* shell pattern for names of kernels; NULL = all */
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
