/* SPDX-License-Identifier: Apache-2.0 */
// CC: mpicc.mpich
/*
 * mpi_calls.c - the ns of processor time that a call of MPI takes, or the instructions.
 *
 *     mpi_calls [ROUNDS]                       prints the ns of each kind of call, as the least of
 * ten blocks stepcount mpi_calls ROUNDS KIND          counts the instructions of ROUNDS calls:
 * send, derived, ...
 *
 * Run it with and without the tracer: trace run -t mpi -- mpi_calls. The kinds need no other rank.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

#define WARM 1000
#define BLOCKS 10

static int value, sum;
static MPI_Datatype pair;

static void send(void)
{
	MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
}

static void derived(void)
{
	MPI_Send(&value, 1, pair, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
}

static void receive(void)
{
	MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void barrier(void)
{
	MPI_Barrier(MPI_COMM_SELF);
}

static void reduce(void)
{
	MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
}

static void rank(void)
{
	MPI_Comm_rank(MPI_COMM_WORLD, &value);
}

static const struct {
	const char *name, *title;
	void (*call)(void);
} kinds[] = {{"send", "MPI_Send to MPI_PROC_NULL", send},
	{"derived", "the same of a derived type", derived},
	{"receive", "MPI_Recv from MPI_PROC_NULL", receive},
	{"barrier", "MPI_Barrier of one rank", barrier},
	{"reduce", "MPI_Allreduce of one rank", reduce},
	{"rank", "MPI_Comm_rank, a call without a message", rank}};

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double block_ns(void (*call)(void), int rounds)
{
	double begin = now_ns();
	for (int i = 0; i < rounds; i++)
		call();
	return (now_ns() - begin) / rounds;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 200000;
	MPI_Init(&argc, &argv);
	MPI_Type_contiguous(2, MPI_INT, &pair);
	MPI_Type_commit(&pair);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		if (argc > 2 && strcmp(argv[2], kinds[k].name))
			continue;
		double least = block_ns(kinds[k].call, WARM);
		if (argc > 2) {
			STEP_MARK();
			block_ns(kinds[k].call, rounds);
			STEP_MARK();
			continue;
		}
		for (int i = 0; i < BLOCKS; i++) {
			double ns = block_ns(kinds[k].call, rounds / BLOCKS);
			least = ns < least ? ns : least;
		}
		printf("%s: %.1f ns\n", kinds[k].title, least);
	}
	MPI_Type_free(&pair);
	MPI_Finalize();
	return 0;
}
