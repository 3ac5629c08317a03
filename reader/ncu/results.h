/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results.h - standard entries of a report: the measurements of kernel launches as Nsight Compute
 * stores them.
 *
 * Pass every block of a report to ncu_results_note() in file order, as a contents_visitor does;
 * then results can be read. A result is unpacked on demand; for the other results only offset and
 * process are kept (16 bytes), so that a report of any size opens at once. Names of metrics are
 * held in memory. One thread; allocates.
 *
 * Format: docs/FORMAT.md; messages: common/schema/ncu.proto.
 */
#ifndef READER_NCU_RESULTS_H
#define READER_NCU_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "ncu.pb-c.h"
#include "reader/file/open.h"

enum ncu_entry_kind { NCU_SOURCE, NCU_RESULT, NCU_RANGE, NCU_CMDLIST, NCU_GRAPH };

struct ncu_entry {
	uint64_t offset; /* offset of the message in the file */
	uint32_t bytes;
	uint16_t kind;    /* enum ncu_entry_kind */
	uint16_t process; /* index of the process */
};

struct ncu_process {
	uint32_t pid;
	char *host, *path;
};

struct ncu_results {
	const struct report *report;
	char **names; /* of metrics, by NameId: string tables of all blocks in file order */
	size_t name_count;
	uint32_t name_capacity;
	struct ncu_entry *entries; /* all but sources, in file order */
	size_t count;
	uint32_t capacity;
	struct ncu_entry *sources; /* modules */
	size_t source_count;
	uint32_t source_capacity;
	struct ncu_process *processes;
	size_t process_count;
};

/* Initialize an empty index of the results of `report`, which must outlive it; release frees the
 * index. One thread. */
void ncu_results_init(struct ncu_results *n, const struct report *report);
void ncu_results_release(struct ncu_results *n);

/* Index a block. Returns 0, -ENOMEM, -EIO, or -EBADMSG with the cause if its entries exceed it;
 * entries before the bad one are kept. */
int ncu_results_note(
	struct ncu_results *n, const struct report_block *block, const char **ret_cause);

/* Load the message of entry `i`, of any kind, as stored in the file: entries[i].bytes bytes.
 * Returns 0, -EIO or -ENOMEM. The caller frees it. */
int ncu_entry_load(const struct ncu_results *n, size_t i, uint8_t **ret_bytes);

/* Unpack result `i`; that of a range, command list or graph is converted (workload.h). Returns 0,
 * -EBADMSG, -EIO or -ENOMEM. The caller frees it by ncu__profile_result__free_unpacked(). */
int ncu_result_read(const struct ncu_results *n, size_t i, Ncu__ProfileResult **ret_result);

/* Load the message of source `i` like ncu_entry_load(): sources[i].bytes bytes. */
int ncu_source_load(const struct ncu_results *n, size_t i, uint8_t **ret_bytes);

/* Unpack source `i` like ncu_result_read(); the caller frees it by
 * ncu__source_data__free_unpacked(). */
int ncu_source_read(const struct ncu_results *n, size_t i, Ncu__SourceData **ret_source);

/* Look up the id of a metric name; add the name after the others if the report lacks it. Returns 0
 * or -ENOMEM. */
int ncu_results_name(struct ncu_results *n, const char *name, uint32_t *ret_id);

/* Like ncu_result_read(), with some metrics only (bit i % 8 of byte i / 8: NameId i) and without
 * sections and rule results: many times faster for reports with many results. Skipped messages are
 * not validated. */
int ncu_result_read_some(const struct ncu_results *n, size_t i, const uint8_t *metrics,
	Ncu__ProfileResult **ret_result);

/* Return the demangled name if the report has it, else the name in the program. */
const char *ncu_kernel_name(const Ncu__ProfileResult *result);

#endif
