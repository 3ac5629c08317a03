/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_spool.h - the MPI source's data in a spool, in addition to spool.h. See mpi.def.
 */
#ifndef COMMON_SCHEMA_MPI_SPOOL_H
#define COMMON_SCHEMA_MPI_SPOOL_H

#include <stdint.h>

/* MPI_CALL.class. */
enum mpi_class { MPI_P2P = 1, MPI_COLLECTIVE, MPI_WAIT, MPI_OTHER };

/* Payload of REC_MPI_CALL. */
struct mpi_call {
	uint64_t comm, request;
	int64_t size, received;
	uint32_t name; /* as in records */
	int32_t tag, peer, root;
};

/* Payload of REC_MPI_COMMUNICATOR. */
struct mpi_communicator {
	uint64_t comm, parent, members;
	int32_t rank, local_rank, size, group_root;
	uint32_t ordinal, pad;
};

#endif
