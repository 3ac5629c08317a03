// SPDX-License-Identifier: Apache-2.0
/*
 * libnccl_user.c - a user's profiler plug-in of NCCL, which prints what it is told on standard
 * error. It wants groups, collectives, messages and network operations. It has version 4 or
 * OLD_VERSION, 1 to 3; WITH_VERSION_4 and WITH_VERSION_5, these, too; or, ONLY_VERSION_8, that.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tracer/nccl/plugin_abi.h"

#define EXPORTED __attribute__((visibility("default")))

struct handle {
	int kind, number;
};

static int last;
static char the_context;

static int number_of(const void *handle)
{
	return handle ? ((const struct handle *)handle)->number : 0;
}

static int start(void *context, void **ret_handle, struct nccl_event *e)
{
	struct handle *h = malloc(sizeof(*h));
	h->number = ++last;
	h->kind = __builtin_ctz((unsigned)e->type & 0xff);
	*ret_handle = h;
	if (context != &the_context)
		fputs("user: a context of somebody else\n", stderr);
	if (h->kind == NCCL_PROXY_OP && !e->proxy.is_send)
		fprintf(stderr, "user: start %d kind %d parent %p\n", h->number, h->kind,
			e->parent);
	else
		fprintf(stderr, "user: start %d kind %d parent %d\n", h->number, h->kind,
			number_of(e->parent));
	return 0;
}

static int stop(void *handle)
{
	fprintf(stderr, "user: stop %d\n", number_of(handle));
	return 0;
}

static int state(void *handle, int state, void *arguments)
{
	fprintf(stderr, "user: state %d of %d %d\n", state, number_of(handle), arguments != NULL);
	return 0;
}

static int finalize(void *context)
{
	fprintf(stderr, "user: finalize %d\n", context == &the_context);
	return 0;
}

static int begin(void **context, int *mask, const char *name, uint64_t comm, int rank, int ranks)
{
	*context = &the_context;
	*mask = 1 << NCCL_GROUP | 1 << NCCL_COLL | 1 << NCCL_P2P | 1 << NCCL_PROXY_OP;
	fprintf(stderr, "user: init %s %llx %d of %d\n", name, (unsigned long long)comm, rank,
		ranks);
	return 0;
}

#if !defined(OLD_VERSION) || defined(WITH_VERSION_4)
static int init_4(void **context, int *mask, const char *name, uint64_t comm, int nodes, int ranks,
	int rank, nccl_log *log)
{
	(void)nodes, (void)log;
	return begin(context, mask, name, comm, rank, ranks);
}
#endif

#define SYMBOL_OF(version) ncclProfiler_v##version
#define SYMBOL(version) SYMBOL_OF(version)

#ifdef OLD_VERSION
static int init_1(void **context, int *mask)
{
	return begin(context, mask, "-", 0, 0, 0);
}
EXPORTED struct nccl_plugin SYMBOL(OLD_VERSION) = {
	"user", {.init_1 = init_1}, start, stop, state, finalize};
#endif
#ifdef ONLY_VERSION_8
EXPORTED struct nccl_plugin ncclProfiler_v8 = {
	"user", {.init_4 = init_4}, start, stop, state, finalize};
#elif !defined(OLD_VERSION) || defined(WITH_VERSION_4)
EXPORTED struct nccl_plugin ncclProfiler_v4 = {
	"user", {.init_4 = init_4}, start, stop, state, finalize};
#endif
#ifdef WITH_VERSION_5
static int init_5(void **context, uint64_t comm, int *mask, const char *name, int nodes, int ranks,
	int rank, nccl_log *log)
{
	(void)nodes, (void)log;
	return begin(context, mask, name, comm, rank, ranks);
}
EXPORTED struct nccl_plugin ncclProfiler_v5 = {
	"user", {.init_5 = init_5}, start, stop, state, finalize};
#endif
