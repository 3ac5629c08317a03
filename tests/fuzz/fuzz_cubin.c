/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_cubin.c - fuzz target of the cubin reader: whatever the bytes are, texts and line numbers
 * that it returns are within bounds, and lines are in order.
 *
 * clang -fsanitize=fuzzer provides main().
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/ncu/code/cubin.h"

static void lines_check(const struct cubin_lines *lines, size_t file_count)
{
	for (size_t i = 0; i < lines->count; i++) {
		const struct cubin_line *l = &lines->list[i], *before = i ? l - 1 : l;
		if (before->symbol > l->symbol ||
			(before->symbol == l->symbol && before->offset > l->offset) ||
			(l->line && l->file >= file_count))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cubin c;
	int error = cubin_read(&c, data, size);
	if (error && error != -EBADMSG)
		abort();
	lines_check(&c.lines, c.file_count);
	lines_check(&c.ptx_lines, 1);
	for (size_t i = 0; i < c.function_count; i++) {
		const struct cubin_function *f = &c.functions[i];
		if (strlen(f->name) >= size || strlen(f->section) >= size)
			abort();
		for (uint64_t offset = 0; offset < 64; offset += 16) {
			const struct cubin_line *l = cubin_line_at(&c, f, offset);
			if (l &&
				(!l->line || l->symbol != f->symbol || l->offset > offset ||
					strlen(c.files[l->file]) > 2 * size))
				abort();
			const char *ptx = cubin_ptx_at(&c, f, offset);
			if (ptx && strlen(ptx) >= size)
				abort();
		}
	}
	cubin_release(&c);
	return 0;
}
