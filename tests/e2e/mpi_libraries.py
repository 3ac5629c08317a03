#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Libraries of MPI that the program loads itself, or that have unusual names: stand-ins with one rank."""
import os
import platform
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import Report, folder, main, run, tap, trace  # noqa: E402

# Handles are addresses, as those of Open MPI; another one ends the program.
LIBRARY = """
struct world { int rank, size; };
#ifdef OPEN_MPI
struct world ompi_mpi_comm_world = {0, 1}, ompi_mpi_comm_null, ompi_mpi_datatype_null;
#endif
int MPI_Init(int *argc, char ***argv) { return 0; }
int MPI_Barrier(struct world *comm) { return comm->rank; }
int PMPI_Initialized(int *is) { *is = 1; return 0; }
int PMPI_Finalized(int *is) { *is = 0; return 0; }
int PMPI_Type_size(void *type, int *size) { *size = 1; return 0; }
int PMPI_Comm_size(struct world *comm, int *size) { *size = comm->size; return 0; }
int PMPI_Comm_rank(struct world *comm, int *rank) { *rank = comm->rank; return 0; }
int PMPI_Comm_test_inter(struct world *comm, int *is) { *is = 0; return 0; }
int PMPI_Comm_group(struct world *comm, void **group) { *group = comm; return 0; }
int PMPI_Group_free(void **group) { return 0; }
int PMPI_Group_translate_ranks(void *group, int count, const int *ranks, void *to, int *result)
{
	for (int i = 0; i < count; i++)
		result[i] = ranks[i];
	return 0;
}
"""
CALLS = """
extern struct world { int rank, size; } ompi_mpi_comm_world;
int MPI_Init(void *, void *);
int MPI_Barrier(struct world *);
int calls(void) { return MPI_Init(0, 0) + MPI_Barrier(&ompi_mpi_comm_world); }
"""
LINKED = CALLS + "int main(void) { return calls(); }"
RELOADS = """
#include <dlfcn.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < 2; i++) {
		void *plug_in = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
		if (!plug_in || ((int (*)(void))dlsym(plug_in, "calls"))())
			return 1;
		dlclose(plug_in);
		if (!dlopen("libmpi.so.40", RTLD_NOW | RTLD_NOLOAD) != !argv[2])
			return 2;
	}
	return 0;
}
"""
LOOKS_UP = """
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	void *library = dlopen(argv[1], RTLD_NOW);
	dlerror();
	int (*init)(void *, void *) = dlsym(library, "MPI_Init");
	char *error = dlerror();
	printf("%s\\n", error ? error : "none");
	return init(0, 0);
}
"""
# Functions that create a communicator, by the number of arguments before its address.
CREATORS = {"Comm_dup": 1, "Comm_dup_with_info": 2, "Comm_idup": 1, "Comm_idup_with_info": 2, "Comm_split": 3, "Comm_split_type": 4, "Comm_create": 2,
            "Comm_create_group": 3, "Cart_create": 5, "Cart_sub": 2, "Graph_create": 5, "Dist_graph_create": 8, "Dist_graph_create_adjacent": 9,
            "Intercomm_create": 5, "Intercomm_create_from_groups": 7, "Intercomm_merge": 2, "Comm_create_from_group": 4, "Comm_spawn": 6,
            "Comm_spawn_multiple": 7, "Comm_accept": 4, "Comm_connect": 4, "Comm_join": 1}


def build(place, name, text, *options):
    path = os.path.join(place, name)
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run([os.environ.get("CC", "gcc"), "-w", "-o", path, path + ".c", *options, "-ldl", "-Wl,-rpath," + place], check=True)
    return path


def library(place, name, *options):
    return build(place, name, LIBRARY, "-shared", "-fPIC", "-Wl,-soname," + name, *options)


def calls_of(place, *command):
    """Record the command, and return its output and the MPI calls of it."""
    path = os.path.join(place, "report.rep")
    plain = run(list(command))
    result = trace("run", "-o", path, "-t", "mpi", "--", *command)
    tap.ok(plain.status == result.status == 0 and plain.out == result.out, f"{os.path.basename(command[0])} runs as without the tracer", f"{plain} {result}")
    report = Report(path)
    return result.out, [e["function"] for e in report.events("--kind", "function_call")] if report.exists() else []


def open_mpi_with_the_soname_of_mpich():
    place = folder()
    program = build(place, "linked", LINKED, library(place, "libmpi.so.12", "-DOPEN_MPI"))
    _, calls = calls_of(place, program)
    tap.ok(calls == ["MPI_Init", "MPI_Barrier"], "Open MPI 1.10 is not taken for MPICH", calls)


def stays_loaded():
    """The tracer may call the library after the program has closed it."""
    place = folder()
    plug_in = build(place, "plug_in.so", CALLS, library(place, "libmpi.so.40", "-DOPEN_MPI"), "-shared", "-fPIC")
    program, path = build(place, "reloads", RELOADS), os.path.join(place, "report.rep")
    plain, result = run([program, plug_in]), trace("run", "-o", path, "-t", "mpi", "--", program, plug_in, "stays")
    calls = [e["function"] for e in Report(path).events("--kind", "function_call")]
    tap.ok(plain.status == result.status == 0 and calls == ["MPI_Init", "MPI_Barrier"] * 2, "a library that a plug-in has brought stays loaded", (plain, result, calls))


def unknown():
    place = folder()
    out, calls = calls_of(place, build(place, "looks_up", LOOKS_UP), library(place, "libmpi.so.99"))
    tap.ok(out == b"none\n" and calls == ["MPI_Init"], "a lookup in an unknown library leaves no error for dlerror()", (out, calls))


def handles_are_used_again():
    """Each function that creates a communicator returns the same handle here, of a communicator with another size."""
    place = folder()
    created, called = LIBRARY + "struct world again = {0, 9};\n", LINKED.split("int calls")[0]
    called += "int main(void)\n{\n\tstruct world *made = 0;\n\tMPI_Init(0, 0);\n"
    for name, before in CREATORS.items():
        arguments = "".join(f"long a{i}, " for i in range(before))
        created += f"int MPI_{name}({arguments}struct world **made) {{ *made = &again; again.size++; return 0; }}\n"
        called += f"\tMPI_{name}({'0L, ' * before}&made);\n\tMPI_Barrier(made);\n"
    path = build(place, "libmpi.so.40", created, "-shared", "-fPIC", "-Wl,-soname,libmpi.so.40", "-DOPEN_MPI")
    _, calls = calls_of(place, build(place, "creates", called + "\treturn 0;\n}\n", path))
    sizes = [e["size"] for e in Report(os.path.join(place, "report.rep")).events("--kind", "mpi_communicator")]
    tap.ok(len(calls) == 1 + 2 * len(CREATORS) and sizes == [1, *range(10, 10 + len(CREATORS))], "a handle that is used again is asked anew", (sizes, calls))


# The binary interface of MPI 5, by its table of constants: handles are small numbers in pointers, a status begins with source and tag. One of two ranks.
STANDARD = """
#define FUNCTION(name, ...) int P##name(__VA_ARGS__); int name(__VA_ARGS__) __attribute__((alias("P" #name))); int P##name(__VA_ARGS__)
typedef struct any *handle;
typedef struct { int source, tag, error, internal[5]; } status;
FUNCTION(MPI_Init, int *argc, char ***argv) { return 0; }
FUNCTION(MPI_Initialized, int *is) { return *is = 1, 0; }
FUNCTION(MPI_Finalized, int *is) { return *is = 0; }
FUNCTION(MPI_Type_size, handle type, int *size) { return *size = type == (handle)0x209 ? 4 : 1, 0; }
FUNCTION(MPI_Comm_size, handle comm, int *size) { return *size = 2, comm != (handle)0x101; }
FUNCTION(MPI_Comm_rank, handle comm, int *rank) { return *rank = 0, comm != (handle)0x101; }
FUNCTION(MPI_Comm_test_inter, handle comm, int *is) { return *is = 0; }
FUNCTION(MPI_Comm_group, handle comm, handle *group) { return *group = (handle)0x4000, 0; }
FUNCTION(MPI_Group_free, handle *group) { return *group = (handle)0x108, 0; }
FUNCTION(MPI_Group_translate_ranks, handle group, int count, const int *ranks, handle to, int *result)
{
	for (int i = 0; i < count; i++)
		result[i] = ranks[i];
	return 0;
}
FUNCTION(MPI_Send, const void *data, int count, handle type, int to, int tag, handle comm) { return 0; }
FUNCTION(MPI_Recv, void *data, int count, handle type, int from, int tag, handle comm, status *result)
{
	if (result)
		result->source = 1, result->tag = 9;
	return 0;
}
FUNCTION(MPI_Irecv, void *data, int count, handle type, int from, int tag, handle comm, handle *request) { return *request = (handle)0x5000, 0; }
FUNCTION(MPI_Wait, handle *request, status *result) { return *request = (handle)0x180, 0; }
FUNCTION(MPI_Allreduce, const void *data, void *result, int count, handle type, handle op, handle comm) { return 0; }
"""
STANDARD_CALLS = """
typedef struct any *handle;
int MPI_Init(void *, void *), MPI_Send(const void *, int, handle, int, int, handle), MPI_Recv(void *, int, handle, int, int, handle, void *), MPI_Wait(handle *, void *),
	MPI_Irecv(void *, int, handle, int, int, handle, handle *), MPI_Allreduce(const void *, void *, int, handle, handle, handle);
int main(void)
{
	handle world = (handle)0x101, integer = (handle)0x209, byte = (handle)0x247, request;
	int data[8];
	MPI_Init(0, 0);
	MPI_Send(data, 8, integer, 1, 5, world);
	MPI_Send(data, 8, integer, -3, 5, world); /* MPI_PROC_NULL */
	MPI_Recv(data, 7, byte, -1, -2, world, 0); /* MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_STATUS_IGNORE */
	MPI_Irecv(data, 6, byte, -1, -2, world, &request);
	MPI_Wait(&request, 0);
	MPI_Allreduce((void *)1, data, 2, integer, (handle)0x21, world); /* MPI_IN_PLACE, MPI_SUM */
	return MPI_Allreduce(data + 2, data, 2, integer, (handle)0x21, world);
}
"""


def standard():
    """A library with the binary interface of MPI 5, whatever implementation is in it."""
    place = folder()
    made = build(place, "libmpi_abi.so.1", STANDARD, "-shared", "-fPIC", "-Wl,-soname,libmpi_abi.so.1")
    calls_of(place, build(place, "standard", STANDARD_CALLS, made))
    report = Report(os.path.join(place, "report.rep"))
    rows = [(e["name"], e["class"], e["tag"], e["peer"], e["size"], e["received"]) for e in report.events("--kind", "mpi_call")]
    tap.ok(rows == [("MPI_Init", 4, -1, -1, -1, -1), ("MPI_Send", 1, 5, 1, 32, -1), ("MPI_Send", 4, -1, -1, -1, -1), ("MPI_Recv", 1, 9, 1, 7, -1), ("MPI_Irecv", 1, -1, -1, 6, -1),
                    ("MPI_Wait", 3, -1, -1, -1, -1), ("MPI_Allreduce", 2, -1, -1, 8, 8), ("MPI_Allreduce", 2, -1, -1, 16, 16)], "MPI 5's interface: messages, requests and collectives", rows)
    of = [(e["rank"], e["size"], e["comm"], e["local_rank"]) for e in report.events("--kind", "mpi_communicator")]
    tap.ok(of == [(0, 2, "0x101", 0)], "MPI 5's interface: MPI_COMM_WORLD", of)


if platform.machine() != "x86_64":
    print("1..0 # SKIP functions of libraries are tried on x86-64 only")
    sys.exit(0)
main(open_mpi_with_the_soname_of_mpich, stays_loaded, unknown, handles_are_used_again, standard)
