/* SPDX-License-Identifier: Apache-2.0 */
// CC: mpicc.mpich
// NEEDS: nvtx
/*
 * mpi_rounds.c LATE ROUNDS US - in each of ROUNDS rounds, ranks exchange messages with their
 * neighbors in a ring, rank LATE sleeps for US microseconds in the NVTX range "planted", and all
 * meet in an all-reduce or a barrier, by turns. Without LATE (-1), nobody sleeps.
 */
#include <mpi.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TAG 7

/* Send around the ring and back; the first rank begins. Without others, nothing: MPICH does not
 * complete a send to its own rank. */
static void exchange(int rank, int size)
{
	int data[16] = {0};
	if (size == 1)
		return;
	for (int way = 1; way >= -1; way -= 2) {
		const int next = (rank + way + size) % size, before = (rank - way + size) % size;
		if (rank == 0)
			MPI_Send(data, 16, MPI_INT, next, TAG, MPI_COMM_WORLD);
		MPI_Recv(data, 16, MPI_INT, before, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (rank != 0)
			MPI_Send(data, 16, MPI_INT, next, TAG, MPI_COMM_WORLD);
	}
}

int main(int argc, char **argv)
{
	int rank = -1, size = 0, sum = 0;
	const int late = argc > 1 ? atoi(argv[1]) : -1, rounds = argc > 2 ? atoi(argv[2]) : 1;
	const useconds_t us = argc > 3 ? (useconds_t)atoi(argv[3]) : 2000;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < rounds; i++) {
		exchange(rank, size);
		nvtxRangePushA(rank == late ? "planted" : "work");
		if (rank == late)
			usleep(us);
		nvtxRangePop();
		if (i % 2)
			MPI_Barrier(MPI_COMM_WORLD);
		else
			MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return 0;
}
