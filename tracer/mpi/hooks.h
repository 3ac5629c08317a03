/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.h - the hooks of the source `mpi`, for producers.def.
 */
#ifndef TRACER_MPI_HOOKS_H
#define TRACER_MPI_HOOKS_H

/* Allocate the tables, and give the hooks to the source `functions`. Once, before any event, and
 * before functions_start(). */
void mpi_start(void);

/* Forget, in a forked child, what was recorded in its parent's spool. */
void mpi_forked(void);

#endif
