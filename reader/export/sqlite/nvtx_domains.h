/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_domains.h - numbers of NVTX domains, rows of NVTX_EVENTS for names, payloads as JSON.
 *
 * As in nsys, domains are numbered per process from 1, in the order of their creation; the default
 * domain, whose name is empty, is 0.
 *
 * Memory: a map entry for each domain, and the layouts of payloads (reader/nvtx/payloads.h). One
 * thread; allocates.
 */
#ifndef READER_EXPORT_SQLITE_NVTX_DOMAINS_H
#define READER_EXPORT_SQLITE_NVTX_DOMAINS_H

#include <stdint.h>

#include "reader/export/sqlite/bulk_table.h"
#include "reader/export/sqlite/decoded.h"
#include "reader/base/map.h"
#include "reader/nvtx/payloads.h"

struct sqlite_export;

/* The creation of a domain. */
struct created_domain {
	uint64_t ns;
	uint32_t process, name; /* ids in the report */
};

/* Per-report state. */
struct nvtx_domains {
	struct map ids; /* globalPid, id of the text -> domainId; globalPid, UINT64_MAX -> count */
	struct created_domain *created; /* count = 0 once the domains are numbered */
	uint32_t count, capacity;
	struct nvtx_payloads payloads;
	char *json; /* current payload */
};

/* Begin and end a report. */
void nvtx_domains_report_begin(struct sqlite_export *x);
void nvtx_domains_report_end(struct nvtx_domains *n);
void nvtx_domains_release(struct nvtx_domains *n);

/* Collect domains and the layouts of payloads, in the first pass. Returns 0 or -ENOMEM. */
int nvtx_domains_collect(struct sqlite_export *x, const struct event_batch *b);

/* Number the domains, after the first pass. Returns 0 or a negative errno. */
int nvtx_domains_number(struct sqlite_export *x);

/* Look up the number of a domain by its name, a string of the report. A domain whose creation is
 * not in the report is numbered and gets a row. Returns 0 or a negative errno. */
int nvtx_domain_id(struct sqlite_export *x, int64_t global_pid, uint32_t name, uint32_t *ret_id);

/* Convert an extended payload to JSON, which is valid until the next call. Returns 0 or -ENOMEM. */
int nvtx_payload_json(struct sqlite_export *x, const struct decoded_batch *b, uint32_t row,
	int64_t payload, struct cell *ret_cell);

/* Add the rows of NVTX_EVENTS for a batch of NVTX_NAME. Returns 0 or a negative errno. */
int nvtx_name_rows(struct sqlite_export *x, const struct decoded_batch *b);

#endif
