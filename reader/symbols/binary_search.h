/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binary_search.h - search for the file that was mapped, and for the file with its debug
 * information, by path and build-id.
 *
 * Conventions: elfutils and gdb, "Separate Debug Files"; NT_GNU_BUILD_ID note of the ELF file. Only
 * regular files are opened, with one exception that is not a file: the vdso, which the kernel maps
 * into every process (vdso(7)), is read from this process if its build-id matches. Only with
 * HAVE_LIBDW. Any thread; reads the disk.
 */
#ifndef READER_SYMBOLS_BINARY_SEARCH_H
#define READER_SYMBOLS_BINARY_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#define BUILD_ID_BITS_MAX 32u

/* Convert the hex digits of `build_id` to bytes. Returns their number; 0 if it is not a
 * build-id. */
size_t build_id_bits(const char *build_id, uint8_t ret_bits[BUILD_ID_BITS_MAX]);

/*
 * Return a descriptor of the file, which the caller closes, or -1 with the reason. *ret_debug_path
 * (PATH_MAX bytes): the debug file in the symbol path, or empty; set even if the file itself is not
 * found.
 */
int binary_search(const char *path, const char *build_id, const char *symbol_path,
	char *ret_debug_path, char *ret_reason, size_t reason_bytes);

#endif
