/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layouts.h - decoding of an extended NVTX payload by the layouts that the program registered.
 *
 * struct decode holds a payload with its pieces joined and the state of the output. Values are
 * either printed as JSON (nvtx/decode.h) or, when struct decode_notes is set, visited entry by
 * entry (nvtx/facts.h). Any layout and any bytes are accepted: values outside of the payload print
 * as null, and the number of values and their nesting are bounded. One thread; allocates.
 */
#ifndef READER_NVTX_LAYOUTS_H
#define READER_NVTX_LAYOUTS_H

#include <stdio.h>

#include "reader/nvtx/payloads.h"

#define NVTX_DECODE_VALUES_MAX (1u << 20)
#define NVTX_DECODE_DEPTH_MAX 16u

#define BLOBS_MAX 128u /* begin and end of a range: 64 each */

#define DIMENSIONS_MAX 8u

enum nvtx_payload_use {
	NVTX_USE_EVENT,        /* a value, or a list of values if there are several payloads */
	NVTX_USE_SAMPLE,       /* value of a counter */
	NVTX_USE_SAMPLE_BATCH, /* {"values":[],"times":[]} */
	NVTX_USE_EVENT_BATCH   /* a list of events */
};

/* A payload, and the kind of row that refers to it. */
struct nvtx_payload_ref {
	enum nvtx_payload_use use;
	uint32_t process; /* Process.id */
	uint32_t domain;  /* Strings id */
	uint64_t payload;
	uint64_t counter;     /* counter of the samples */
	uint64_t flex_offset; /* offset of a batch of events */
};

/* One payload of an event, its pieces joined. */
struct blob {
	uint32_t index;
	uint64_t schema, address, time_ns;
	const uint8_t *data;
	uint64_t bytes, stated_bytes; /* bytes in the report; bytes according to the program */
	uint8_t *own;                 /* NULL = the data is in the string table */
};

/* A value to decode. */
struct location {
	const struct blob *blob;
	uint64_t base; /* start of the outermost layout, which offsets count from */
	uint64_t at;   /* start of the value */
};

/* Visits entries instead of printing them. */
struct decode_notes {
	/* Called for each entry that is not a message. `depth`: nesting of its layout. */
	void (*entry)(void *user, uint32_t depth, const struct nvtx_layout_row *l,
		const struct nvtx_entry_row *e, uint32_t index, const struct location *at);
	void *user;
	FILE *message;    /* receives the text of the first entry that is a message */
	bool has_message; /* set once that entry was found */
	bool in_message;  /* while it is written */
};

struct decode {
	FILE *out;
	struct nvtx_payloads *p;
	struct nvtx_payload_ref ref;
	uint64_t domain;  /* key of ref.domain */
	uint64_t time_ns; /* time of the payload that is being decoded */
	struct blob blobs[BLOBS_MAX];
	uint32_t blob_count;
	uint32_t depth;             /* nesting of layouts */
	uint32_t extent_depth;      /* nesting of layouts while extents are computed */
	uint64_t values;            /* values printed so far; a long text counts as several */
	struct decode_notes *notes; /* owned by the caller; NULL = print */
};

struct dimensions {
	uint64_t length[DIMENSIONS_MAX];
	uint32_t count;
};

static inline uint64_t location_left(const struct location *at)
{
	return at->at < at->blob->bytes ? at->blob->bytes - at->at : 0;
}

static inline const uint8_t *location_bytes(const struct location *at)
{
	return at->blob->data + at->at;
}

/* Collect all pieces of a payload; `p` must outlive the result. Returns NULL when out of memory;
 * decode_close() frees it and accepts NULL. A payload that the report lacks has no blobs. */
struct decode *decode_open(
	FILE *out, struct nvtx_payloads *p, const struct nvtx_payload_ref *reference);
void decode_close(struct decode *d);

/* Use the layouts that were registered at the time of `b` from here on. */
void decode_seek(struct decode *d, const struct blob *b);

/* Return true when the bound on values is reached or the output has failed. */
static inline bool decode_spent(struct decode *d)
{
	return d->values >= NVTX_DECODE_VALUES_MAX || ferror_unlocked(d->out);
}

/* Return the layout or enumeration of a type; NULL = the report has none. */
struct nvtx_layout_row *decode_layout(struct decode *d, uint64_t type);

/* Return size and alignment of a type. */
struct nvtx_extent decode_extent(struct decode *d, uint64_t type);

/* Print one value of a type. `member`: the member of a union that an outer entry selects, or
 * UINT64_MAX. */
void decode_element(struct decode *d, uint64_t type, const struct location *at, uint64_t member);

/* Print an array; an array of bytes or characters as a string. */
void decode_array(
	struct decode *d, uint64_t type, const struct location *at, const struct dimensions *n);

/* Print the fields of a layout as an object, or pass them to d->notes. Returns their size. */
uint64_t decode_fields(struct decode *d, const struct nvtx_layout_row *l, const struct location *at,
	uint64_t member);

#endif
