/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi.h - the source `mpi`: messages, collectives, requests and communicators of MPI programs.
 *
 * The calls are recorded by the source `functions`. Here the arguments that it kept are read after
 * a call that succeeded, and become a record of the message. One library for all implementations,
 * without their headers: handles are words, and a row of libraries/mpi.def says which argument is
 * what. What an argument does not tell is asked of the implementation, by functions that send no
 * message.
 */
#ifndef TRACER_MPI_MPI_H
#define TRACER_MPI_MPI_H

#include <stdbool.h>
#include <stdint.h>

#include "common/schema/mpi_spool.h"
#include "common/spool.h"
#include "tracer/core/call_hooks.h"
#include "tracer/core/thread.h"

/* MPI_STANDARD: the binary interface of MPI 5, of any implementation (libmpi_abi.so). */
enum mpi_implementation { MPI_UNKNOWN, MPI_OPEN_MPI, MPI_MPICH, MPI_STANDARD };

/* Functions of the implementation that the program uses, and what differs between them. */
struct mpi_library {
	int (*initialized)(int *ret_is);
	int (*finalized)(int *ret_is);
	int (*type_size)(uint64_t type, int *ret_bytes);
	int (*comm_size)(uint64_t comm, int *ret_size);
	int (*comm_rank)(uint64_t comm, int *ret_rank);
	int (*comm_test_inter)(uint64_t comm, int *ret_is_inter);
	int (*comm_group)(uint64_t comm, uint64_t *ret_group);
	int (*group_free)(uint64_t *group);
	int (*translate)(uint64_t group, int count, const int *ranks, uint64_t to, int *ret_ranks);
	uint64_t world, null, null_type; /* MPI_COMM_WORLD, MPI_COMM_NULL, MPI_DATATYPE_NULL */
	enum mpi_implementation implementation;
	int32_t any_source, any_tag, proc_null;
	uint64_t in_place;
	uint32_t status_source, status_tag; /* index of the int in MPI_Status */
};
extern struct mpi_library mpi_library __attribute__((visibility("hidden")));

/* Find the functions in the library that has the function `real`, unless it is no implementation
 * that is known, or one was found before. Takes the loader's lock: before the first call only. */
void mpi_library_find(uint64_t real);

/* Return true if a library was found. */
static inline bool mpi_is_known(void)
{
	return __atomic_load_n(&mpi_library.implementation, __ATOMIC_ACQUIRE) != MPI_UNKNOWN;
}

/* Return true for a type of the implementation's own: its size never changes. */
bool mpi_type_is_predefined(uint64_t type);

/* Allocate the table of types. Return false if there is no memory. */
bool mpi_types_start(void);

/* Return the size of a type that the program uses now; -1 = unknown. */
int64_t mpi_type_bytes(uint64_t type);

/* Remember the size of a type that was committed; forget one that is about to be freed, since its
 * handle may be used again. */
void mpi_type_note(uint64_t type);
void mpi_type_forget(uint64_t type);

/* Handles of MPICH have 32 bits; others are addresses, or small numbers in place of them. */
static inline uint32_t mpi_handle_bytes(void)
{
	return mpi_library.implementation == MPI_MPICH ? 4 : 8;
}

/* Return the handle in a word of an argument; the handle that a pointer leads to, 0 for NULL. */
static inline uint64_t mpi_handle(uint64_t word)
{
	return mpi_handle_bytes() == 4 ? (uint32_t)word : word;
}
uint64_t mpi_handle_at(uint64_t address);

/* Allocate the table of communicators. */
bool mpi_communicators_start(void);
void mpi_communicators_forked(void);

/* What is remembered of a communicator that was recorded. */
struct mpi_place {
	int size, rank;
	bool is_inter; /* between two groups: the size and rank are those of the own one */
};

/* Record the rank of the process and the communicator, if that was not done yet. `parent` may be 0.
 * Return what is remembered of it, until it is forgotten; NULL = nothing, as it was not recorded.
 * Not within the thread's guard. */
const struct mpi_place *mpi_communicator_note(uint64_t comm, uint64_t parent, uint64_t tick);

/* Forget a communicator that is about to be freed: its handle may be used again. */
void mpi_communicator_forget(uint64_t comm);

/* Write the record of a call, as mpi_record() does; where the call has a record with words, its
 * hook adds it to that one. */
void mpi_call_record(
	uint64_t tick, uint64_t ticks, enum mpi_class class, const struct mpi_call *call);

/* Write a record to the lane of the calling thread. Count it as dropped if the tracer runs on this
 * thread. */
void mpi_record(
	uint64_t tick, uint32_t kind, uint64_t a, uint64_t b, const void *payload, uint64_t bytes);

#endif
