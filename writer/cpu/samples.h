/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples.h - events from the records of CPU samples.
 *
 * For the contracts, see lane/segment.h.
 */
#ifndef WRITER_CPU_SAMPLES_H
#define WRITER_CPU_SAMPLES_H

#include "writer/lane/segment.h"

record_put cpu_sample_put;

#endif
