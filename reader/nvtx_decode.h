/*
 * nvtx_decode.h - extended NVTX payloads as JSON: the fields by the names that the program gave
 * them.
 *
 * A layout becomes an object, an array a list, a union an object with the member that is selected;
 * values of enumerations become their names ("A", "A|B", or the number), texts strings, bytes and
 * addresses strings of hex digits. What a payload does not reach, or refers to in vain, is null;
 * floating point numbers that JSON cannot have are, too. Any layout and any bytes are taken: at
 * most NVTX_DECODE_VALUES_MAX values are printed, nested NVTX_DECODE_DEPTH_MAX deep, then nulls.
 * One thread; allocates; output errors stay with the stream.
 */
#ifndef READER_NVTX_DECODE_H
#define READER_NVTX_DECODE_H

#include <stdio.h>

#include "reader/nvtx_payloads.h"

#define NVTX_DECODE_VALUES_MAX (1u << 20)
#define NVTX_DECODE_DEPTH_MAX 16u

enum nvtx_payload_use {
	NVTX_USE_EVENT,        /* the value; of several payloads a list */
	NVTX_USE_SAMPLE,       /* the value of a counter */
	NVTX_USE_SAMPLE_BATCH, /* {"values":[],"times":[]} */
	NVTX_USE_EVENT_BATCH   /* a list of events */
};

/* What has the payload. */
struct nvtx_payload_ref {
	enum nvtx_payload_use use;
	uint32_t process; /* Process.id */
	uint32_t domain;  /* Strings id */
	uint64_t payload;
	uint64_t counter;     /* of samples */
	uint64_t flex_offset; /* of a batch of events */
};

/* Prints it; null when the report does not have it. nvtx_payloads_ready() has been called. */
void nvtx_payload_print(
	FILE *out, struct nvtx_payloads *p, const struct nvtx_payload_ref *reference);

#endif
