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

/* ---- types of Open MPI ---- */

/* Types that have one object each, without "ompi_mpi_". */
static const char *const open_mpi_types[] = {"aint", "byte", "c_bool", "c_double_complex",
	"c_float_complex", "char", "character", "count", "cplex", "cxx_bool", "dblcplex", "dblprec",
	"double", "double_int", "float", "float_int", "int", "int16_t", "int32_t", "int64_t",
	"int8_t", "integer", "integer4", "integer8", "2int", "logical", "long", "long_double",
	"long_int", "long_long_int", "offset", "packed", "real", "real4", "real8", "short",
	"short_int", "signed_char", "uint16_t", "uint32_t", "uint64_t", "uint8_t", "unsigned",
	"unsigned_char", "unsigned_long", "unsigned_long_long", "unsigned_short", "wchar"};
#define OPEN_MPI_TYPES (sizeof(open_mpi_types) / sizeof(open_mpi_types[0]))
static uint64_t types[OPEN_MPI_TYPES], types_first = UINT64_MAX, types_last;

/* Return the handle of an object of Open MPI. Programs may have a copy of the object, which is then
 * the one: so it is looked up as they would. */
static uint64_t open_mpi_handle(void *library, const char *name)
{
	void *object = libc.dlsym(RTLD_DEFAULT, name);
	return (uint64_t)(uintptr_t)(object ? object : libc.dlsym(library, name));
}

static void open_mpi_types_find(void *library)
{
	char name[64];
	for (uint32_t i = 0; i < OPEN_MPI_TYPES; i++) {
		size_t at = text_append(name, sizeof(name), 0, "ompi_mpi_");
		text_append(name, sizeof(name), at, open_mpi_types[i]);
		types[i] = open_mpi_handle(library, name);
		if (types[i] && types[i] < types_first)
			types_first = types[i];
		if (types[i] > types_last)
			types_last = types[i];
	}
}

static bool open_mpi_type_is_known(uint64_t type)
{
	for (uint32_t i = 0; type >= types_first && type <= types_last && i < OPEN_MPI_TYPES; i++)
		if (types[i] == type)
			return true;
	return false;
}

bool mpi_type_is_predefined(uint64_t type)
{
	switch (mpi_library.implementation) {
	case MPI_OPEN_MPI:
		return open_mpi_type_is_known(type);
	case MPI_MPICH:
		return type >> 30 == 1; /* the kind of a handle: "builtin" */
	case MPI_STANDARD:
		return type < 4096;
	default:
		return false;
	}
}

/* ---- the implementation ---- */

/* Return true for MPICH, and what promises to be compatible with it: such libraries have this name.
 */
static bool is_mpich(const char *name)
{
	return text_begins(name, "libmpich.so") || text_begins(name, "libmpi.so.12");
}

static void constants_set(struct mpi_library *m, void *library, const char *file)
{
	const char *name = text_base_name(file);
	if (text_begins(name, "libmpi_abi.so")) {
		*m = (struct mpi_library){.implementation = MPI_STANDARD,
			.world = 0x101,
			.null = 0x100,
			.null_type = 0x200,
			.any_source = -1,
			.proc_null = -3,
			.in_place = 1,
			.status_source = 0,
			.status_tag = 1};
	} else if (is_mpich(name)) {
		*m = (struct mpi_library){.implementation = MPI_MPICH,
			.world = 0x44000000,
			.null = 0x04000000,
			.null_type = 0x0c000000,
			.any_source = -2,
			.proc_null = -1,
			.in_place = UINT64_MAX,
			.status_source = 2,
			.status_tag = 3};
	} else if (open_mpi_handle(library, "ompi_mpi_comm_world")) {
		*m = (struct mpi_library){.implementation = MPI_OPEN_MPI,
			.world = open_mpi_handle(library, "ompi_mpi_comm_world"),
			.null = open_mpi_handle(library, "ompi_mpi_comm_null"),
			.null_type = open_mpi_handle(library, "ompi_mpi_datatype_null"),
			.any_source = -1,
			.proc_null = -2,
			.in_place = 1,
			.status_source = 0,
			.status_tag = 1};
		open_mpi_types_find(library);
	}
}

static bool functions_find(struct mpi_library *m, void *library)
{
	libc_function_find(library, "PMPI_Initialized", &m->initialized);
	libc_function_find(library, "PMPI_Finalized", &m->finalized);
	libc_function_find(library, "PMPI_Type_size", &m->type_size);
	libc_function_find(library, "PMPI_Comm_size", &m->comm_size);
	libc_function_find(library, "PMPI_Comm_rank", &m->comm_rank);
	libc_function_find(library, "PMPI_Comm_test_inter", &m->comm_test_inter);
	libc_function_find(library, "PMPI_Comm_group", &m->comm_group);
	libc_function_find(library, "PMPI_Group_free", &m->group_free);
	libc_function_find(library, "PMPI_Group_translate_ranks", &m->translate);
	return m->initialized && m->finalized && m->type_size && m->comm_size && m->comm_rank &&
		m->comm_test_inter && m->comm_group && m->group_free && m->translate;
}

void mpi_library_find(uint64_t real)
{
	struct mpi_library found = {.implementation = MPI_UNKNOWN};
	const char *file = NULL;
	void *library = NULL;
	if (mpi_is_known() || !libc_library_of(real, "PMPI_Comm_size", &library, &file))
		return;
	constants_set(&found, library, file);
	enum mpi_implementation implementation = found.implementation;
	if (!implementation || !functions_find(&found, library))
		return;
	found.implementation = MPI_UNKNOWN;
	mpi_library = found;
	__atomic_store_n(&mpi_library.implementation, implementation, __ATOMIC_RELEASE);
}

uint64_t mpi_handle_at(uint64_t address)
{
	const void *place = (const void *)(uintptr_t)address;
	if (!place)
		return 0;
	return mpi_handle_bytes() == 4 ? *(const uint32_t *)place : *(const uint64_t *)place;
}
