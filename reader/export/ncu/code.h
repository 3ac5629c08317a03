/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code.h - code of modules in a report, for `trace export --type ncu`: finds the module of a
 * kernel.
 *
 * The rule is the same as in the writer (writer/cuda/cubins.c): a kernel belongs to a module that
 * its context has loaded and that defines its name. The first pass collects CUDA_MODULE rows,
 * ncu_code_index() reads the names of functions from the standard entries, and ncu_code_reference()
 * looks kernels up. One thread; allocates. Memory: some 30 bytes per function and per module; the
 * code itself is not kept.
 */
#ifndef READER_EXPORT_NCU_CODE_H
#define READER_EXPORT_NCU_CODE_H

#include <stdint.h>

#include "reader/base/map.h"
#include "reader/file/batch.h"
#include "reader/ncu/results.h"

/* All zero = empty; ncu_code_release() at the end. */
struct ncu_code {
	const struct ncu_results *results; /* results whose sources are indexed; NULL = not
					    * indexed */
	uint32_t *sources;                 /* indexes of the valid sources, one per reference */
	uint32_t source_count, source_capacity;
	struct ncu_code_module {
		uint32_t process, context;
		uint64_t reference; /* reference of its SourceData */
	} * modules;                /* modules in the order of the file */
	uint32_t count, capacity;
	struct map entries;   /* reference, 0 -> 1 */
	struct map functions; /* reference, hash of a name -> 1 */
	struct map known;     /* process and context, string id of a kernel -> index of the
			       * module + 1, or NO_MODULE */
};

/* Collect the rows of a batch of any kind, in the first pass. Returns 0 or -ENOMEM. */
int ncu_code_collect(struct ncu_code *c, const struct event_batch *batch);

/* Index the names of functions. `results` must have noted all blocks and outlive `c`. Damaged
 * sources are left out. Returns 0, -ENOMEM or -EIO. */
int ncu_code_index(struct ncu_code *c, const struct ncu_results *results);

/* Return the reference of the module that defines a kernel; if several do, of the module loaded
 * last; 0 = not in the report. `name`: string id of `mangled`. */
uint64_t ncu_code_reference(
	struct ncu_code *c, uint32_t process, uint32_t context, uint64_t name, const char *mangled);

/* Free all tables and leave the struct empty. */
void ncu_code_release(struct ncu_code *c);

#endif
