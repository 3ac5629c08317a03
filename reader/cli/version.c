/* SPDX-License-Identifier: Apache-2.0 */
/*
 * version.c - `trace --version [--verbose]`: the version of the command.
 *
 * --verbose adds the versions and licenses of the libraries that are linked into it;
 * THIRD-PARTY.md has the whole list.
 */
#define _GNU_SOURCE
#include "reader/cli/version.h"

#include <gnu/libc-version.h>
#include <protobuf-c/protobuf-c.h>
#include <sqlite3.h>
#include <stdio.h>
#include <zstd.h>

#ifdef HAVE_LIBDW
#include <elfutils/libdwfl.h>
#endif

static void print_library(const char *name, const char *version, const char *license)
{
	printf("  %-12s %-10s %s\n", name, version, license);
}

void version_print(bool verbose)
{
	puts("trace " LIBTRACE_VERSION);
	if (!verbose)
		return;
	puts("Copyright the authors of libtrace. Licensed under the Apache License 2.0.\n"
	     "Linked libraries and their licenses (THIRD-PARTY.md says how to relink them):");
	print_library("glibc", gnu_get_libc_version(), "LGPL-2.1-or-later");
	print_library("protobuf-c", protobuf_c_version(), "BSD-2-Clause");
	print_library("zstd", ZSTD_versionString(), "BSD-3-Clause");
	print_library("SQLite", sqlite3_libversion(), "public domain");
#ifdef HAVE_LIBDW
	print_library("elfutils", dwfl_version(NULL), "LGPL-3.0-or-later");
	print_library("zlib", "", "Zlib (used by elfutils)");
	print_library("bzip2", "", "bzip2-1.0.6 (used by elfutils)");
	print_library("liblzma", "", "public domain (used by elfutils)");
#endif
#ifdef HAVE_LIBIBERTY
	print_library("libiberty", "", "LGPL-2.0-or-later, GPL-2.0-or-later with exception");
#endif
	print_library("d3", "", "ISC (in the page of `trace report --html`)");
}
