/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary.h - what `trace details --print-summary` adds up: launches of one kernel and
 * shape (on a device; in the same NVTX ranges) are a group, each of their metrics is a row of it.
 *
 * Memory follows the groups and their rows; no result is held. One thread.
 */
#ifndef READER_NCU_PAGES_SUMMARY_H
#define READER_NCU_PAGES_SUMMARY_H

#include "reader/base/map.h"
#include "reader/base/pool.h"
#include "reader/ncu/pages/details.h"
#include "reader/ncu/pages/nvtx.h"

/* A metric's instance, added up over launches. */
struct summary_instance {
	const char *key;
	size_t repeat;         /* how many of the same key lie before it */
	uint64_t launch, used; /* the one that came last, and how many of the key it had */
	uint64_t count;
	double sum;
	struct summary_instance *next; /* in the order of their coming */
};

/* Texts are of the pool. Of a section that has bodies there is a row of its name alone, too: ""
 * for its metric. */
struct summary_row {
	const char *section, *body, *table, *description; /* the last three: of a body's table */
	size_t place;                                     /* of the table; 0: none, or the header */
	const char *name, *label, *unit;
	uint32_t same;         /* index + 1 of the row before it of this name and section */
	unsigned label_rank;   /* of where the label is from, the best is 0 */
	const char *attribute; /* text of what is the device's and not of launches; else NULL */
	uint64_t count;
	double least, most, sum;
	void *keys; /* tree of the instances */
	struct summary_instance *first, *last;
};

struct summary_group {
	size_t process;               /* index; per NVTX state: 0 */
	struct nvtx_state_text state; /* per NVTX state only, else all NULL */
	uint64_t device;
	bool is_device; /* has what is the device's; no launches */
	const char *kernel, *grid, *block, *cc;
	uint64_t launches;
	struct summary_row *rows;
	uint32_t capacity;
	size_t count, next;    /* next: where the row after the last one found lies */
	struct map by_table;   /* of a name and a table's number: index + 1 of the row */
	struct map by_section; /* of a name and a section: index + 1 of the newest row */
};

struct summary {
	struct details *d;
	struct pool pool;
	bool by_device, by_state, is_raw;
	struct map tables; /* numbers of the tables of sections, by section and place */
	uint32_t table_count;
	void *tree;                    /* groups, by what they are of */
	struct summary_group **groups; /* the same, in order, at the end */
	size_t count;
};

/* ---- rows (details_summary_rows.c); 0 or -ENOMEM ---- */

/* Adds a launch's value, if it is a number, to the row of the metric in that table. */
int summary_row_add(struct summary *s, struct summary_group *g, const struct details_item *at,
	const struct ncu_shown *shown);
/* Notes the value of the device. */
int summary_attribute_add(
	struct summary *s, struct summary_group *g, const struct ncu_shown *shown);
/* Notes the name of the section. */
int summary_section_add(struct summary *s, struct summary_group *g, const char *section);
/* By section, table and metric. */
void summary_rows_sort(struct summary_group *g);
void summary_rows_release(struct summary_group *g);

/* ---- printing (details_summary_print.c) ---- */

/* The groups in their order; 0 or -ENOMEM. */
int summary_print(struct summary *s);

#endif
