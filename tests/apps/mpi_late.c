/* SPDX-License-Identifier: Apache-2.0 */
// CC: mpicc.mpich
/*
 * mpi_late.c LATE ROUNDS [FILE] - rank LATE sleeps for 20 ms before each of ROUNDS collectives, by
 * turns an all-reduce and a barrier. With FILE, rank 0 then writes its process id there, and waits
 * for a message that nobody sends.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank = -1, late = argc > 1 ? atoi(argv[1]) : 0, rounds = argc > 2 ? atoi(argv[2]) : 0,
	    sum = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < rounds; i++) {
		if (rank == late)
			usleep(20000);
		if (i % 2)
			MPI_Barrier(MPI_COMM_WORLD);
		else
			MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
	if (argc > 3 && rank == 0) {
		FILE *out = fopen(argv[3], "w");
		fprintf(out, "%d\n", (int)getpid());
		fclose(out);
		MPI_Recv(&sum, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	MPI_Finalize();
	return 0;
}
