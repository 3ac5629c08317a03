/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.h - the hooks of the source `streams`, for producers.def.
 */
#ifndef TRACER_STREAMS_HOOKS_H
#define TRACER_STREAMS_HOOKS_H

#include "common/spool.h"

/* Store in the header of a new spool whether standard output and error are recorded. */
void streams_describe(struct spool_header *spool);

/* Note what the two descriptors lead to at the start of the program. Once, before any event. */
void streams_start(void);

#endif
