/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrap_modules.c - functions of the loader: dlclose(), and the list of loaded objects.
 */
#define _GNU_SOURCE
#include "inject/fn.h"

#include "tracer/core/chains.h"
#include "tracer/nvtx/extensions.h"

/* Forget unloaded code before anything else is mapped at its address. */
WRAPPER(int, dlclose, (void *t_handle))
{
	struct call call;
	bool begun = call_begin(&call, FN_dlclose);
	nvtx_clocks_doubt(); /* the function of a clock may be unloaded */
	bool follow = chains_follow_modules() && (thread_self.lane || thread_attach(&thread_self));
	if (follow)
		chains_before_unload();
	int result = REAL(dlclose)(t_handle);
	if (begun)
		osrt_end(&call, FN_dlclose, FN_BITS(result), osrt_object(FN_BITS(t_handle), 0));
	if (follow)
		chains_after_unload();
	return result;
}

/* Answer libunwind, while the tracer uses it, from our own map: another thread may hold the
 * loader's lock. The real function examines its caller, which a tail call leaves unchanged. */
WRAPPER(int, dl_iterate_phdr, (libtrace_phdr_fn t_callback, void *t_data))
{
	if (__builtin_expect(chains_ask_libunwind && thread_self.busy, 0))
		return chains_iterate_modules(t_callback, t_data);
	return REAL(dl_iterate_phdr)(t_callback, t_data);
}
