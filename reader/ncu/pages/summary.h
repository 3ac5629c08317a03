/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary.h - the sums of `trace details --print-summary`.
 *
 * Launches of one kernel and shape (on one device; in the same NVTX ranges) form a group; each of
 * their metrics is a row of the group. Memory grows with the groups and their rows; no result is
 * kept. One thread.
 */
#ifndef READER_NCU_PAGES_SUMMARY_H
#define READER_NCU_PAGES_SUMMARY_H

#include "reader/base/map.h"
#include "reader/base/pool.h"
#include "reader/ncu/pages/details.h"
#include "reader/ncu/pages/nvtx.h"

/* An instance of a metric, summed over launches. */
struct summary_instance {
	const char *key;
	size_t repeat;         /* number of instances with the same key before it */
	uint64_t launch, used; /* the last launch, and how many instances of the key it had */
	uint64_t count;
	double sum;
	struct summary_instance *next; /* in order of first occurrence */
};

/* A row: a metric in a table of a section. Texts are in the pool. A section that has bodies also
 * has a row for its name alone, whose metric is "". */
struct summary_row {
	const char *section, *body, *table,
		*description; /* the last three belong to the table of a body */
	size_t place;         /* index of the table; 0 = none, or the header */
	const char *name, *label, *unit;
	uint32_t same;         /* index + 1 of the previous row with this name and section */
	unsigned label_rank;   /* rank of the source of the label; 0 = best */
	const char *attribute; /* text of a device attribute; NULL for metrics of launches */
	uint64_t count;
	double least, most, sum;
	void *keys; /* tree of the instances */
	struct summary_instance *first, *last;
};

struct summary_group {
	size_t process;               /* index of the process; 0 if grouped by NVTX state */
	struct nvtx_state_text state; /* only if grouped by NVTX state; otherwise all NULL */
	uint64_t device;
	bool is_device; /* the group has the attributes of the device and no launches */
	const char *kernel, *grid, *block, *cc;
	uint64_t launches;
	struct summary_row *rows;
	uint32_t capacity;
	size_t count, next;    /* next: index of the row after the row found last */
	struct map by_table;   /* name and number of a table -> index + 1 of the row */
	struct map by_section; /* name and section -> index + 1 of the newest row */
};

struct summary {
	struct details *d;
	struct pool pool;
	bool by_device, by_state, is_raw;
	struct map tables; /* numbers of the tables of sections, by section and index */
	uint32_t table_count;
	void *tree;                    /* the groups, by their key */
	struct summary_group **groups; /* the groups in order, once all launches are added */
	size_t count;
};

/* ---- rows (summary_rows.c); the functions return 0 or -ENOMEM ---- */

/* Add the value of a launch, if it is a number, to the row of the metric in that table. */
int summary_row_add(struct summary *s, struct summary_group *g, const struct details_item *at,
	const struct ncu_shown *shown);

/* Store the value of an attribute of the device. If launches differ, the first value is kept. */
int summary_attribute_add(
	struct summary *s, struct summary_group *g, const struct ncu_shown *shown);

/* Add the row for the name of a section. */
int summary_section_add(struct summary *s, struct summary_group *g, const char *section);

/* Sort the rows by section, table and metric. */
void summary_rows_sort(struct summary_group *g);

/* Free the rows of a group. */
void summary_rows_release(struct summary_group *g);

/* ---- printing (summary_print.c) ---- */

/* Print the groups in their order. Returns 0 or -ENOMEM. */
int summary_print(struct summary *s);

#endif
