/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processes.h - what a report says of its processes: identity and end, merged by id, the receipt
 * of each, callchain nodes and modules.
 *
 * process_list_init/release; everything in it is the list's own. One thread; allocates. Memory
 * follows the number of processes and of callchain nodes.
 */
#ifndef READER_REPORT_PROCESSES_H
#define READER_REPORT_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/file/schema.h"
#include "reader/symbols/callchains.h"
#include "reader/symbols/modules.h"
#include "reader/symbols/stored.h"
#include "report.pb-c.h"

struct process {
	uint32_t id;
	Libtrace__Process *facts;      /* never NULL; fields merged, last wins */
	Libtrace__Receipt *receipt;    /* NULL = none in the file */
	uint64_t events[SCHEMA_KINDS]; /* rows found in the file, by kind; index 0: kinds that this
					  version does not know */
	uint64_t gap_dropped;          /* events missing, by GAP rows */
	uint64_t summarized;           /* calls in SUMMARY rows */
	struct process *memory; /* whose modules, nodes and symbols its callchains lead through:
				   itself, but for a vfork child */
	struct process *forked_from; /* NULL = none, or not known; looked for once */
	bool has_looked_for_parent;
	struct callchain_nodes callchains;
	struct module_map modules;
	struct stored_symbols symbols;
};

struct process_list {
	struct process **rows; /* in order of first mention */
	size_t count;
	uint32_t capacity, ids;
	struct process **by_id; /* NULL where no process has the id; `ids` of them */
};

void process_list_init(struct process_list *l);
void process_list_release(struct process_list *l);

/* The process with this id, or NULL. */
struct process *process_find(struct process_list *l, uint32_t id);

/* The same, made if need be. NULL = out of memory, or an id beyond what a report can have. */
struct process *process_get(struct process_list *l, uint32_t id);

/* Takes an entry in; the message stays the caller's. 0, -EBADMSG, -ENOMEM. */
int process_list_add(struct process_list *l, const Libtrace__Process *facts);
int process_list_add_receipt(struct process_list *l, const Libtrace__Receipt *receipt);

/* Events that the receipt or, without one, the gaps say are missing. */
uint64_t process_dropped(const struct process *p);

/* Traced processes without a receipt. */
uint64_t processes_unended(const struct process_list *l);

#endif
