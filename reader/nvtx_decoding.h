/*
 * nvtx_decoding.h - what the parts of nvtx_decode.h share while a payload is printed. Not for
 * others.
 */
#ifndef READER_NVTX_DECODING_H
#define READER_NVTX_DECODING_H

#include "reader/nvtx_decode.h"
#include "reader/nvtx_facts.h"

#define BLOBS_MAX 128u /* begin and end of a range: 64 each */

#define DIMENSIONS_MAX 8u

/* A payload, its pieces together. */
struct blob {
	uint32_t index;
	uint64_t schema, address, time_ns;
	const uint8_t *data;
	uint64_t bytes, told_bytes; /* of which there were, as the program says */
	uint8_t *own;               /* NULL = data lies in the string table */
};

struct decode {
	FILE *out;
	struct nvtx_payloads *p;
	struct nvtx_payload_ref of;
	const struct nvtx_payload_ref *ref; /* to it */
	uint64_t domain;
	uint64_t time_ns; /* of the payload that is printed */
	struct blob blobs[BLOBS_MAX];
	uint32_t blob_count;
	uint32_t depth;        /* of layouts in layouts */
	uint32_t extent_depth; /* the same while extents are found */
	uint64_t values;       /* printed so far; long texts count for more */
	/* Not NULL: nothing is printed, but these are found, and messages written. */
	struct nvtx_event_facts *facts;
	FILE *message;
	bool in_message;
};

/* Where a value is read. */
struct place {
	const struct blob *blob;
	uint64_t base; /* of the outermost layout, for offsets */
	uint64_t at;   /* of the value */
};

struct dimensions {
	uint64_t length[DIMENSIONS_MAX];
	uint32_t count;
};

static inline uint64_t place_left(const struct place *at)
{
	return at->at < at->blob->bytes ? at->blob->bytes - at->at : 0;
}

static inline const uint8_t *place_bytes(const struct place *at)
{
	return at->blob->data + at->at;
}

/* All pieces of a payload; NULL = out of memory. decode_close() takes NULL. */
struct decode *decode_open(
	FILE *out, struct nvtx_payloads *p, const struct nvtx_payload_ref *reference);
void decode_close(struct decode *d);

/* Layouts are from here on those of the payload's time. */
void decode_seek(struct decode *d, const struct blob *b);

/* Finds what an entry says of its event. */
void decode_entry_note(struct decode *d, const struct nvtx_layout_row *l,
	const struct nvtx_entry_row *e, uint32_t index, const struct place *at);

static inline bool decode_spent(struct decode *d)
{
	return d->values >= NVTX_DECODE_VALUES_MAX || ferror_unlocked(d->out);
}

/* The layout or enumeration that is a type; NULL = there is none. */
struct nvtx_layout_row *decode_layout(struct decode *d, uint64_t type);

/* What a value of a type takes. */
struct nvtx_extent decode_extent(struct decode *d, uint64_t type);

/* Prints one value of a type; `member` of a union that something outside selects. */
void decode_element(struct decode *d, uint64_t type, const struct place *at, uint64_t member);

/* Prints an array; of bytes and characters a string. */
void decode_array(
	struct decode *d, uint64_t type, const struct place *at, const struct dimensions *n);

/* Prints the fields of a layout as an object. Returns the bytes that they take. */
uint64_t decode_fields(
	struct decode *d, const struct nvtx_layout_row *l, const struct place *at, uint64_t member);

#endif
