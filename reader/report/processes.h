/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processes.h - processes of a report: identity and end, merged by id, with the receipt, callchain
 * nodes and modules of each.
 *
 * process_list_init(), process_list_release(); the list owns all it refers to. One thread;
 * allocates. Memory grows with the number of processes and of callchain nodes.
 */
#ifndef READER_REPORT_PROCESSES_H
#define READER_REPORT_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/file/schema.h"
#include "reader/symbols/callchains.h"
#include "reader/symbols/modules.h"
#include "reader/symbols/python.h"
#include "reader/symbols/stored.h"
#include "report.pb-c.h"

struct process {
	uint32_t id;
	Libtrace__Process *facts;      /* never NULL; merged fields: the last value is kept */
	Libtrace__Receipt *receipt;    /* NULL = none in the file */
	uint64_t events[SCHEMA_KINDS]; /* rows found in the file, by kind; index 0: kinds unknown to
					  this version */
	uint64_t gap_dropped;          /* dropped events, according to GAP rows */
	uint64_t summarized;           /* calls in SUMMARY rows */
	uint32_t rank;                 /* in MPI_COMM_WORLD, plus 1; 0 = none is known */
	struct process *memory;      /* process whose modules, nodes and symbols its callchains use:
					itself, except for a vfork child */
	struct process *forked_from; /* NULL = none or not known; set by the first lookup */
	bool has_looked_for_parent;
	struct callchain_nodes callchains;
	struct module_map modules;
	struct python_codes python;
	struct stored_symbols symbols;
};

struct process_list {
	struct process **rows; /* processes in order of first mention */
	size_t count;
	uint32_t capacity, ids;
	struct process **by_id;  /* NULL = no process with this id; `ids` elements */
	struct process **by_pid; /* sorted by pid and start, as of `pid_count` processes */
	size_t pid_count;
};

void process_list_init(struct process_list *l);
void process_list_release(struct process_list *l);

/* Return the process with this id, or NULL. */
struct process *process_find(struct process_list *l, uint32_t id);

/* Return the process with a pid that started last: of a process that executed another program, the
 * last program image. NULL = there is none. */
const struct process *process_find_pid(const struct process_list *l, uint32_t pid);

/* Return the process with this id; create it if needed. NULL = out of memory, or an id above the
 * limit of a report. */
struct process *process_get(struct process_list *l, uint32_t id);

/* Merge an entry; the caller keeps the message. Returns 0, -EBADMSG or -ENOMEM. */
int process_list_add(struct process_list *l, const Libtrace__Process *facts);
int process_list_add_receipt(struct process_list *l, const Libtrace__Receipt *receipt);

/* Return the process that forked `p`: the last process with the pid of its parent that began no
 * later than `p`. NULL = not forked, or unknown. */
struct process *process_forked_from(struct process_list *l, struct process *p);

#define PROCESS_NAME_BYTES 256u
#define PROCESS_LABEL_BYTES (2 * PROCESS_NAME_BYTES + 4)

/* Write the name of a process, as UTF-8: the base name of its first argument, else of its
 * executable file. A forked process has the name of its parent. "?" = unknown. All outputs that
 * name processes use this name, or the label. */
void process_name(
	struct process_list *l, const struct process *p, char ret_name[PROCESS_NAME_BYTES]);

/* Like process_name(), followed by the base name of the executable file if that differs:
 * "cc [x86_64-linux-gnu-gcc-12]". */
void process_label(
	struct process_list *l, const struct process *p, char ret_label[PROCESS_LABEL_BYTES]);

/* Return the number of dropped events, from the receipt or, without a receipt, from GAP rows. */
uint64_t process_dropped(const struct process *p);

/* Return the number of processes: one that executed other programs counts once. */
uint64_t processes_apart(const struct process_list *l);

/* Return the number of traced processes without a receipt. */
uint64_t processes_unended(const struct process_list *l);

#endif
