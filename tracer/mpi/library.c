/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.c - the implementation of MPI that the program uses.
 */
#define _GNU_SOURCE
#include "tracer/mpi/mpi.h"

#include <dlfcn.h>

#include "common/text.h"
#include "tracer/base/libc.h"
#include "tracer/core/bounded_lock.h"

struct mpi_library mpi_library;
static uint32_t library_lock; /* bounded: of mpi_library and types; not held in the loader */

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
struct open_mpi_types {
	uint64_t types[OPEN_MPI_TYPES], first, last;
};
static struct open_mpi_types types;

/* Return the handle of an object of Open MPI. Programs may have a copy of the object, which is then
 * the one: so it is looked up as they would. */
static uint64_t open_mpi_handle(void *library, const char *name)
{
	void *object = libc.dlsym(RTLD_DEFAULT, name);
	return (uint64_t)(uintptr_t)(object ? object : libc.dlsym(library, name));
}

static void open_mpi_types_find(struct open_mpi_types *found, void *library)
{
	char name[64];
	found->first = UINT64_MAX;
	for (uint32_t i = 0; i < OPEN_MPI_TYPES; i++) {
		size_t at = text_append(name, sizeof(name), 0, "ompi_mpi_");
		text_append(name, sizeof(name), at, open_mpi_types[i]);
		uint64_t type = found->types[i] = open_mpi_handle(library, name);
		if (type && type < found->first)
			found->first = type;
		if (type > found->last)
			found->last = type;
	}
}

static bool open_mpi_type_is_known(uint64_t type)
{
	for (uint32_t i = 0; type >= types.first && type <= types.last && i < OPEN_MPI_TYPES; i++)
		if (types.types[i] == type)
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

/* Return true for MPICH, and what promises to be compatible with it: such libraries have this name;
 * but so has Open MPI 1.10. */
static bool is_mpich(const char *name, uint64_t comm_size)
{
	return text_begins(name, "libmpich.so") ||
		(text_begins(name, "libmpi.so.12") &&
			!libc_find_beside(comm_size, "ompi_mpi_comm_world"));
}

static void constants_set(
	struct mpi_library *m, struct open_mpi_types *t, void *library, const char *file)
{
	const char *name = text_base_name(file);
	if (text_begins(name, "libmpi_abi.so")) {
		*m = (struct mpi_library){.implementation = MPI_STANDARD,
			.world = 0x101,
			.null = 0x100,
			.null_type = 0x200,
			.any_source = -1,
			.any_tag = -2,
			.proc_null = -3,
			.in_place = 1,
			.status_source = 0,
			.status_tag = 1};
	} else if (is_mpich(name, (uint64_t)(uintptr_t)m->comm_size)) {
		*m = (struct mpi_library){.implementation = MPI_MPICH,
			.world = 0x44000000,
			.null = 0x04000000,
			.null_type = 0x0c000000,
			.any_source = -2,
			.any_tag = -1,
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
			.any_tag = -1,
			.proc_null = -2,
			.in_place = 1,
			.status_source = 0,
			.status_tag = 1};
		open_mpi_types_find(t, library);
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

/* Publish what was found, unless another thread has been faster: functions are looked up by several
 * at a time. */
static void library_set(const struct mpi_library *found, const struct open_mpi_types *found_types)
{
	struct mpi_library unpublished = *found;
	unpublished.implementation = MPI_UNKNOWN;
	if (!bounded_lock_take(&library_lock))
		return;
	if (!mpi_is_known()) {
		mpi_library = unpublished;
		types = *found_types;
		__atomic_store_n(
			&mpi_library.implementation, found->implementation, __ATOMIC_RELEASE);
	}
	bounded_lock_give(&library_lock);
}

void mpi_library_find(uint64_t real)
{
	struct mpi_library found = {.implementation = MPI_UNKNOWN};
	struct open_mpi_types found_types = {.first = 0};
	const char *file = NULL;
	void *library = NULL;
	if (mpi_is_known() || !libc_library_of(real, "PMPI_Comm_size", &library, &file))
		return;
	libc_function_find(library, "PMPI_Comm_size", &found.comm_size);
	constants_set(&found, &found_types, library, file);
	if (found.implementation && functions_find(&found, library))
		library_set(&found, &found_types);
}

uint64_t mpi_handle_at(uint64_t address)
{
	const void *place = (const void *)(uintptr_t)address;
	if (!place)
		return 0;
	return mpi_handle_bytes() == 4 ? *(const uint32_t *)place : *(const uint64_t *)place;
}
