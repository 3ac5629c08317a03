/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.c - the implementation of MPI that the program uses.
 */
#define _GNU_SOURCE
#include "tracer/mpi/mpi.h"

#include <dlfcn.h>

#include "common/text.h"
#include "tracer/base/libc.h"

struct mpi_library mpi_library;

/* Return the handle of an object of Open MPI. Programs may have a copy of the object, which is then
 * the one: so it is looked up as they would. */
static uint64_t open_mpi_handle(void *library, const char *name)
{
	void *object = libc.dlsym(RTLD_DEFAULT, name);
	return (uint64_t)(uintptr_t)(object ? object : libc.dlsym(library, name));
}

/* Return true for MPICH, and what promises to be compatible with it: such libraries have this name.
 */
static bool is_mpich(const char *file)
{
	const char *name = text_base_name(file);
	return text_begins(name, "libmpich.so") || text_begins(name, "libmpi.so.12");
}

static void constants_set(struct mpi_library *m, void *library, const char *file)
{
	uint64_t world = open_mpi_handle(library, "ompi_mpi_comm_world");
	if (world) {
		*m = (struct mpi_library){.implementation = MPI_OPEN_MPI,
			.world = world,
			.null = open_mpi_handle(library, "ompi_mpi_comm_null"),
			.null_type = open_mpi_handle(library, "ompi_mpi_datatype_null"),
			.any_source = -1,
			.proc_null = -2,
			.in_place = 1,
			.status_source = 0,
			.status_tag = 1};
	} else if (is_mpich(file)) {
		*m = (struct mpi_library){.implementation = MPI_MPICH,
			.world = 0x44000000,
			.null = 0x04000000,
			.null_type = 0x0c000000,
			.any_source = -2,
			.proc_null = -1,
			.in_place = UINT64_MAX,
			.status_source = 2,
			.status_tag = 3};
	}
}

bool mpi_library_find(uint64_t real)
{
	static uint32_t state; /* 1 being looked up or incomplete, 2 complete */
	uint32_t none = 0;
	const char *file = NULL;
	if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == 2)
		return true;
	if (!__atomic_compare_exchange_n(
		    &state, &none, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
		return none == 2;
	void *library = libc_library_of(real, &file);
	if (!library)
		return false;
	struct mpi_library *m = &mpi_library;
	constants_set(m, library, file);
	libc_function_find(library, "PMPI_Initialized", &m->initialized);
	libc_function_find(library, "PMPI_Finalized", &m->finalized);
	libc_function_find(library, "PMPI_Type_size", &m->type_size);
	libc_function_find(library, "PMPI_Comm_size", &m->comm_size);
	libc_function_find(library, "PMPI_Comm_rank", &m->comm_rank);
	libc_function_find(library, "PMPI_Comm_test_inter", &m->comm_test_inter);
	libc_function_find(library, "PMPI_Comm_group", &m->comm_group);
	libc_function_find(library, "PMPI_Group_free", &m->group_free);
	libc_function_find(library, "PMPI_Group_translate_ranks", &m->translate);
	if (!m->implementation || !m->initialized || !m->finalized || !m->type_size ||
		!m->comm_size || !m->comm_rank || !m->comm_test_inter || !m->comm_group ||
		!m->group_free || !m->translate)
		return false;
	__atomic_store_n(&state, 2, __ATOMIC_RELEASE);
	return true;
}

uint64_t mpi_handle(uint64_t word)
{
	return mpi_library.implementation == MPI_MPICH ? (uint32_t)word : word;
}

uint64_t mpi_handle_at(uint64_t address)
{
	const void *place = (const void *)(uintptr_t)address;
	if (!place)
		return 0;
	return mpi_library.implementation == MPI_MPICH ? *(const uint32_t *)place
						       : *(const uint64_t *)place;
}
