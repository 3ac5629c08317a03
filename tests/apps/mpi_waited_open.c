/* SPDX-License-Identifier: Apache-2.0 */
// CC: mpicc.openmpi
/* mpi_waited_open.c - mpi_waited.c, built with Open MPI. */
#include "mpi_waited.c"
