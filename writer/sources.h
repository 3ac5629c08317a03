/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sources.h - the rows of sources.def as function calls: the functions of each source for its
 * records, and for the state of a dead process.
 */
#ifndef WRITER_SOURCES_H
#define WRITER_SOURCES_H

#include "writer/lane/ending.h"
#include "writer/lane/segment.h"

/* Return the function that adds records of this kind; NULL = unknown kind. */
record_put *sources_record(uint32_t kind);

/* Add the rows of all sources for everything that was open in the lane of a dead process. */
void sources_lane_end(struct ending *e);

/* Add the entries that are written once all lanes of a process have ended. Return 0 or a negative
 * errno as writer_flush() does; after an error, call it again later. */
int sources_process_end(struct writer *w, struct spool *spool);

/* Return the number of events that the sources of the process counted and the report does not
 * have. */
uint64_t sources_unaccounted(struct spool *spool);

#endif
