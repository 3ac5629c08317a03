/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ext.h - conversion of records of NVTX extensions to rows.
 *
 * A record has its numbers and its texts in the order of the columns of nvtx.def; missing columns
 * are 0.
 */
#ifndef WRITER_NVTX_EXT_H
#define WRITER_NVTX_EXT_H

#include "writer/lane/segment.h"

/* Add the row of a REC_NVTX_EXT record (lane/segment.h). */
record_put nvtx_ext_put;

#endif
