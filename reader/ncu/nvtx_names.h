/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_names.h - names of the NVTX domains of a state, and registered texts, by number.
 *
 * Sorted when first asked for: a hostile state has as many of them as it has ranges. Where an id is
 * told twice the first one that has a text holds. The state lives longer. One thread; allocates
 * (without memory the state itself is searched); ncu_nvtx_names_release() gives back.
 */
#ifndef READER_NCU_NVTX_NAMES_H
#define READER_NCU_NVTX_NAMES_H

#include "ncu.pb-c.h"

struct ncu_nvtx_name;

struct ncu_nvtx_list {
	struct ncu_nvtx_name *rows; /* NULL: not made yet */
	size_t count;
};

struct ncu_nvtx_names {
	const Ncu__NvtxState *state;
	struct ncu_nvtx_list domains, texts;
};

/* `state` may be NULL: it has no names. */
void ncu_nvtx_names_init(struct ncu_nvtx_names *n, const Ncu__NvtxState *state);
void ncu_nvtx_names_release(struct ncu_nvtx_names *n);

/* NULL: not told. */
const char *ncu_nvtx_domain(struct ncu_nvtx_names *n, uint64_t id);

/* The text that was registered, whatever the domain: handles are addresses. NULL: not told. */
const char *ncu_nvtx_text(struct ncu_nvtx_names *n, uint64_t handle);

#endif
