/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h - the LTTng event of a call, with the content of our record of a call. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER libtrace_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "probe.h"

#if !defined(TESTS_BENCH_LTTNG_PROBE_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define TESTS_BENCH_LTTNG_PROBE_H

#include <lttng/tracepoint.h>
#include <stdint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(libtrace_bench, call,
	LTTNG_UST_TP_ARGS(uint64_t, start, uint16_t, function, int64_t, result, uint64_t, object),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint64_t, start, start)
		lttng_ust_field_integer(uint16_t, function, function)
		lttng_ust_field_integer(int64_t, result, result)
		lttng_ust_field_integer(uint64_t, object, object)))
/* clang-format on */

#endif
#include <lttng/tracepoint-event.h>
