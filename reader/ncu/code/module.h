/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.h - a module of a report: the addresses of its functions when the kernel ran, and their
 * code. One thread; allocates.
 */
#ifndef READER_NCU_CODE_MODULE_H
#define READER_NCU_CODE_MODULE_H

#include "reader/ncu/code/cubin.h"
#include "reader/ncu/results.h"

#define MODULE_PARTS_MAX 1024u

/* A function at its address; code: NULL if the report has no code of it. */
struct module_function {
	const char *name;
	uint64_t address, bytes; /* bytes: 0 = unknown */
	const struct cubin_function *code;
};

struct ncu_module {
	uint64_t reference;
	Ncu__SourceData *parts[MODULE_PARTS_MAX]; /* same reference; later parts add functions */
	size_t part_count;
	bool has_code;
	struct cubin cubin;
	uint32_t instruction_bytes;        /* size of an instruction */
	struct module_function *functions; /* sorted by address */
	size_t function_count;
};

/* Read the data of a module that the report has, if any. Malformed parts are left out. Returns
 * 0, -EIO or -ENOMEM. Release the module even after an error. */
int ncu_module_read(struct ncu_module *m, const struct ncu_results *results, uint64_t reference);
void ncu_module_release(struct ncu_module *m);

/* Return the text of a source file; NULL = not in the report. `name` is normalized
 * (cubin_path_normalize()); names in the report need not be. */
const char *ncu_module_source(const struct ncu_module *m, const char *name);

#endif
