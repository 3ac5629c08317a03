/* SPDX-License-Identifier: Apache-2.0 */
// CC: mpicc.openmpi
/* mpi_messages_open.c - mpi_messages.c, built with Open MPI. */
#include "mpi_messages.c"
