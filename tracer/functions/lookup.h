/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.h - functions that the program looks up by name: dlsym(), vkGetInstanceProcAddr() and the
 * other LOOKUP rows of libraries.def. It gets the stub of a function whose calls are recorded.
 *
 * dlsym() with RTLD_DEFAULT or RTLD_NEXT depends on where its caller is, so that nothing can be
 * called in between: the program gets the function itself.
 */
#ifndef TRACER_FUNCTIONS_LOOKUP_H
#define TRACER_FUNCTIONS_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

/* Return what a module's entry for this function of the loader is to lead to in place of *ret_real;
 * 0 = it is left alone. */
uint64_t function_lookup_entry(const char *name, uint64_t *ret_real);

#endif
