/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti.c - the search for CUPTI, and the table of its functions.
 */
#define _GNU_SOURCE
#include "tracer/cuda/cupti.h"

#include <dlfcn.h>
#include <link.h>

#include "common/cuda/cupti_names.h"
#include "common/text.h"
#include "tracer/base/libc.h"
#include "tracer/core/state.h"

struct cupti cupti;

#define PATH_BYTES sizeof(cupti.path)

static const char *const names[] = {CUPTI_NAMES};
#define NAMES (sizeof(names) / sizeof(names[0]))

/* Relative to the CUDA runtime: a toolkit's library folder, its extras, Python packages. */
static const char *const beside[] = {"/", "/../extras/CUPTI/lib64/", "/../../cuda_cupti/lib/"};
static const char *const anywhere[] = {CUPTI_FOLDERS};
#define BESIDE (sizeof(beside) / sizeof(beside[0]))
#define ANYWHERE (sizeof(anywhere) / sizeof(anywhere[0]))

/* ---- what the program has loaded ---- */

struct search {
	const char *prefix;
	char *path; /* PATH_BYTES bytes for the result */
};

static int search_look(struct dl_phdr_info *info, size_t bytes, void *user)
{
	struct search *s = user;
	(void)bytes;
	if (!info->dlpi_name || !text_begins(text_base_name(info->dlpi_name), s->prefix))
		return 0;
	return text_append(s->path, PATH_BYTES, 0, info->dlpi_name) + 1 < PATH_BYTES;
}

/* Return the file of a loaded object whose name begins with the prefix. */
static bool loaded_file(const char *prefix, char *path)
{
	struct search s = {prefix, path};
	return session.iterate_phdr && session.iterate_phdr(search_look, &s);
}

/* ---- candidates, by number ---- */

static bool put_path(
	char *path, const char *directory, size_t length, const char *middle, const char *name)
{
	if (length >= PATH_BYTES)
		return false;
	bytes_copy(path, directory, length);
	size_t at = text_append(path, PATH_BYTES, length, middle);
	at = text_append(path, PATH_BYTES, at, name);
	return at + 1 < PATH_BYTES;
}

enum { CANDIDATE_LOADED };
#define CANDIDATES (1 + BESIDE * NAMES + ANYWHERE * NAMES)

/* Return false if this candidate has no path. */
static bool candidate(unsigned place, char *path)
{
	if (place == CANDIDATE_LOADED)
		return loaded_file("libcupti.so", path);
	place -= 1;
	if (place < BESIDE * NAMES) {
		char runtime[PATH_BYTES];
		size_t length = loaded_file("libcudart", runtime)
			? (size_t)(text_base_name(runtime) - runtime)
			: 0;
		return length &&
			put_path(path, runtime, length - 1, beside[place / NAMES],
				names[place % NAMES]);
	}
	place -= BESIDE * NAMES;
	return put_path(path, "", 0, anywhere[place / NAMES], names[place % NAMES]);
}

/* ---- loading ---- */

static void *symbol_of(void *library, const char *name)
{
	char full[64];
	text_append(full, sizeof(full), text_append(full, sizeof(full), 0, "cupti"), name);
	return libc.dlsym(library, full);
}

/* Store the path that the loader used: a plain name may have been found anywhere. */
static void path_keep(const char *asked)
{
	Dl_info info;
	bool known = cupti.GetVersion && libc.dladdr((void *)(uintptr_t)cupti.GetVersion, &info) &&
		info.dli_fname;
	text_append(cupti.path, PATH_BYTES, 0, known ? info.dli_fname : asked);
}

static bool table_fill(void *library, const char *path, const char **ret_why)
{
	cupti = (struct cupti){0};
#define FUNCTION(name, parameters) *(void **)(void *)&cupti.name = symbol_of(library, #name);
	CUPTI_FUNCTIONS(FUNCTION)
#undef FUNCTION
	uint32_t version = 0;
	path_keep(path);
	*ret_why = "not a CUPTI library, or older than that of CUDA 11.0";
	if (!cupti.GetVersion || !cupti.Subscribe || !cupti.EnableDomain || !cupti.Unsubscribe ||
		!cupti.GetCallbackName || !cupti.GetTimestamp || !cupti.ActivityEnable ||
		!cupti.ActivityDisable || !cupti.ActivityRegisterCallbacks ||
		!cupti.ActivityGetNextRecord || !cupti.ActivityGetNumDroppedRecords ||
		!cupti.ActivityFlushAll || cupti.GetVersion(&version) != CUPTI_OK ||
		version < CUPTI_11_0)
		return false;
	cupti.version = version;
	return true;
}

bool cupti_load_next(unsigned *place, const char *chosen, const char **ret_why)
{
	char path[PATH_BYTES];
	while (*place < (chosen ? 1 : CANDIDATES)) {
		unsigned number = (*place)++;
		if (chosen ? !put_path(path, "", 0, chosen, "") : !candidate(number, path))
			continue;
		void *library = libc_dlopen()(path, RTLD_NOW | RTLD_LOCAL);
		if (library && table_fill(library, path, ret_why))
			return true;
	}
	return false;
}
