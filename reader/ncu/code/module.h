/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.h - a module of a report: where its functions lay when the kernel ran, and what is known
 * of their instructions. One thread; allocates.
 */
#ifndef READER_NCU_CODE_MODULE_H
#define READER_NCU_CODE_MODULE_H

#include "reader/ncu/code/cubin.h"
#include "reader/ncu/results.h"

#define MODULE_PARTS_MAX 1024u

/* A function at its address; code: NULL where the report has no code of it. */
struct module_function {
	const char *name;
	uint64_t address, bytes; /* 0 bytes: not known */
	const struct cubin_function *code;
};

struct ncu_module {
	uint64_t reference;
	Ncu__SourceData *parts[MODULE_PARTS_MAX]; /* of one reference; a later one adds functions */
	size_t part_count;
	bool has_code;
	struct cubin cubin;
	uint32_t instruction_bytes;        /* how far instructions lie apart */
	struct module_function *functions; /* by address */
	size_t function_count;
};

/* Reads what the report has of a module: nothing is no error. 0, -EIO or -ENOMEM; parts that are
 * broken are left out. Release it in any case. */
int ncu_module_read(struct ncu_module *m, const struct ncu_results *results, uint64_t reference);
void ncu_module_release(struct ncu_module *m);

/* The text of a source file that the report has; NULL: it has not. Files are the same when their
 * whole names are. */
const char *ncu_module_source(const struct ncu_module *m, const char *name);

#endif
