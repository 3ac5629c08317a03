/* SPDX-License-Identifier: Apache-2.0 */
// CC: mpicc.openmpi
// NEEDS: nvtx
/* mpi_rounds_open.c - mpi_rounds.c, built with Open MPI. */
#include "mpi_rounds.c"
