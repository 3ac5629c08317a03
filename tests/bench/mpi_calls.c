/* SPDX-License-Identifier: Apache-2.0 */
// CC: mpicc.mpich
/* mpi_calls.c ROUNDS - print the ns that a call of MPI takes: a send to nobody, a barrier of one.
 * Run it with and without the tracer: mpi_calls 200000; trace run -t mpi -- mpi_calls 200000 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 200000;
	double begin;
	MPI_Init(&argc, &argv);
	for (int i = 0; i < 1000; i++)
		MPI_Send(&rounds, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
	begin = now_ns();
	for (int i = 0; i < rounds; i++)
		MPI_Send(&rounds, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
	printf("MPI_Send to MPI_PROC_NULL: %.1f ns\n", (now_ns() - begin) / rounds);
	begin = now_ns();
	for (int i = 0; i < rounds; i++)
		MPI_Barrier(MPI_COMM_SELF);
	printf("MPI_Barrier of one rank: %.1f ns\n", (now_ns() - begin) / rounds);
	MPI_Finalize();
	return 0;
}
