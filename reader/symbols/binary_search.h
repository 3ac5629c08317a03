/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binary_search.h - finds the file that was mapped, and the file with its debug information, by
 * path and build-id.
 *
 * Source of names: elfutils and gdb, "Separate Debug Files"; the note is NT_GNU_BUILD_ID of the ELF
 * file. Only regular files are opened, and one that is none: the vdso, which the kernel maps into
 * every process (vdso(7)), is taken from this process if it is of the same build. Only with
 * HAVE_LIBDW. Any thread; reads the disk.
 */
#ifndef READER_SYMBOLS_BINARY_SEARCH_H
#define READER_SYMBOLS_BINARY_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#define BUILD_ID_BITS_MAX 32u

/* Bytes of the hex digits `build_id`; 0 where it is none. */
size_t build_id_bits(const char *build_id, uint8_t ret_bits[BUILD_ID_BITS_MAX]);

/*
 * Returns the open file, which the caller closes, or -1 with the reason. *ret_debug_path, PATH_MAX
 * bytes: the debug file that the symbol path has, or empty; also without the file itself.
 */
int binary_search(const char *path, const char *build_id, const char *symbol_path,
	char *ret_debug_path, char *ret_reason, size_t reason_bytes);

#endif
