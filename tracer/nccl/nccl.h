/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl.h - the source `nccl`: what NCCL reports to a profiler plug-in, which is this library.
 *
 * A plug-in that the user has named is called first, in each call, as NCCL would have called it:
 * with its own handles and contexts. The thread that NCCL calls from; events of one handle may come
 * from several threads. No allocation; a lock of our own around a few instructions.
 */
#ifndef TRACER_NCCL_NCCL_H
#define TRACER_NCCL_NCCL_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/nccl/plugin_abi.h"

/* The user's plug-in, by version; NULL = it has no such version. Set before NCCL calls us. */
extern const struct nccl_plugin *nccl_user[NCCL_VERSION_LAST + 1]
	__attribute__((visibility("hidden")));

/* The functions of our plug-ins, one for each version where these differ. They return 0, or what
 * the user's plug-in returned. */
nccl_init_1 nccl_context_1, nccl_context_2, nccl_context_3;
nccl_init_4 nccl_context_4;
nccl_init_5 nccl_context_5, nccl_context_6, nccl_context_7;
int nccl_start(void *context, void **ret_handle, struct nccl_event *event);
int nccl_stop(void *handle);
int nccl_state(void *handle, int state, void *arguments);
int nccl_finalize(void *context);

#endif
