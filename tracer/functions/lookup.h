/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.h - functions that the program looks up by name: dlsym(), vkGetInstanceProcAddr() and the
 * other LOOKUP rows of libraries.def. It gets the stub of a function whose calls are recorded.
 */
#ifndef TRACER_FUNCTIONS_LOOKUP_H
#define TRACER_FUNCTIONS_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

/* Return what a module's entry for this function of the loader is to lead to in place of *ret_real;
 * 0 = it is left alone. */
uint64_t function_lookup_entry(const char *name, uint64_t *ret_real);

/* Return true if a module's entry that leads to this address may have to lead to ours. */
bool function_is_lookup(uint64_t real);

/* The address of our __gmon_start__(), given by inject/ before functions_patch_all(). */
extern uint64_t function_start_entry __attribute__((visibility("hidden")));

/* Return true if a lookup of the thread has led to a call of __gmon_start__() with this return
 * address: it must return what function_lookup_continue() returns, by a tail call. */
bool function_lookup_continues(uint64_t return_address);
void *function_lookup_continue(void);

#endif
