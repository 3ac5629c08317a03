/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fn_groups.h - groups of the functions of libc.def (its column `group`). For files that expand
 * that table; the names are short, so no other header includes this.
 */
#ifndef COMMON_SCHEMA_FN_GROUPS_H
#define COMMON_SCHEMA_FN_GROUPS_H

enum group {
	LOCK,
	WAIT,
	SLEEP,
	EVENT,
	SIGNAL,
	PROCESS,
	THREAD,
	OPEN,
	IO,
	SYNC,
	STDIO,
	NET,
	IPC,
	MEMORY,
	ADMIN
};

#endif
