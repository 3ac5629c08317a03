/* SPDX-License-Identifier: Apache-2.0 */
/*
 * did.h - helpers of the CUDA test programs, which count their operations and check their results.
 *
 * Operations are counted by the kinds that a tracer reports. Each program ends by printing one
 * line, {"did": {...}, "right": true}, which tests compare with the report. Host code, C and C++.
 */
#ifndef DID_H
#define DID_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DID_KINDS(X)   \
	X(kernels)     \
	X(copies_htod) \
	X(copies_dtoh) \
	X(copies_dtod) X(copies_peer) X(sets) X(syncs) X(graph_launches) X(graph_kernels)

struct did {
#define X(kind) long kind;
	DID_KINDS(X)
#undef X
	int wrong;
};

extern struct did did;

/* Several threads may count at once. */
#define DID(kind, count) __atomic_fetch_add(&did.kind, (count), __ATOMIC_RELAXED)

static inline int did_end(void)
{
	const char *comma = "";

	printf("{\"did\": {");
#define X(kind) printf("%s\"" #kind "\": %ld", comma, did.kind), comma = ", ";
	DID_KINDS(X)
#undef X
	printf("}, \"right\": %s}\n", did.wrong ? "false" : "true");
	return did.wrong ? 1 : 0;
}

/* Require that a CUDA call succeeds. */
#define CHECK(call)                                                                         \
	do {                                                                                \
		int result_ = (int)(call);                                                  \
		if (result_) {                                                              \
			fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, \
				result_);                                                   \
			exit(3);                                                            \
		}                                                                           \
	} while (0)

/* Require that a result is right. */
#define RIGHT(condition)                                                                       \
	do {                                                                                   \
		if (!(condition)) {                                                            \
			fprintf(stderr, "%s:%d: wrong: %s\n", __FILE__, __LINE__, #condition); \
			did.wrong = 1;                                                         \
		}                                                                              \
	} while (0)

#endif
