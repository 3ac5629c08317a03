/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_ranks.c LIBRARY HOW - an MPI program that needs no MPI headers: it loads Open MPI's library,
 * whose handles are addresses, or MPICH's, whose handles are numbers. Each rank prints the sum over
 * all ranks. Then, by HOW: plain; status: all end with 3; and rank 1 alone: abort: calls
 * MPI_Abort(7); exit: ends with 5 without MPI_Finalize; kill: is killed by SIGKILL.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *library;

/* Return a function, or an object whose address is the handle. */
static void *find(const char *name)
{
	void *found = dlsym(library, name);
	if (!found) {
		fprintf(stderr, "mpi_ranks: there is no %s\n", name);
		exit(99);
	}
	return found;
}

static intptr_t handle(const char *open_mpi, intptr_t mpich)
{
	return dlsym(library, open_mpi) ? (intptr_t)dlsym(library, open_mpi) : mpich;
}

/* Call a function of MPI; handles and numbers are passed in the same way. */
static void call(
	const char *name, intptr_t a, intptr_t b, intptr_t c, intptr_t d, intptr_t e, intptr_t f)
{
	int (*function)(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t);
	*(void **)(void *)&function = find(name);
	if (function(a, b, c, d, e, f)) {
		fprintf(stderr, "mpi_ranks: %s failed\n", name);
		exit(98);
	}
}

static void misbehave(const char *how, intptr_t world)
{
	if (!strcmp(how, "abort"))
		call("MPI_Abort", world, 7, 0, 0, 0, 0);
	if (!strcmp(how, "exit"))
		exit(5);
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
}

int main(int argc, char **argv)
{
	int rank = -1, size = -1, sum = -1;
	if (argc != 3 || !(library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL))) {
		fprintf(stderr, "mpi_ranks: %s\n", argc == 3 ? dlerror() : "LIBRARY HOW");
		return 97;
	}
	intptr_t world = handle("ompi_mpi_comm_world", 0x44000000);
	call("MPI_Init", 0, 0, 0, 0, 0, 0);
	call("MPI_Comm_rank", world, (intptr_t)&rank, 0, 0, 0, 0);
	call("MPI_Comm_size", world, (intptr_t)&size, 0, 0, 0, 0);
	call("MPI_Allreduce", (intptr_t)&rank, (intptr_t)&sum, 1,
		handle("ompi_mpi_int", 0x4c000405), handle("ompi_mpi_op_sum", 0x58000003), world);
	printf("rank %d of %d: %d\n", rank, size, sum);
	fflush(stdout);
	if (rank == 1)
		misbehave(argv[2], world);
	call("MPI_Barrier", world, 0, 0, 0, 0, 0);
	call("MPI_Finalize", 0, 0, 0, 0, 0, 0);
	return strcmp(argv[2], "status") ? 0 : 3;
}
