/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records.h - records of the OS runtime that are not calls: sums of short calls, paths of files,
 * waits for the GIL.
 *
 * For the contracts, see lane/segment.h.
 */
#ifndef WRITER_OSRT_RECORDS_H
#define WRITER_OSRT_RECORDS_H

#include "writer/lane/segment.h"

record_put sum_put, path_put, gil_wait_put;

#endif
