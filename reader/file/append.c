/* SPDX-License-Identifier: Apache-2.0 */
/* append.c - appends blocks to a finished report. */
#define _GNU_SOURCE
#include "reader/file/append.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "common/crc32c.h"
#include "reader/base/io.h"

#define LOCK_PAUSE_NS 20000000u
#define LOCK_LEAST_NS 1000000000u /* minimum wait, because readers hold the lock for a moment */
#define ZSTD_LEVEL 3

static int lock_take(int fd, uint64_t wait_ns)
{
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
	uint64_t limit = wait_ns > LOCK_LEAST_NS ? wait_ns : LOCK_LEAST_NS;
	for (uint64_t waited = 0; flock(fd, LOCK_EX | LOCK_NB); waited += LOCK_PAUSE_NS) {
		if (errno == ENOLCK || errno == EOPNOTSUPP)
			return 0; /* the file system has no locks */
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (waited >= limit)
			return -EBUSY;
		nanosleep(&pause, NULL);
	}
	return 0;
}

int append_open(struct append *a, const char *path, uint64_t wait_ns, const char **ret_cause)
{
	struct stat status;
	*a = (struct append){.fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK)};
	*ret_cause = NULL;
	if (a->fd < 0)
		return -errno;
	int error = fstat(a->fd, &status) ? -errno : S_ISREG(status.st_mode) ? 0 : -ESPIPE;
	if (!error)
		error = lock_take(a->fd, wait_ns);
	return error ? error : report_open_fd(&a->report, a->fd, path, ret_cause);
}

void append_close(struct append *a)
{
	if (a->report.name)
		report_close(&a->report); /* also closes the descriptor */
	else if (a->fd >= 0)
		close(a->fd);
	free(a->process.hostname);
	free(a->process.process_name);
	free(a->strings.data);
	free(a->entries.data);
	free(a->ids.data);
	map_release(&a->texts);
	free(a->standard.data);
	free(a->out.data);
	*a = (struct append){.fd = -1};
}

static char *copy_of(struct append *a, const char *text)
{
	char *copy = text ? strdup(text) : NULL;
	a->broken |= text && !copy;
	return copy;
}

void append_note(struct append *a, const struct report_block *block)
{
	const Libtrace__BlockExtension *own = block->own;
	const Libtrace__ProcessInfo *process = block->header->process;
	if (!own)
		return;
	if (own->has_sequence && own->sequence >= a->next_sequence && own->sequence < UINT64_MAX)
		a->next_sequence = own->sequence + 1;
	a->compress |= own->compression == LIBTRACE__COMPRESSION__COMPRESSION_ZSTD;
	if (!process || a->has_process)
		return;
	a->has_process = true;
	libtrace__process_info__init(&a->process);
	a->process.process_id = process->process_id;
	a->process.hostname = copy_of(a, process->hostname);
	a->process.process_name = copy_of(a, process->process_name);
}

/* Reserve `bytes` at the end of a buffer. NULL = out of memory, which append_commit() reports. */
static uint8_t *room_for(struct append *a, struct buffer *b, size_t bytes)
{
	a->broken |= buffer_reserve(b, bytes) != 0;
	return a->broken ? NULL : b->data + b->bytes;
}

static void add(struct append *a, struct buffer *b, const void *data, size_t bytes)
{
	a->broken |= buffer_add(b, data, bytes) != 0;
}

void append_packed(struct append *a, const void *entry, size_t bytes)
{
	const uint32_t size = htole32((uint32_t)bytes);
	add(a, &a->entries, &size, sizeof(size));
	add(a, &a->entries, entry, bytes);
	a->num_entries++;
}

static void entry_add(struct append *a, struct buffer *b, const Libtrace__Entry *entry)
{
	size_t bytes = libtrace__entry__get_packed_size(entry);
	uint32_t size = htole32((uint32_t)bytes);
	add(a, b, &size, sizeof(size));
	uint8_t *room = room_for(a, b, bytes);
	if (!room)
		return;
	libtrace__entry__pack(entry, room);
	b->bytes += bytes;
	a->num_entries++;
}

/* Write the Strings entry. `strings` holds the texts one after the other, each with its NUL; `ids`
 * holds their ids. */
static void strings_entry(struct append *a, struct buffer *payload)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Strings message = LIBTRACE__STRINGS__INIT;
	ProtobufCBinaryData *texts = calloc(a->string_ids + 1, sizeof(*texts));
	uint8_t *at = a->strings.data;
	a->broken |= !texts;
	for (uint32_t i = 0; texts && i < a->string_ids; i++) {
		size_t bytes = strlen((const char *)at);
		texts[i] = (ProtobufCBinaryData){bytes, at};
		at += bytes + 1;
	}
	message.n_ids = message.n_texts = texts ? a->string_ids : 0;
	message.ids = (uint32_t *)a->ids.data;
	message.texts = texts;
	entry.strings = &message;
	if (a->string_ids)
		entry_add(a, payload, &entry);
	free(texts);
}

/* Replace the payload by one zstd frame, if that is smaller. */
static void compress(struct append *a, struct buffer *payload, Libtrace__BlockExtension *own)
{
	size_t room = ZSTD_compressBound(payload->bytes);
	uint8_t *frame = a->compress ? malloc(room) : NULL;
	size_t bytes =
		frame ? ZSTD_compress(frame, room, payload->data, payload->bytes, ZSTD_LEVEL) : 0;
	if (!frame || ZSTD_isError(bytes) || bytes >= payload->bytes) {
		free(frame);
		return;
	}
	own->has_compression = own->has_uncompressed_bytes = true;
	own->compression = LIBTRACE__COMPRESSION__COMPRESSION_ZSTD;
	own->uncompressed_bytes = payload->bytes;
	free(payload->data);
	*payload = (struct buffer){frame, bytes, room};
}

static void header_add(
	struct append *a, const struct buffer *payload, Libtrace__BlockExtension *own)
{
	Libtrace__BlockHeader header = LIBTRACE__BLOCK_HEADER__INIT;
	Libtrace__StringTable table = LIBTRACE__STRING_TABLE__INIT;
	own->payload_crc32c = crc32c(0, payload->data, payload->bytes);
	header.has_num_sources = header.has_num_results = header.has_payload_size = true;
	header.num_sources = a->num_sources;
	header.num_results = a->num_results;
	header.has_num_range_results = a->num_range_results != 0;
	header.num_range_results = a->num_range_results;
	header.payload_size = (uint32_t)payload->bytes;
	header.string_table = a->metric_names ? a->metric_names : &table;
	header.process = a->has_process ? &a->process : NULL;
	header.session_details = own->sequence ? NULL : (Libtrace__SessionDetails *)a->details;
	header.libtrace = own;
	size_t bytes = libtrace__block_header__get_packed_size(&header);
	uint32_t size = htole32((uint32_t)bytes);
	add(a, &a->out, &size, sizeof(size));
	uint8_t *room = room_for(a, &a->out, bytes);
	if (room) {
		libtrace__block_header__pack(&header, room);
		a->out.bytes += bytes;
	}
}

/* Put the standard entries before a payload, which may be compressed. */
static void standard_add(struct append *a, struct buffer *payload)
{
	if (!a->standard.bytes)
		return;
	add(a, &a->standard, payload->data, payload->bytes);
	free(payload->data);
	*payload = a->standard;
	a->standard = (struct buffer){0};
}

static void block_end(struct append *a)
{
	a->strings.bytes = a->entries.bytes = a->ids.bytes = a->standard.bytes = 0;
	a->string_ids = a->num_entries = 0;
	a->num_events = a->num_dropped = a->num_deferred = 0;
	a->num_sources = a->num_results = a->num_range_results = 0;
	a->metric_names = NULL;
}

void append_seal(struct append *a)
{
	struct buffer payload = {0};
	Libtrace__BlockExtension own = LIBTRACE__BLOCK_EXTENSION__INIT;
	if (!a->string_ids && !a->entries.bytes && !a->standard.bytes)
		return;
	strings_entry(a, &payload);
	add(a, &payload, a->entries.data, a->entries.bytes);
	own.has_format_version = own.has_sequence = own.has_payload_crc32c = own.has_num_entries =
		true;
	own.format_version = REPORT_FORMAT_VERSION;
	own.sequence = a->next_sequence++;
	own.num_entries = a->num_entries;
	own.has_num_events = own.has_first_ns = own.has_last_ns = a->num_events != 0;
	own.num_events = a->num_events;
	own.first_ns = a->first_ns;
	own.last_ns = a->last_ns;
	own.has_num_dropped = a->num_dropped != 0;
	own.num_dropped = a->num_dropped;
	own.has_num_deferred = a->num_deferred != 0;
	own.num_deferred = a->num_deferred;
	compress(a, &payload, &own);
	standard_add(a, &payload);
	header_add(a, &payload, &own);
	add(a, &a->out, payload.data, payload.bytes);
	free(payload.data);
	block_end(a);
}

void append_texts_begin(struct append *a, uint32_t last_id)
{
	a->next_text_id = last_id + 1; /* 0 = no ids are left */
}

static void string_add(struct append *a, uint32_t id, const char *text)
{
	add(a, &a->strings, text, strlen(text) + 1);
	add(a, &a->ids, &id, sizeof(id));
	a->string_ids++;
}

uint32_t append_text(struct append *a, const char *text)
{
	if (!text || !*text)
		return 0;
	uint32_t id = map_get(&a->texts, (uintptr_t)text, 0);
	if (id || !a->next_text_id)
		return id;
	if (map_put(&a->texts, (uintptr_t)text, 0, a->next_text_id)) {
		a->broken = true;
		return 0;
	}
	id = a->next_text_id++;
	string_add(a, id, text);
	return id;
}

int append_texts_end(const struct append *a)
{
	return a->broken ? -ENOMEM : !a->next_text_id && a->texts.count ? -EOVERFLOW : 0;
}

void append_entry(struct append *a, const Libtrace__Entry *entry)
{
	entry_add(a, &a->entries, entry);
	if (a->entries.bytes + a->strings.bytes >= APPEND_BLOCK_BYTES)
		append_seal(a);
}

void append_start(struct append *a)
{
	*a = (struct append){.fd = -1};
}

int append_blocks(struct append *a, uint8_t **ret_data, size_t *ret_bytes)
{
	append_seal(a);
	*ret_data = NULL;
	*ret_bytes = 0;
	if (a->broken)
		return -ENOMEM;
	*ret_data = a->out.data;
	*ret_bytes = a->out.bytes;
	a->out = (struct buffer){0};
	return 0;
}

const uint8_t append_file_begin[APPEND_FILE_BEGIN_BYTES] = {
	'N', 'V', 'R', 0, 2, 0, 0, 0, 0x08, 0x07};

int append_file(struct append *a, uint8_t **ret_data, size_t *ret_bytes)
{
	const size_t begin = sizeof(append_file_begin);
	uint8_t *blocks;
	size_t bytes;
	int error = append_blocks(a, &blocks, &bytes);
	uint8_t *data = error ? NULL : malloc(begin + bytes);
	if (data) {
		memcpy(data, append_file_begin, begin);
		if (bytes)
			memcpy(data + begin, blocks, bytes);
		*ret_data = data;
		*ret_bytes = begin + bytes;
	}
	free(blocks);
	return data ? 0 : error ? error : -ENOMEM;
}

int append_commit(struct append *a, uint64_t end)
{
	struct stat status;
	append_seal(a);
	if (a->broken)
		return -ENOMEM;
	if (!a->out.bytes)
		return 0;
	/* On a file system without locks, the file may have grown meanwhile. */
	if (fstat(a->fd, &status))
		return -errno;
	if ((uint64_t)status.st_size != a->report.source.size)
		return -EBUSY;
	int error = io_write_at(a->fd, a->out.data, a->out.bytes, end);
	if (!error && ftruncate(a->fd, (off_t)(end + a->out.bytes)))
		error = -errno;
	if (!error && fdatasync(a->fd) && errno != EINVAL)
		error = -errno;
	if (error && ftruncate(a->fd, (off_t)end))
		return error; /* the tail is torn, but all blocks before it are valid */
	return error;
}
