/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code.h - the code of modules in a report, for `trace export --type ncu`: which of them a
 * kernel is in.
 *
 * As the writer finds it (writer/cubins.c): by the modules that its context has and the functions
 * that these define. The first pass collects CUDA_MODULE rows, ncu_code_index() reads the names of
 * functions in the standard entries, ncu_code_reference() asks. One thread; allocates. Memory: some
 * 30 bytes a function and a module; the code itself is not held.
 */
#ifndef READER_EXPORT_NCU_CODE_H
#define READER_EXPORT_NCU_CODE_H

#include <stdint.h>

#include "reader/base/map.h"
#include "reader/file/batch.h"
#include "reader/ncu/results.h"

/* All zero = empty; ncu_code_release() at the end. */
struct ncu_code {
	const struct ncu_results *results; /* whose sources they are; NULL = not indexed */
	uint32_t *sources;                 /* numbers of the sound ones, each reference once */
	uint32_t source_count, source_capacity;
	struct ncu_code_module {
		uint32_t process, context;
		uint64_t reference; /* of its SourceData */
	} * modules;                /* in file order */
	uint32_t count, capacity;
	struct map entries;   /* reference, 0: 1 */
	struct map functions; /* reference, hash of a name: 1 */
	struct map known;     /* process and context, string id of a kernel: 1 + module, or none */
};

/* Takes a batch in, of whatever kind: for a visitor of the first pass. 0 or -ENOMEM. */
int ncu_code_collect(struct ncu_code *c, const struct event_batch *batch);

/* Reads the names of functions. `results` has taken note of all blocks, and stays. What is damaged
 * is left out. 0, -ENOMEM, -EIO. */
int ncu_code_index(struct ncu_code *c, const struct ncu_results *results);

/* The reference of the module with the kernel: of several the one loaded last. 0 = none is here.
 * `name`: string id of `mangled`. */
uint64_t ncu_code_reference(
	struct ncu_code *c, uint32_t process, uint32_t context, uint64_t name, const char *mangled);

void ncu_code_release(struct ncu_code *c);

#endif
