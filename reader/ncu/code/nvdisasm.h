/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvdisasm.h - the instructions of a cubin as text, by NVIDIA's nvdisasm where that is installed.
 * One thread; starts a program and waits for it; allocates.
 */
#ifndef READER_NCU_CODE_NVDISASM_H
#define READER_NCU_CODE_NVDISASM_H

#include <stddef.h>
#include <stdint.h>

#define NVDISASM_BYTES_MAX (256u << 20) /* of what it prints */

struct nvdisasm_line {
	const char *section, *text; /* ".text.NAME"; the instruction */
	uint64_t offset;            /* in the section */
};

/* A place that instructions name: ".L_x_3". */
struct nvdisasm_label {
	const char *name;
	uint64_t offset; /* in its section */
};

struct nvdisasm {
	char *output;
	struct nvdisasm_line *lines; /* by section and offset */
	size_t count;
	uint32_t capacity;
	struct nvdisasm_label *labels; /* by name */
	size_t label_count;
	uint32_t label_capacity;
};

/* Runs `nvdisasm` of PATH, or else that of /usr/local/cuda. 0; -ENOENT: there is none; -EIO: it
 * failed; -ENOMEM. Release it in any case. */
int nvdisasm_run(struct nvdisasm *d, const uint8_t *cubin, size_t bytes);
void nvdisasm_release(struct nvdisasm *d);

/* The instruction there; NULL: it is not known. */
const char *nvdisasm_at(const struct nvdisasm *d, const char *section, uint64_t offset);

/* The same as ncu spells it, for a section that lay at an address: "BRA 0x7f00000000f0" for "BRA
 * `(.L_x_3)", and without hints (".reuse"). *ret_text is the caller's; NULL: it is not known. 0 or
 * -ENOMEM. */
int nvdisasm_text(const struct nvdisasm *d, const char *section, uint64_t offset, uint64_t address,
	char **ret_text);

#endif
