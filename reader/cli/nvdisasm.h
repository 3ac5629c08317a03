/*
 * nvdisasm.h - the instructions of a cubin as text, by NVIDIA's nvdisasm where that is installed.
 * One thread; starts a program and waits for it; allocates.
 */
#ifndef READER_CLI_NVDISASM_H
#define READER_CLI_NVDISASM_H

#include <stddef.h>
#include <stdint.h>

#define NVDISASM_BYTES_MAX (256u << 20) /* of what it prints */

struct nvdisasm_line {
	const char *section, *text; /* ".text.NAME"; the instruction */
	uint64_t offset;            /* in the section */
};

struct nvdisasm {
	char *output;
	struct nvdisasm_line *lines; /* by section and offset */
	size_t count;
	uint32_t capacity;
};

/* Runs `nvdisasm` of PATH, or else that of /usr/local/cuda. 0; -ENOENT: there is none; -EIO: it
 * failed; -ENOMEM. Release it in any case. */
int nvdisasm_run(struct nvdisasm *d, const uint8_t *cubin, size_t bytes);
void nvdisasm_release(struct nvdisasm *d);

/* The instruction there; NULL: it is not known. */
const char *nvdisasm_at(const struct nvdisasm *d, const char *section, uint64_t offset);

#endif
