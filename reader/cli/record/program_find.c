/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_find.c - the file of a program, found where execvp() searches.
 */
#define _GNU_SOURCE
#include "reader/cli/record/program_find.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Check whether a path can be executed. Returns 0 or the error of execve(): folders and other
 * files that are not regular are refused. */
static int place_check(const char *place)
{
	struct stat status;
	if (stat(place, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EACCES;
	return eaccess(place, X_OK) ? -errno : 0;
}

/* Return the list of folders to search for the program: PATH of --env-var, else our own. */
static const char *path_in_use(const char *assignments, size_t *ret_bytes)
{
	const char *path = getenv("PATH"), *at = assignments;
	path = path ? path : "/bin:/usr/bin";
	*ret_bytes = strlen(path);
	for (; at && *at; at += strcspn(at, ","), at += *at == ',')
		if (!strncmp(at, "PATH=", 5)) {
			path = at + 5;
			*ret_bytes = strcspn(path, ",");
		}
	return path;
}

int program_find(const char *name, const char *assignments, char ret_place[PATH_MAX])
{
	size_t left, bytes;
	const char *at = path_in_use(assignments, &left);
	bool refused = false;
	if (!*name || strchr(name, '/')) {
		snprintf(ret_place, PATH_MAX, "%s", name);
		return place_check(name);
	}
	for (;; at += bytes + 1, left -= bytes + 1) {
		const char *colon = memchr(at, ':', left);
		bytes = colon ? (size_t)(colon - at) : left;
		int length = snprintf(
			ret_place, PATH_MAX, "%.*s%s%s", (int)bytes, at, bytes ? "/" : "", name);
		int error = length < PATH_MAX ? place_check(ret_place) : -ENOENT;
		if (!error)
			return 0;
		refused |= error == -EACCES; /* another folder may have one that can be run */
		if (!colon)
			return refused ? -EACCES : error;
	}
}
