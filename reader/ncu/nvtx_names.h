/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_names.h - names of the NVTX domains of a state, and registered texts, by id.
 *
 * Lists are sorted on first use, because a hostile state has as many entries as ranges. If an id is
 * defined twice, the first entry with a text is used. The state must outlive the names. One thread;
 * allocates (when out of memory, it searches the state itself); ncu_nvtx_names_release() frees.
 */
#ifndef READER_NCU_NVTX_NAMES_H
#define READER_NCU_NVTX_NAMES_H

#include "ncu.pb-c.h"

struct ncu_nvtx_name;

struct ncu_nvtx_list {
	struct ncu_nvtx_name *rows; /* NULL: not created yet */
	size_t count;
};

struct ncu_nvtx_names {
	const Ncu__NvtxState *state;
	struct ncu_nvtx_list domains, texts;
};

/* Initialize the names of `state`; NULL has no names. */
void ncu_nvtx_names_init(struct ncu_nvtx_names *n, const Ncu__NvtxState *state);
void ncu_nvtx_names_release(struct ncu_nvtx_names *n);

/* Return the name of a domain; NULL = not in the state. */
const char *ncu_nvtx_domain(struct ncu_nvtx_names *n, uint64_t id);

/* Return the registered text of a handle; the domain does not matter, because handles are
 * addresses. NULL = not in the state. */
const char *ncu_nvtx_text(struct ncu_nvtx_names *n, uint64_t handle);

#endif
