/* SPDX-License-Identifier: Apache-2.0 */
// CC: mpicc.openmpi
/* mpi_calls_open.c - mpi_calls.c, built with Open MPI. */
#include "mpi_calls.c"
