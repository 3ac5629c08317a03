/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hand_modules.c - what the loader is asked about its objects.
 */
#define _GNU_SOURCE
#include "inject/fn.h"

#include "tracer/chains.h"
#include "tracer/nvtx_ext.h"

/* Unloaded code must be forgotten before anything else is mapped there. */
WRAPPER(int, dlclose, (void *t_handle))
{
	struct call call;
	bool begun = call_begin(&call, FN_dlclose);
	nvtx_clocks_doubt(); /* a function that is followed may go */
	int result = REAL(dlclose)(t_handle);
	if (begun)
		osrt_end(&call, FN_dlclose, FN_BITS(result), osrt_object(FN_BITS(t_handle), 0));
	chains_refresh();
	return result;
}

/* libunwind asks while the tracer uses it: not the loader then, whose lock another thread may hold.
 * The real one looks at its caller, which stays the same by a jump. */
WRAPPER(int, dl_iterate_phdr, (libtrace_phdr_fn t_callback, void *t_data))
{
	if (__builtin_expect(chains_ask_libunwind && thread_self.busy, 0))
		return chains_iterate_modules(t_callback, t_data);
	return REAL(dl_iterate_phdr)(t_callback, t_data);
}
