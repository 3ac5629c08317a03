/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.c - the entries of CUDA: before the program loads the driver's library, however its CUDA
 * runtime is linked; in the constructor, if the program is linked with the driver; and when the
 * driver asks for a tool. Each is one call of tracer/cuda/cuda.h.
 */
#define _GNU_SOURCE
#include "inject/fn.h"

#include <dlfcn.h>
#include <link.h>

#include "common/text.h"
#include "inject/environment.h"
#include "inject/own_file.h"
#include "tracer/cuda/cuda.h"
#include "tracer/base/libc.h"
#include "tracer/functions/scope.h"

#define DRIVER "libcuda.so"

/* Return true for libcuda.so.1, and libcuda.so, its name for the linker; false for libcudart.so or
 * libcudadebugger.so. */
static bool is_driver(const char *file)
{
	return file && text_begins(text_base_name(file), DRIVER);
}

/* Called by entry.S with the arguments of dlopen(). Return the real dlopen(), which is entered by a
 * jump, so that it sees its caller. A call that only asks whether the driver is loaded
 * (RTLD_NOLOAD) gets the same answer as without this library. */
__attribute__((visibility("hidden"))) void *dlopen_before(const char *file, int flags);
void *dlopen_before(const char *file, int flags)
{
	relocate_check();
	int error = errno;
	if (__builtin_expect(is_driver(file) && !(flags & RTLD_NOLOAD) && cuda_is_wanted(), 0))
		cuda_start(file);
	if (__builtin_expect(flags & RTLD_DEEPBIND, 0))
		function_scope_deep();
	libc_dlopen_fn real_dlopen = libc_dlopen();
	errno = error;
	return (void *)(uintptr_t)real_dlopen;
}

static int driver_look(struct dl_phdr_info *info, size_t bytes, void *user)
{
	(void)bytes, (void)user;
	return is_driver(info->dlpi_name);
}

void cuda_linked(void)
{
	if (cuda_is_wanted() && session.iterate_phdr && session.iterate_phdr(driver_look, NULL))
		cuda_start(NULL);
}

/* Answer only the driver, which asks as NVTX does: other code must not find this library in the
 * variable. */
char *cuda_tool_path(char *theirs, const void *caller)
{
	Dl_info info;
	if (theirs || !cuda_is_wanted() || !libc.dladdr(caller, &info) ||
		!is_driver(info.dli_fname))
		return theirs;
	return own_file();
}

__attribute__((visibility("default"))) int InitializeInjection(void);

/* Called by the driver while it starts, before any context. */
int InitializeInjection(void)
{
	relocate_check();
	int error = errno;
	cuda_start(NULL);
	errno = error;
	return 1;
}
