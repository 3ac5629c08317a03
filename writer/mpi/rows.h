/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h - rows from the records of the MPI source (common/mpi_spool.h).
 *
 * record_put of lane/segment.h.
 */
#ifndef WRITER_MPI_ROWS_H
#define WRITER_MPI_ROWS_H

#include "writer/lane/segment.h"

/* Add a call, a communicator, the rank of the process. */
uint32_t mpi_call_put(struct segment *s, const struct record_at *at);
uint32_t mpi_communicator_put(struct segment *s, const struct record_at *at);
uint32_t mpi_rank_put(struct segment *s, const struct record_at *at);

#endif
