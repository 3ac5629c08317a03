/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regions.h - events of OpenMP, and the regions that a dead process left open.
 *
 * For the contracts, see lane/segment.h and lane/ending.h.
 */
#ifndef WRITER_OPENMP_REGIONS_H
#define WRITER_OPENMP_REGIONS_H

#include "writer/lane/ending.h"
#include "writer/lane/segment.h"

record_put openmp_put;
lane_end_put openmp_open_put;

#endif
