/* SPDX-License-Identifier: Apache-2.0 */
// CC: mpicc.mpich
// CFLAGS: -Wno-stringop-overflow
/*
 * mpi_messages.c LOG - an MPI program of 3 ranks that knows what its calls move. Rank R writes to
 * LOG.R a line for each row that is expected in the tables of nsys, in the order of the calls:
 *
 *   p2p FUNCTION TAG PEER SIZE
 *   collective FUNCTION ROOT SIZE RECEIVED
 *   wait FUNCTION
 *   other FUNCTION
 *   communicator SIZE LOCAL_RANK GROUP_ROOT
 *
 * -1 is NULL. The sizes of collectives are those that nsys 2023.4 shows of the same calls.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define RANKS 3
#define S ((int)sizeof(double))

static FILE *out;
static int rank;
static double sent[16 * RANKS], received[16 * RANKS];

static void p2p(const char *name, int tag, int peer, int size)
{
	fprintf(out, "p2p %s %d %d %d\n", name, tag, peer, size);
}

static void collective(const char *name, int root, int size, int got)
{
	fprintf(out, "collective %s %d %d %d\n", name, root, size, got);
}

static void waited(const char *name, int count)
{
	for (int i = 0; i < count; i++)
		fprintf(out, "wait %s\n", name);
}

static void other(const char *name)
{
	fprintf(out, "other %s\n", name);
}

static void messages(void)
{
	MPI_Status status;
	int next = (rank + 1) % RANKS, previous = (rank + RANKS - 1) % RANKS;
	if (rank == 0) {
		MPI_Send(sent, 5, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);
		p2p("MPI_Send", 7, 1, 5 * S);
		MPI_Ssend(sent, 3, MPI_DOUBLE, 1, 8, MPI_COMM_WORLD);
		p2p("MPI_Ssend", 8, 1, 3 * S);
	} else if (rank == 1) { /* whoever sends, whatever the tag is, and nobody wants to know */
		MPI_Recv(received, 5, MPI_DOUBLE, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE);
		p2p("MPI_Recv", 7, 0, 5 * S);
		MPI_Recv(received, 3, MPI_DOUBLE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
		p2p("MPI_Recv", 8, 0, 3 * S);
		if (status.MPI_SOURCE != 0 || status.MPI_TAG != 8)
			fprintf(out, "the status is wrong\n");
	}
	MPI_Sendrecv(sent, 2, MPI_DOUBLE, next, 9, received, 2, MPI_DOUBLE, previous, 9,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	p2p("MPI_Sendrecv", 9, next, 2 * S);
	MPI_Send(sent, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
	other("MPI_Send");
}

static void requests(void)
{
	MPI_Request r[2], again;
	int next = (rank + 1) % RANKS, previous = (rank + RANKS - 1) % RANKS, flag = 0;
	MPI_Irecv(received, 4, MPI_DOUBLE, previous, 11, MPI_COMM_WORLD, &r[0]);
	p2p("MPI_Irecv", 11, previous, 4 * S);
	MPI_Isend(sent, 4, MPI_DOUBLE, next, 11, MPI_COMM_WORLD, &r[1]);
	p2p("MPI_Isend", 11, next, 4 * S);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	waited("MPI_Waitall", 2);
	MPI_Recv_init(received, 1, MPI_DOUBLE, previous, 12, MPI_COMM_WORLD, &again);
	p2p("MPI_Recv_init", 12, previous, S);
	for (int i = 0; i < 2; i++) {
		MPI_Start(&again);
		waited("MPI_Start", 1);
		MPI_Bsend(sent, 1, MPI_DOUBLE, next, 12, MPI_COMM_WORLD);
		p2p("MPI_Bsend", 12, next, S);
		MPI_Wait(&again, MPI_STATUS_IGNORE);
		waited("MPI_Wait", 1);
	}
	MPI_Request_free(&again);
	MPI_Ibarrier(MPI_COMM_WORLD, &r[0]);
	collective("MPI_Ibarrier", -1, -1, -1);
	while (!flag)
		MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE);
	waited("MPI_Test", 1);
}

/* Only requests that have completed have rows. */
static void some_of_many(void)
{
	MPI_Request r[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
	int index = 0, count = 0, indices[3], flag = 0;
	MPI_Testany(3, r, &index, &flag, MPI_STATUS_IGNORE);
	MPI_Testsome(3, r, &count, indices, MPI_STATUSES_IGNORE);
	MPI_Ibarrier(MPI_COMM_WORLD, &r[1]);
	collective("MPI_Ibarrier", -1, -1, -1);
	MPI_Waitany(3, r, &index, MPI_STATUS_IGNORE);
	waited("MPI_Waitany", 1);
	MPI_Ibarrier(MPI_COMM_WORLD, &r[2]);
	collective("MPI_Ibarrier", -1, -1, -1);
	for (flag = 0; !flag;)
		MPI_Testany(3, r, &index, &flag, MPI_STATUS_IGNORE);
	waited("MPI_Testany", 1);
	MPI_Ibarrier(MPI_COMM_WORLD, &r[0]);
	collective("MPI_Ibarrier", -1, -1, -1);
	MPI_Waitsome(3, r, &count, indices, MPI_STATUSES_IGNORE);
	waited("MPI_Waitsome", count);
	MPI_Ibarrier(MPI_COMM_WORLD, &r[2]);
	collective("MPI_Ibarrier", -1, -1, -1);
	for (count = 0; count <= 0;)
		MPI_Testsome(3, r, &count, indices, MPI_STATUSES_IGNORE);
	waited("MPI_Testsome", count);
	MPI_Ibarrier(MPI_COMM_WORLD, &r[0]);
	collective("MPI_Ibarrier", -1, -1, -1);
	for (flag = 0; !flag;)
		MPI_Testall(1, r, &flag, MPI_STATUSES_IGNORE);
	waited("MPI_Testall", 1);
}

/* Arguments of the side that is in place are ignored, and are no valid ones. */
static void in_place(MPI_Comm comm, int ranks, int me)
{
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, received, 3, MPI_DOUBLE, comm);
	collective("MPI_Allgather", -1, 3 * S * (ranks - 1), 3 * S * (ranks - 1));
	if (me == 0)
		MPI_Gather(MPI_IN_PLACE, -5, MPI_DATATYPE_NULL, received, 2, MPI_DOUBLE, 0, comm);
	else
		MPI_Gather(sent, 2, MPI_DOUBLE, NULL, -5, MPI_DATATYPE_NULL, 0, comm);
	collective("MPI_Gather", 0, me == 0 ? -1 : 2 * S, me == 0 ? 2 * S * ranks : -1);
	if (me == 0)
		MPI_Scatter(sent, 2, MPI_DOUBLE, MPI_IN_PLACE, -5, MPI_DATATYPE_NULL, 0, comm);
	else
		MPI_Scatter(NULL, -5, MPI_DATATYPE_NULL, received, 2, MPI_DOUBLE, 0, comm);
	collective("MPI_Scatter", 0, me == 0 ? 2 * S * ranks : -1, me == 0 ? -1 : 2 * S);
	MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, received, (int[]){1, 1, 1},
		(int[]){0, 1, 2}, MPI_DOUBLE, comm);
	collective("MPI_Alltoallv", -1, S * ranks, S * ranks);
}

static void collectives(MPI_Comm comm, int ranks, int me)
{
	int counts[RANKS] = {1, 2, 3}, places[RANKS] = {0, 1, 3}, sum = ranks == 3 ? 6 : 3;
	MPI_Barrier(comm);
	collective("MPI_Barrier", -1, -1, -1);
	MPI_Bcast(sent, 6, MPI_DOUBLE, 1, comm);
	collective("MPI_Bcast", 1, me == 1 ? 6 * S * ranks : -1, me == 1 ? -1 : 6 * S);
	MPI_Reduce(sent, received, 4, MPI_DOUBLE, MPI_SUM, 0, comm);
	collective("MPI_Reduce", 0, 4 * S, me == 0 ? 4 * S * ranks : -1);
	MPI_Gather(sent, 2, MPI_DOUBLE, received, 2, MPI_DOUBLE, 0, comm);
	collective("MPI_Gather", 0, 2 * S, me == 0 ? 2 * S * ranks : -1);
	MPI_Scatter(sent, 2, MPI_DOUBLE, received, 2, MPI_DOUBLE, 0, comm);
	collective("MPI_Scatter", 0, me == 0 ? 2 * S * ranks : -1, 2 * S);
	MPI_Allreduce(sent, received, 8, MPI_DOUBLE, MPI_SUM, comm);
	collective("MPI_Allreduce", -1, 8 * S * ranks, 8 * S * ranks);
	MPI_Allreduce(MPI_IN_PLACE, received, 8, MPI_DOUBLE, MPI_SUM, comm);
	collective("MPI_Allreduce", -1, 8 * S * (ranks - 1), 8 * S * (ranks - 1));
	MPI_Allgather(sent, 3, MPI_DOUBLE, received, 3, MPI_DOUBLE, comm);
	collective("MPI_Allgather", -1, 3 * S * ranks, 3 * S * ranks);
	in_place(comm, ranks, me);
	MPI_Allgatherv(sent, counts[me], MPI_DOUBLE, received, counts, places, MPI_DOUBLE, comm);
	collective("MPI_Allgatherv", -1, counts[me] * S * ranks, sum * S);
	MPI_Alltoall(sent, 2, MPI_DOUBLE, received, 2, MPI_DOUBLE, comm);
	collective("MPI_Alltoall", -1, 2 * S * ranks, 2 * S * ranks);
	MPI_Scan(sent, received, 5, MPI_DOUBLE, MPI_SUM, comm);
	collective("MPI_Scan", -1, 5 * S * (ranks - me), 5 * S * (me + 1));
}

/* Requests of one-sided calls are waited for like others. */
static void one_sided(void)
{
	MPI_Win window;
	MPI_Request r;
	int next = (rank + 1) % RANKS;
	MPI_Win_create(received, sizeof(received), S, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
	other("MPI_Win_create");
	MPI_Win_lock_all(0, window);
	other("MPI_Win_lock_all");
	MPI_Rput(sent, 3, MPI_DOUBLE, next, 0, 3, MPI_DOUBLE, window, &r);
	other("MPI_Rput");
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	waited("MPI_Wait", 1);
	MPI_Get_accumulate(sent, 2, MPI_DOUBLE, received + 8, 2, MPI_DOUBLE, next, 4, 2, MPI_DOUBLE,
		MPI_SUM, window);
	other("MPI_Get_accumulate");
	MPI_Fetch_and_op(sent, received + 8, MPI_DOUBLE, next, 4, MPI_SUM, window);
	other("MPI_Fetch_and_op");
	MPI_Win_flush(next, window);
	other("MPI_Win_flush");
	MPI_Win_unlock_all(window);
	other("MPI_Win_unlock_all");
	MPI_Win_free(&window);
	other("MPI_Win_free");
}

/* A collective that is started when its request is. */
static void persistent(void)
{
#if MPI_VERSION >= 4
	MPI_Request r;
	MPI_Allreduce_init(
		sent, received, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
	other("MPI_Allreduce_init");
	MPI_Start(&r);
	waited("MPI_Start", 1);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	waited("MPI_Wait", 1);
	MPI_Request_free(&r);
#endif
}

/* Its functions are named as others are, but have their request two arguments later. */
static void partitioned(void)
{
#if MPI_VERSION >= 4
	MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
	int next = (rank + 1) % RANKS, previous = (rank + RANKS - 1) % RANKS;
	MPI_Psend_init(sent, 1, 2, MPI_DOUBLE, next, 13, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
	MPI_Precv_init(
		received, 1, 2, MPI_DOUBLE, previous, 13, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
	for (int i = 0; i < 2; i++) {
		MPI_Start(&r[i]);
		waited("MPI_Start", 1);
	}
	MPI_Pready(0, r[0]);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	waited("MPI_Waitall", 2);
	MPI_Request_free(&r[0]);
	MPI_Request_free(&r[1]);
#endif
}

int main(int argc, char **argv)
{
	char path[4096];
	static char buffer[4096];
	MPI_Comm copy, part;
	int size = 0, me = 0;
	void *detached;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	snprintf(path, sizeof(path), "%s.%d", argc > 1 ? argv[1] : "mpi", rank);
	if (size != RANKS || !(out = fopen(path, "w")))
		return 1;
	fprintf(out, "communicator %d %d %d\n", size, rank, 0);
	other("MPI_Init");
	MPI_Buffer_attach(buffer, sizeof(buffer));
	messages();
	requests();
	some_of_many();
	collectives(MPI_COMM_WORLD, RANKS, rank);
	one_sided();
	persistent();
	partitioned();
	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	fprintf(out, "communicator %d %d %d\n", size, rank, 0);
	/* Ranks 2 and 0, in this order; rank 1 has none. */
	MPI_Comm_split(copy, rank == 1 ? MPI_UNDEFINED : 0, -rank, &part);
	if (part != MPI_COMM_NULL) {
		MPI_Comm_rank(part, &me);
		fprintf(out, "communicator %d %d %d\n", 2, rank == 2 ? 0 : 1, 2);
		collectives(part, 2, me);
		MPI_Comm_free(&part);
	}
	MPI_Comm_free(&copy);
	MPI_Buffer_detach(&detached, &size);
	MPI_Finalize();
	other("MPI_Finalize");
	fclose(out);
	return 0;
}
