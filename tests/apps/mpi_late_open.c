/* SPDX-License-Identifier: Apache-2.0 */
// CC: mpicc.openmpi
/* mpi_late_open.c - mpi_late.c, built with Open MPI. */
#include "mpi_late.c"
