/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.c - one block of the report: its entries, and their sealing under a header.
 */
#include "writer/report/block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "common/crc32c.h"

#define BODY_SLACK_BYTES (CHUNK_ENCODED_BYTES_MAX + BATCH_BYTES_MAX)
#define ZSTD_LEVEL 1
#define BLOCK_MESSAGE_MAX (1u << 30)

int block_init(struct block *block, bool compress)
{
	memset(block, 0, sizeof(*block));
	block->positions = calloc(BLOCK_POSITIONS_MAX, sizeof(*block->positions));
	if (!block->positions || buffer_reserve(&block->body, BLOCK_BYTES_MAX + BODY_SLACK_BYTES))
		return -ENOMEM;
	if (compress) {
		block->zstd = ZSTD_createCCtx();
		if (!block->zstd)
			return -ENOMEM;
		ZSTD_CCtx_setParameter(block->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
	}
	return 0;
}

void block_release(struct block *block)
{
	free(block->sources.data);
	free(block->results.data);
	free(block->front.data);
	free(block->body.data);
	free(block->header.data);
	free(block->packed.data);
	free(block->positions);
	ZSTD_freeCCtx(block->zstd);
	memset(block, 0, sizeof(*block));
}

bool block_is_empty(const struct block *block)
{
	return !block->num_entries && !block->num_sources && !block->num_results &&
		!block->position_count && !block->session;
}

bool block_is_full(const struct block *block, const struct strings *strings)
{
	return block->sources.bytes + block->results.bytes + block->front.bytes +
			block->body.bytes + strings->pending_bytes >=
		BLOCK_BYTES_MAX ||
		block->position_count == BLOCK_POSITIONS_MAX;
}

/* Reserve room for a message of `size` bytes, and store that size before it. Return NULL if the
 * block is broken. */
static uint8_t *message_room(struct block *block, struct buffer *buffer, size_t size)
{
	uint32_t bytes = (uint32_t)size;
	if (size > BLOCK_MESSAGE_MAX || buffer_reserve(buffer, sizeof(bytes) + size)) {
		block->broken = true;
		return NULL;
	}
	uint8_t *p = buffer->data + buffer->bytes;
	memcpy(p, &bytes, sizeof(bytes));
	buffer->bytes += sizeof(bytes) + size;
	return p + sizeof(bytes);
}

void block_put_entry(struct block *block, const Libtrace__Entry *entry)
{
	uint8_t *p = message_room(block, &block->front, libtrace__entry__get_packed_size(entry));
	if (!p)
		return;
	libtrace__entry__pack(entry, p);
	block->num_entries++;
}

void block_put_source(struct block *block, const Ncu__SourceData *source)
{
	uint8_t *p =
		message_room(block, &block->sources, ncu__source_data__get_packed_size(source));
	if (!p)
		return;
	ncu__source_data__pack(source, p);
	block->num_sources++;
}

void block_put_result(struct block *block, const Ncu__ProfileResult *result,
	const char *const *metric_names, uint32_t metric_count)
{
	uint8_t *p =
		message_room(block, &block->results, ncu__profile_result__get_packed_size(result));
	if (!p)
		return;
	ncu__profile_result__pack(result, p);
	block->num_results++;
	block->metric_names = metric_names;
	block->metric_count = metric_count;
}

void block_put_session(struct block *block, const Libtrace__SessionDetails *session)
{
	block->session = session;
}

void block_put_batch(struct block *block, const struct batch *batch)
{
	if (!batch->count)
		return;
	if (buffer_reserve(&block->body, BATCH_BYTES_MAX)) {
		block->broken = true;
		return;
	}
	block->body.bytes += batch_encode(batch, block->body.data + block->body.bytes);
	block->num_entries++;
	if (batch->kind == EVENT_NVTX_DEFERRED)
		block->num_deferred += batch->count;
}

void block_note_events(struct block *block, uint64_t count, uint64_t first_ns, uint64_t last_ns)
{
	if (!count)
		return;
	if (!block->num_events || first_ns < block->first_ns)
		block->first_ns = first_ns;
	if (last_ns > block->last_ns)
		block->last_ns = last_ns;
	block->num_events += count;
}

void block_put_position(struct block *block, const Libtrace__LanePosition *position)
{
	/* Lanes are drained in turn, so the same lane is nearly always the last in the list. */
	for (uint32_t i = block->position_count; i-- > 0;) {
		Libtrace__LanePosition *other = &block->positions[i];
		if (other->lane == position->lane && other->process == position->process) {
			*other = *position;
			return;
		}
	}
	if (block->position_count < BLOCK_POSITIONS_MAX)
		block->positions[block->position_count++] = *position;
	else
		block->broken = true;
}

static void put_strings(struct block *block, struct strings *strings)
{
	if (!strings->pending_count)
		return;
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Strings message = LIBTRACE__STRINGS__INIT;
	message.n_ids = message.n_texts = strings->pending_count;
	message.ids = strings->pending;
	message.texts = strings->texts;
	entry.strings = &message;
	block_put_entry(block, &entry);
	strings_forget_pending(strings);
}

/* Compress both buffers into one frame. Return false, and change nothing, if the frame is not
 * smaller. */
static bool compress(struct block *block)
{
	size_t raw = block->front.bytes + block->body.bytes;
	ZSTD_outBuffer out = {NULL, 0, 0};
	block->packed.bytes = 0;
	if (!block->zstd || !raw || buffer_reserve(&block->packed, ZSTD_compressBound(raw)))
		return false;
	out.dst = block->packed.data;
	out.size = block->packed.capacity;
	ZSTD_CCtx_reset(block->zstd, ZSTD_reset_session_only);
	ZSTD_CCtx_setPledgedSrcSize(block->zstd, raw);
	ZSTD_inBuffer front = {block->front.data, block->front.bytes, 0};
	ZSTD_inBuffer body = {block->body.data, block->body.bytes, 0};
	while (front.pos < front.size)
		if (ZSTD_isError(ZSTD_compressStream2(block->zstd, &out, &front, ZSTD_e_continue)))
			return false;
	if (ZSTD_compressStream2(block->zstd, &out, &body, ZSTD_e_end) != 0)
		return false;
	block->packed.bytes = out.pos;
	return out.pos < raw;
}

static void fill_extension(const struct block *block, const struct block_identity *identity,
	Libtrace__BlockExtension *x, Libtrace__LanePosition **positions)
{
	x->has_format_version = x->has_sequence = x->has_payload_crc32c = x->has_num_entries = 1;
	x->format_version = BLOCK_FORMAT_VERSION;
	x->sequence = identity->sequence;
	x->num_entries = block->num_entries;
	if (block->num_events) {
		x->has_num_events = x->has_first_ns = x->has_last_ns = 1;
		x->num_events = block->num_events;
		x->first_ns = block->first_ns;
		x->last_ns = block->last_ns;
	}
	x->has_num_dropped = block->num_dropped != 0;
	x->num_dropped = block->num_dropped;
	x->has_num_deferred = block->num_deferred != 0;
	x->num_deferred = block->num_deferred;
	for (uint32_t i = 0; i < block->position_count; i++)
		positions[i] = (Libtrace__LanePosition *)&block->positions[i];
	x->n_positions = block->position_count;
	x->positions = positions;
	x->producer = (char *)identity->producer;
}

static int put_header(struct block *block, const Libtrace__BlockHeader *header)
{
	uint32_t size = (uint32_t)libtrace__block_header__get_packed_size(header);
	block->header.bytes = 0;
	if (buffer_reserve(&block->header, sizeof(size) + size))
		return -ENOMEM;
	memcpy(block->header.data, &size, sizeof(size));
	libtrace__block_header__pack(header, block->header.data + sizeof(size));
	block->header.bytes = sizeof(size) + size;
	return 0;
}

static struct iovec part_of(const struct buffer *buffer)
{
	return (struct iovec){buffer->data, buffer->bytes};
}

static void set_parts(struct block *block, bool packed)
{
	block->parts[0] = part_of(&block->header);
	block->parts[1] = part_of(&block->sources);
	block->parts[2] = part_of(&block->results);
	block->parts[3] = part_of(packed ? &block->packed : &block->front);
	block->parts[4] = packed ? (struct iovec){NULL, 0} : part_of(&block->body);
}

int block_seal(struct block *block, struct strings *strings, const struct block_identity *identity)
{
	Libtrace__BlockHeader header = LIBTRACE__BLOCK_HEADER__INIT;
	Libtrace__StringTable table = LIBTRACE__STRING_TABLE__INIT;
	Libtrace__ProcessInfo process = LIBTRACE__PROCESS_INFO__INIT;
	Libtrace__BlockExtension x = LIBTRACE__BLOCK_EXTENSION__INIT;
	static Libtrace__LanePosition *positions[BLOCK_POSITIONS_MAX];

	put_strings(block, strings);
	fill_extension(block, identity, &x, positions);
	bool packed = compress(block);
	set_parts(block, packed);
	if (packed) {
		x.has_compression = x.has_uncompressed_bytes = 1;
		x.compression = LIBTRACE__COMPRESSION__COMPRESSION_ZSTD;
		x.uncompressed_bytes = block->front.bytes + block->body.bytes;
	}
	for (uint32_t i = 1; i < BLOCK_PARTS; i++) {
		x.payload_crc32c =
			crc32c(x.payload_crc32c, block->parts[i].iov_base, block->parts[i].iov_len);
		header.payload_size += (uint32_t)block->parts[i].iov_len;
	}
	header.has_num_sources = header.has_num_results = header.has_payload_size = 1;
	header.num_sources = block->num_sources;
	header.num_results = block->num_results;
	table.strings = (char **)(uintptr_t)block->metric_names;
	table.n_strings = block->num_results ? block->metric_count : 0;
	header.session_details =
		(Libtrace__SessionDetails *)(uintptr_t)(identity->session ? identity->session
									  : block->session);
	block->session = NULL;
	header.string_table = &table;
	header.process = &process;
	process.process_id = identity->root_pid;
	process.hostname = (char *)identity->hostname;
	process.process_name = (char *)identity->process_name;
	header.libtrace = &x;
	int error = put_header(block, &header);
	set_parts(block, packed);
	return error;
}

void block_reset(struct block *block)
{
	block->sources.bytes = block->results.bytes = block->front.bytes = block->body.bytes = 0;
	block->header.bytes = 0;
	block->position_count = block->num_entries = 0;
	block->num_sources = block->num_results = 0;
	block->num_events = block->num_dropped = block->num_deferred = 0;
	block->first_ns = block->last_ns = 0;
	block->broken = false;
}
