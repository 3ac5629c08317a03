/* SPDX-License-Identifier: Apache-2.0 */
// CC: mpicc.mpich
/*
 * mpi_waited.c - programs of three ranks whose critical path is known, as those of waited.c: each
 * stage is a function that sleeps.
 *
 * Usage: mpi_waited message|collective|root|other|persistent
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "stages.h"

#define TAG 5

static int rank, sent[4], got[4];

static void send_to(int to)
{
	MPI_Send(sent, 4, MPI_INT, to, TAG, MPI_COMM_WORLD);
}

static void receive_from(int from)
{
	MPI_Recv(got, 4, MPI_INT, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A message from rank 0 to 1, and one from 1 to 2, which waits for its request. */
static void message(void)
{
	MPI_Request request;
	if (rank == 0) {
		third();
		send_to(1);
	} else if (rank == 1) {
		first();
		receive_from(MPI_ANY_SOURCE);
		second();
		send_to(2);
	} else {
		MPI_Irecv(got, 4, MPI_INT, 1, TAG, MPI_COMM_WORLD, &request);
		aside();
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		first();
	}
}

/* All wait for rank 1, then for rank 2, then for rank 0. */
static void collective(void)
{
	static void (*const stages[][3])(void) = {
		{first, third, second}, {aside, first, second}, {first, aside, aside}};
	MPI_Request request;
	stages[0][rank]();
	MPI_Barrier(MPI_COMM_WORLD);
	stages[1][rank]();
	MPI_Allreduce(sent, got, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		first();
	MPI_Iallgather(sent, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	stages[2][rank]();
}

/* Others wait for the root, and the root for others. */
static void root(void)
{
	if (rank == 0)
		third();
	MPI_Bcast(sent, 4, MPI_INT, 0, MPI_COMM_WORLD);
	if (rank == 2)
		second();
	else
		aside();
	MPI_Reduce(sent, got, 4, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
	if (rank == 1)
		first();
}

/* A send that waits for its receive, then ranks that exchange messages, of which nobody says who
 * sent what was received. */
static void other(void)
{
	if (rank == 0) {
		MPI_Ssend(sent, 4, MPI_INT, 1, TAG, MPI_COMM_WORLD);
		second();
	} else if (rank == 1) {
		third();
		receive_from(0);
	}
	MPI_Sendrecv(sent, 4, MPI_INT, (rank + 1) % 3, TAG + 1, got, 4, MPI_INT, (rank + 2) % 3,
		TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (rank == 1)
		first();
}

/* Messages of requests that are used again: the second one is late. */
static void persistent(void)
{
	MPI_Request request = MPI_REQUEST_NULL;
	if (rank == 0)
		MPI_Recv_init(got, 4, MPI_INT, 1, TAG, MPI_COMM_WORLD, &request);
	else if (rank == 1)
		MPI_Send_init(sent, 4, MPI_INT, 0, TAG, MPI_COMM_WORLD, &request);
	for (int i = 0; i < 2 && rank < 2; i++) {
		if (i && rank)
			third();
		MPI_Start(&request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	if (rank == 0)
		first();
	if (rank < 2)
		MPI_Request_free(&request);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {{"message", message}, {"collective", collective}, {"root", root},
		{"other", other}, {"persistent", persistent}};
	int size = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes) && size == 3; i++)
		if (argc > 1 && !strcmp(argv[1], modes[i].name))
			modes[i].run();
	MPI_Finalize();
	return size != 3;
}
