/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvdisasm.h - the instructions of a cubin as text, from NVIDIA's nvdisasm if it is installed. One
 * thread; starts a program and waits for it; allocates.
 */
#ifndef READER_NCU_CODE_NVDISASM_H
#define READER_NCU_CODE_NVDISASM_H

#include <stddef.h>
#include <stdint.h>

#include "reader/ncu/code/cubin.h"

#define NVDISASM_BYTES_MAX (256u << 20) /* size of its output */

struct nvdisasm_line {
	const char *section, *text; /* section: ".text.NAME"; text: the instruction */
	uint64_t offset;            /* offset in the section */
};

/* A label that instructions refer to: ".L_x_3". */
struct nvdisasm_label {
	const char *name;
	uint64_t offset; /* offset in its section */
};

struct nvdisasm {
	char *output;
	struct nvdisasm_line *lines; /* sorted by section and offset */
	size_t count;
	uint32_t capacity;
	struct nvdisasm_label *labels; /* sorted by name */
	size_t label_count;
	uint32_t label_capacity;
};

/* Run the `nvdisasm` in PATH, else the one in /usr/local/cuda/bin. Returns 0; -ENOENT if there is
 * none; -EIO if it failed, or printed nothing for a minute; -ENOMEM. Release it even after an
 * error. */
int nvdisasm_run(struct nvdisasm *d, const struct cubin *cubin);
void nvdisasm_release(struct nvdisasm *d);

/* Write the instruction as ncu prints it, for a section loaded at `address`: "BRA
 * 0x7f00000000f0" for "BRA `(.L_x_3)", and without hints (".reuse"). The caller frees *ret_text;
 * NULL = unknown. Returns 0 or -ENOMEM. */
int nvdisasm_text(const struct nvdisasm *d, const char *section, uint64_t offset, uint64_t address,
	char **ret_text);

#endif
