/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode.h - extended NVTX payloads as JSON, with the field names that the program registered.
 *
 * A layout prints as an object, an array as a list, a union as an object with the selected member;
 * enumeration values as their names ("A", "A|B", or the number), texts as strings, bytes and
 * addresses as strings of hex digits. A value outside of the payload, a dangling reference, or a
 * floating point number that JSON cannot represent prints as null. Any layout and any bytes are
 * accepted: at most NVTX_DECODE_VALUES_MAX values are printed, nested at most NVTX_DECODE_DEPTH_MAX
 * deep, then nulls. One thread; allocates; output errors remain set in the stream.
 */
#ifndef READER_NVTX_DECODE_H
#define READER_NVTX_DECODE_H

#include <stdio.h>

#include "reader/nvtx/layouts.h"
#include "reader/nvtx/payloads.h"

/* Print a payload; null when the report does not have it. nvtx_payloads_ready() must have been
 * called. Keeps the last batch of events decoded in p->cache. */
void nvtx_payload_print(
	FILE *out, struct nvtx_payloads *p, const struct nvtx_payload_ref *reference);

#endif
