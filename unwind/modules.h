/*
 * modules.h - a private map of what is loaded.
 */
#ifndef UNWIND_MODULES_H
#define UNWIND_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"

/* The module at `address`. Any thread, lock-free, async-signal-safe. */
bool modules_find(uint64_t address, struct cfi_object *ret_object);

#endif
