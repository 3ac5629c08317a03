/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tools.c - checks of programs and services that work with reports: MPI launchers, debuginfod.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/base/companion.h"
#include "reader/cli/doctor/checks.h"

#define PATIENCE_MS 10000

/* Find a program in PATH and resolve links. */
static bool program_find(const char *name, char *ret_path)
{
	const char *path = getenv("PATH");
	char candidate[PATH_MAX];
	for (size_t length; path && *path; path += length + (path[length] == ':')) {
		length = strcspn(path, ":");
		int bytes =
			snprintf(candidate, sizeof(candidate), "%.*s/%s", (int)length, path, name);
		if (bytes < PATH_MAX && !access(candidate, X_OK) && realpath(candidate, ret_path))
			return true;
	}
	return false;
}

/* MPI launchers: words of the file that a link resolves to, and the variable that contains the
 * rank. */
static const struct {
	const char *program, *word, *kind, *variable;
} launchers[] = {
	{"mpiexec", "hydra", "MPICH", "PMI_RANK"},
	{"mpiexec", "orterun", "Open MPI", "OMPI_COMM_WORLD_RANK"},
	{"mpiexec", "prterun", "Open MPI", "OMPI_COMM_WORLD_RANK"},
	{"mpiexec", "mpirun", "Open MPI", "OMPI_COMM_WORLD_RANK"},
	{"mpirun", "", "MPI", "PMI_RANK"},
	{"mpiexec", "", "MPI", "PMI_RANK"},
	{"srun", "", "Slurm", "SLURM_PROCID"},
};

void check_mpi(struct finding *f)
{
	char path[PATH_MAX];
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		if (!program_find(launchers[i].program, path) ||
			!strstr(strrchr(path, '/'), launchers[i].word))
			continue;
		finding_set(f, FINDING_YES,
			"%s (%s); one report per rank: trace run -o 'run-%%q{%s}'",
			launchers[i].kind, path, launchers[i].variable);
		return;
	}
	finding_set(f, FINDING_ABSENT, "no mpiexec, mpirun or srun in PATH");
}

void check_debuginfod(struct finding *f)
{
	const char *const ask[] = {"machine", "libdebuginfod.so.1", NULL};
	const char *urls = getenv("DEBUGINFOD_URLS");
	char answer[256], library[64];
	companion_ask(ask, PATIENCE_MS, answer, sizeof(answer));
	bool has_library = answer_find(answer, "loads", library, sizeof(library));
	if (!urls || !*urls) {
		finding_set(f, FINDING_ABSENT,
			"DEBUGINFOD_URLS is not set: names of functions come from this machine's "
			"files "
			"only");
		finding_advise(f,
			"to download names and lines of the system's libraries: export "
			"DEBUGINFOD_URLS=https://debuginfod.elfutils.org");
		return;
	}
	finding_set(f, has_library ? FINDING_YES : FINDING_NO, "%s%s", urls,
		has_library ? "" : ": libdebuginfod.so.1 cannot be loaded");
	if (!has_library)
		finding_advise(f,
			"install it: libdebuginfod1 on Debian, elfutils-debuginfod-client "
			"on Fedora");
}
