/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results.h - the standard entries of a report: what a kernel launch was measured to be, as Nsight
 * Compute stores it.
 *
 * Pass ncu_results_note() every block of a report in file order (a contents_visitor does), then
 * ask. A result is unpacked when it is asked for; of results not asked for only place and process
 * are kept (16 bytes), so that a report of any size opens at once. Names of metrics are held. One
 * thread; allocates.
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
	uint64_t offset; /* of the message in the file */
	uint32_t bytes;
	uint16_t kind;    /* enum ncu_entry_kind */
	uint16_t process; /* index */
};

struct ncu_process {
	uint32_t pid;
	char *host, *path;
};

struct ncu_results {
	const struct report *report;
	char **names; /* of metrics, by NameId: the string tables of all blocks in file order */
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

void ncu_results_init(struct ncu_results *n, const struct report *report);
void ncu_results_release(struct ncu_results *n);

/* Takes note of a block. 0, -ENOMEM, -EIO, or -EBADMSG with the cause when its entries do not fit
 * into it; what lies before the bad entry is kept. */
int ncu_results_note(
	struct ncu_results *n, const struct report_block *block, const char **ret_cause);

/* The message of entry `i`, of whatever kind, as it lies in the file: entries[i].bytes of them. 0,
 * -EIO, -ENOMEM. The caller frees. */
int ncu_entry_load(const struct ncu_results *n, size_t i, uint8_t **ret_bytes);

/* Unpacks result `i`; one of a range, command list or graph as workload.h says. 0, -EBADMSG, -EIO,
 * -ENOMEM. The caller frees by ncu__profile_result__free_unpacked(). */
int ncu_result_read(const struct ncu_results *n, size_t i, Ncu__ProfileResult **ret_result);

/* The message of source `i`, likewise: sources[i].bytes. */
int ncu_source_load(const struct ncu_results *n, size_t i, uint8_t **ret_bytes);

/* Unpacks source `i`; otherwise the same, with ncu__source_data__free_unpacked(). */
int ncu_source_read(const struct ncu_results *n, size_t i, Ncu__SourceData **ret_source);

/* The number of a metric's name, which is added behind the others where no result has it. 0 or
 * -ENOMEM. */
int ncu_results_name(struct ncu_results *n, const char *name, uint32_t *ret_id);

/* The same of some metrics only (bit i % 8 of byte i / 8: that of NameId i), without sections and
 * results of rules: many times faster where a report has many results. Messages that are left out
 * are not checked. */
int ncu_result_read_some(const struct ncu_results *n, size_t i, const uint8_t *metrics,
	Ncu__ProfileResult **ret_result);

/* Demangled where the report has that, else as written in the program. */
const char *ncu_kernel_name(const Ncu__ProfileResult *result);

#endif
