/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fn_ids.h - numbers of the interposed functions, which are the kinds of their records.
 */
#ifndef COMMON_SCHEMA_FN_IDS_H
#define COMMON_SCHEMA_FN_IDS_H

#include "common/spool.h"

/* Ids: row numbers, from 1. */
enum fn_id {
	FN_none,
#define FN(ret, name, ...) FN_##name,
#define FNV(name, ...) FN_##name,
#define HAND(ret, name, ...) FN_##name,
#include "common/schema/libc.def"
	FN_COUNT
};
_Static_assert(FN_COUNT <= FN_MAX, "spool.h has no room for so many functions");

#endif
