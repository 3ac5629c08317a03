/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.h - calls of the OS runtime that a dead process left without a record: open calls, records
 * of nested calls, sums.
 *
 * For the contract, see lane/ending.h.
 */
#ifndef WRITER_OSRT_OPEN_H
#define WRITER_OSRT_OPEN_H

#include "writer/lane/ending.h"

lane_end_put osrt_open_put;

#endif
