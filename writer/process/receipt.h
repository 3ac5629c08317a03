/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receipt.h - the accounting of a process: events stored, written, missing; clock; cost.
 *
 * `produced` comes from positions and slots, `written` from the rows that were encoded: both must
 * be equal, and both must agree with the counts of the process itself (heads of lanes, dropped
 * events). A difference is `unaccounted`, and the report is not complete. One thread.
 */
#ifndef WRITER_PROCESS_RECEIPT_H
#define WRITER_PROCESS_RECEIPT_H

#include <stdint.h>

#include "writer/base/writer.h"
#include "writer/spool/lanes.h"

/* Add the receipt of a process whose lanes are all closed. `unaccounted` is added to the events
 * that the lanes do not account for. */
void receipt_put(struct writer *w, struct spool *spool, uint64_t unaccounted);

/* Add the receipt of a vfork child, whose id is `id`. */
void receipt_put_guest(struct writer *w, uint32_t id, const struct tally *tally);

/* Add the clock points within the process's life, and one point each before and after it. Some are
 * left out: times are already converted, and the points only document the conversion. */
void clock_points_put(struct writer *w, const struct spool *spool, uint64_t end_ns);

#endif
