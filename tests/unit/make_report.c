/* SPDX-License-Identifier: Apache-2.0 */
/* make_report.c - writes reports for tests, event by event (make_report.h). */
#include "tests/unit/make_report.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "common/crc32c.h"

enum encoding { ENCODING_NONE, ENCODING_DELTA, ENCODING_PLAIN, ENCODING_SIGNED };

#define EVENT(number, id, name, title) NUMBER_##id = number,
enum {
#include "common/schema/events.def"
};
#define FIELD(event_id, number, id, column, kind, encoding, title) \
	[NUMBER_##event_id][number] = ENCODING_##encoding,
static const unsigned char encodings[128][48] = {
#include "common/schema/events.def"
};

static void append(uint8_t **data, size_t *bytes, size_t *capacity, const void *from, size_t count)
{
	if (*capacity - *bytes < count) {
		*capacity = 2 * (*bytes + count) + 4096;
		*data = realloc(*data, *capacity);
		if (!*data)
			abort();
	}
	if (count)
		memcpy(*data + *bytes, from, count);
	*bytes += count;
}

static void file_append(struct make_report *m, const void *from, size_t count)
{
	append(&m->data, &m->bytes, &m->capacity, from, count);
}

static void block_start(struct make_report *m)
{
	m->entry_bytes = m->entry_count = 0;
	m->events = m->dropped = m->last_ns = 0;
	m->first_ns = UINT64_MAX;
}

void make_init(struct make_report *m, bool compress)
{
	static const uint8_t start[] = {'N', 'V', 'R', 0, 2, 0, 0, 0, 8, 7};
	*m = (struct make_report){.compress = compress, .next_string = 1};
	file_append(m, start, sizeof(start));
	block_start(m);
}

void make_release(struct make_report *m)
{
	free(m->data);
	free(m->entries);
	*m = (struct make_report){0};
}

void make_entry(struct make_report *m, const Libtrace__Entry *entry)
{
	size_t bytes = libtrace__entry__get_packed_size(entry);
	uint8_t *packed = malloc(bytes + 1);
	uint32_t size = htole32((uint32_t)bytes);
	if (!packed)
		abort();
	libtrace__entry__pack(entry, packed);
	append(&m->entries, &m->entry_bytes, &m->entry_capacity, &size, 4);
	append(&m->entries, &m->entry_bytes, &m->entry_capacity, packed, bytes);
	m->entry_count++;
	free(packed);
}

void make_session(struct make_report *m, uint64_t start_ns)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Session session = LIBTRACE__SESSION__INIT;
	char *options[] = {"LIBTRACE_OSRT_THRESHOLD=1000"};
	session.boot_id = "00000000-0000-0000-0000-000000000000";
	session.has_start_ns = session.has_start_realtime_ns = session.has_cpu_count =
		session.has_root_pid = true;
	session.start_ns = start_ns;
	session.start_realtime_ns = 1700000000123456789u;
	session.hostname = "host";
	session.kernel = "Linux 6.1";
	session.processor = "processor";
	session.cpu_count = 2;
	session.library_version = "0.1.0";
	session.root_pid = 100;
	session.n_options = 1;
	session.options = options;
	entry.session = &session;
	make_entry(m, &entry);
}

uint32_t make_string(struct make_report *m, const char *text)
{
	return make_bytes(m, text, strlen(text));
}

uint32_t make_bytes(struct make_report *m, const void *bytes, size_t count)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Strings strings = LIBTRACE__STRINGS__INIT;
	ProtobufCBinaryData data = {count, (uint8_t *)(uintptr_t)bytes};
	uint32_t id = m->next_string++;
	strings.n_ids = strings.n_texts = 1;
	strings.ids = &id;
	strings.texts = &data;
	entry.strings = &strings;
	make_entry(m, &entry);
	return id;
}

void make_process(struct make_report *m, uint32_t id, uint32_t pid, uint32_t parent_pid,
	const char *executable)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Process process = LIBTRACE__PROCESS__INIT;
	ProtobufCBinaryData arguments[] = {
		{strlen(executable), (uint8_t *)executable}, {3, (uint8_t *)"-\xff\x01"}};
	process.has_id = process.has_pid = process.has_parent_pid = process.has_start_ns =
		process.has_traced = true;
	process.id = id;
	process.pid = pid;
	process.parent_pid = parent_pid;
	process.start_ns = 1000;
	process.executable = (char *)executable;
	process.n_arguments = 2;
	process.arguments = arguments;
	entry.process = &process;
	make_entry(m, &entry);
}

void make_process_end(
	struct make_report *m, uint32_t id, uint64_t end_ns, Libtrace__ProcessEnd end, int status)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Process process = LIBTRACE__PROCESS__INIT;
	process.has_id = process.has_end_ns = process.has_end = process.has_exit_status = true;
	process.id = id;
	process.end_ns = end_ns;
	process.end = end;
	process.exit_status = status;
	entry.process = &process;
	make_entry(m, &entry);
}

void make_receipt(struct make_report *m, uint32_t process, uint64_t written, uint64_t dropped)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Receipt receipt = LIBTRACE__RECEIPT__INIT;
	Libtrace__Drop drop = LIBTRACE__DROP__INIT, *drops = &drop;
	receipt.has_process = receipt.has_produced = receipt.has_written = true;
	receipt.process = process;
	receipt.produced = written + dropped;
	receipt.written = written;
	drop.has_count = true;
	drop.count = dropped;
	receipt.n_drops = dropped ? 1 : 0;
	receipt.drops = &drops;
	entry.receipt = &receipt;
	make_entry(m, &entry);
}

void make_diagnostic(struct make_report *m, uint32_t pid, const char *text)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Diagnostic diagnostic = LIBTRACE__DIAGNOSTIC__INIT;
	diagnostic.has_pid = true;
	diagnostic.pid = pid;
	diagnostic.text = (char *)text;
	entry.diagnostic = &diagnostic;
	make_entry(m, &entry);
}

/* Copy one column out of the rows. Return false when it is 0 in every row and is left out. */
static bool column_make(Libtrace__Column *column, uint32_t kind, uint32_t field, size_t rows,
	size_t fields, const int64_t *values, int64_t *room)
{
	bool same = true, zero = true;
	for (size_t i = 0; i < rows; i++) {
		room[i] = values[i * fields + field - 1];
		same &= room[i] == room[0];
		zero &= !room[i];
	}
	column->has_field = true;
	column->field = field;
	if (same) {
		column->has_constant = true;
		column->constant = rows ? room[0] : 0;
	} else if (encodings[kind][field] == ENCODING_DELTA) {
		for (size_t i = rows; i-- > 1;)
			room[i] = (int64_t)((uint64_t)room[i] - (uint64_t)room[i - 1]);
		column->n_deltas = rows;
		column->deltas = room;
	} else if (encodings[kind][field] == ENCODING_SIGNED) {
		column->n_signed_values = rows;
		column->signed_values = room;
	} else {
		column->n_values = rows;
		column->values = (uint64_t *)room;
	}
	return !zero;
}

static void note_times(
	struct make_report *m, uint32_t kind, size_t rows, size_t fields, const int64_t *values)
{
	bool spans = kind == NUMBER_OSRT_CALL || kind == NUMBER_GAP;
	for (size_t i = 0; i < rows; i++) {
		uint64_t first = (uint64_t)values[i * fields],
			 last = first + (spans ? (uint64_t)values[i * fields + 1] : 0);
		m->first_ns = first < m->first_ns ? first : m->first_ns;
		m->last_ns = last > m->last_ns ? last : m->last_ns;
		m->dropped += kind == NUMBER_GAP ? (uint64_t)values[i * fields + 2] : 0;
	}
	m->events += rows;
}

void make_batch(struct make_report *m, uint32_t kind, uint32_t process, uint32_t tid, size_t rows,
	size_t fields, const int64_t *values)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__EventBatch batch = LIBTRACE__EVENT_BATCH__INIT;
	Libtrace__Column columns[64], *pointers[64];
	int64_t *room = malloc((rows * fields + 1) * sizeof(*room));
	if (!room)
		abort();
	batch.has_kind = batch.has_process = batch.has_tid = batch.has_count = true;
	batch.kind = kind;
	batch.process = process;
	batch.tid = tid;
	batch.count = (uint32_t)rows;
	batch.columns = pointers;
	for (uint32_t field = 1; field <= fields; field++) {
		Libtrace__Column *column = &columns[batch.n_columns];
		libtrace__column__init(column);
		pointers[batch.n_columns] = column;
		batch.n_columns += column_make(
			column, kind, field, rows, fields, values, room + (field - 1) * rows);
	}
	entry.batch = &batch;
	make_entry(m, &entry);
	note_times(m, kind, rows, fields, values);
	free(room);
}

void make_calls(struct make_report *m, uint32_t process, uint32_t tid, size_t rows,
	const struct make_call *calls)
{
	int64_t *values = malloc((rows * 8 + 1) * sizeof(*values));
	if (!values)
		abort();
	for (size_t i = 0; i < rows; i++) {
		const struct make_call *c = &calls[i];
		const int64_t row[8] = {(int64_t)c->start, (int64_t)c->duration, c->function,
			c->result, (int64_t)c->error, (int64_t)c->object, (int64_t)c->holder,
			(int64_t)c->flags};
		memcpy(values + i * 8, row, sizeof(row));
	}
	make_batch(m, NUMBER_OSRT_CALL, process, tid, rows, 8, values);
	free(values);
}

void make_callchains(struct make_report *m, uint32_t process, uint32_t first_id, size_t count,
	const uint32_t *parents, const uint64_t *addresses)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Callchains chains = LIBTRACE__CALLCHAINS__INIT;
	int64_t *deltas = malloc((count + 1) * sizeof(*deltas));
	if (!deltas)
		abort();
	for (size_t i = 0; i < count; i++)
		deltas[i] = (int64_t)(addresses[i] - (i ? addresses[i - 1] : 0));
	chains.has_process = chains.has_first_id = true;
	chains.process = process;
	chains.first_id = first_id;
	chains.n_parents = chains.n_addresses = count;
	chains.parents = (uint32_t *)parents;
	chains.addresses = deltas;
	entry.callchains = &chains;
	make_entry(m, &entry);
	free(deltas);
}

static uint32_t make_text(struct make_report *m, const char *text)
{
	return text && *text ? make_string(m, text) : 0;
}

void make_symbols(
	struct make_report *m, uint32_t process, size_t count, const struct make_symbol *symbols)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Symbols message = LIBTRACE__SYMBOLS__INIT;
	int64_t addresses[16];
	uint32_t counts[16], modules[16], reasons[16], functions[48], files[48], lines[48];
	uint64_t offsets[16];
	size_t frames = 0;
	for (size_t i = 0; i < count; i++) {
		const struct make_symbol *s = &symbols[i];
		addresses[i] = (int64_t)(s->address - (i ? symbols[i - 1].address : 0));
		counts[i] = s->frame_count;
		modules[i] = make_text(m, s->module);
		reasons[i] = make_text(m, s->reason);
		offsets[i] = s->offset;
		for (uint32_t n = 0; n < s->frame_count; n++) {
			functions[frames] = make_text(m, s->frames[n].function);
			files[frames] = make_text(m, s->frames[n].file);
			lines[frames++] = s->frames[n].line;
		}
	}
	message.has_process = true;
	message.process = process;
	message.n_addresses = message.n_frame_counts = message.n_modules = count;
	message.n_offsets = message.n_reasons = count;
	message.n_functions = message.n_files = message.n_lines = frames;
	message.addresses = addresses;
	message.frame_counts = counts;
	message.modules = modules;
	message.reasons = reasons;
	message.offsets = offsets;
	message.functions = functions;
	message.files = files;
	message.lines = lines;
	entry.symbols = &message;
	make_entry(m, &entry);
}

void make_module(struct make_report *m, uint32_t process, uint64_t ns, uint64_t begin, uint64_t end,
	uint64_t bias, const char *path, const char *build_id)
{
	const int64_t row[] = {(int64_t)ns, (int64_t)begin, (int64_t)end, (int64_t)bias,
		make_string(m, path), *build_id ? make_string(m, build_id) : 0};
	make_batch(m, NUMBER_MODULE_LOAD, process, 1, 1, 6, row);
}

void make_module_end(struct make_report *m, uint32_t process, uint64_t ns, uint64_t begin)
{
	const int64_t row[] = {(int64_t)ns, (int64_t)begin};
	make_batch(m, NUMBER_MODULE_UNLOAD, process, 1, 1, 2, row);
}

static void compress(struct make_report *m, Libtrace__BlockExtension *own)
{
	size_t room = ZSTD_compressBound(m->entry_bytes);
	uint8_t *frame = malloc(room);
	size_t bytes = frame ? ZSTD_compress(frame, room, m->entries, m->entry_bytes, 1) : 0;
	if (!frame || ZSTD_isError(bytes))
		abort();
	own->has_compression = own->has_uncompressed_bytes = true;
	own->compression = LIBTRACE__COMPRESSION__COMPRESSION_ZSTD;
	own->uncompressed_bytes = m->entry_bytes;
	m->entry_bytes = 0;
	append(&m->entries, &m->entry_bytes, &m->entry_capacity, frame, bytes);
	free(frame);
}

static void extension_fill(struct make_report *m, Libtrace__BlockExtension *own)
{
	own->has_format_version = own->has_sequence = own->has_payload_crc32c =
		own->has_num_entries = true;
	own->format_version = 1;
	own->sequence = m->sequence++;
	own->num_entries = m->entry_count;
	own->has_first_ns = own->has_last_ns = own->has_num_events = m->events > 0;
	own->first_ns = m->first_ns;
	own->last_ns = m->last_ns;
	own->num_events = m->events;
	own->has_num_dropped = m->dropped > 0;
	own->num_dropped = m->dropped;
	if (m->compress)
		compress(m, own);
	own->payload_crc32c = crc32c(0, m->entries, m->entry_bytes);
}

void make_block_end(struct make_report *m)
{
	Libtrace__BlockHeader header = LIBTRACE__BLOCK_HEADER__INIT;
	Libtrace__BlockExtension own = LIBTRACE__BLOCK_EXTENSION__INIT;
	Libtrace__ProcessInfo process = LIBTRACE__PROCESS_INFO__INIT;
	extension_fill(m, &own);
	process.process_id = 100;
	header.has_num_sources = header.has_num_results = header.has_payload_size = true;
	header.payload_size = (uint32_t)m->entry_bytes;
	header.process = &process;
	header.libtrace = &own;
	size_t bytes = libtrace__block_header__get_packed_size(&header);
	uint8_t *packed = malloc(bytes);
	uint32_t size = htole32((uint32_t)bytes);
	if (!packed)
		abort();
	libtrace__block_header__pack(&header, packed);
	file_append(m, &size, 4);
	file_append(m, packed, bytes);
	file_append(m, m->entries, m->entry_bytes);
	free(packed);
	block_start(m);
}

static void sample_first(struct make_report *m)
{
	make_session(m, 1000);
	make_process(m, 1, 100, 1, "/bin/app");
	uint32_t name = make_string(m, "main\tthread");
	const int64_t start[] = {1000, name, 0, 1};
	make_batch(m, NUMBER_THREAD_START, 1, 100, 1, 4, start);
	uint32_t read = make_string(m, "read"), poll = make_string(m, "poll");
	const struct make_call calls[] = {
		{2000, 1500, read, 17, 0, 3, 0, 0},
		{5000, 2500, read, -1, 11, 3, 0, 0},
		{9000, 100000, poll, 0, 0, 0x7fff12345678, 0, 0},
	};
	make_calls(m, 1, 100, 3, calls);
	make_block_end(m);
}

static void sample_second(struct make_report *m)
{
	uint32_t read = 2, lock = make_string(m, "pthread_mutex_lock"),
		 path = make_string(m, "/tmp/a \"b\"");
	make_process(m, 2, 101, 100, "/bin/child");
	const struct make_call calls[] = {
		{3000, 40000, lock, 0, 0, 0x1000, 100, 0},
		{60000, 1000, read, 1, 0, 4, 0, 2},
		{70000, 500000, lock, 0, 0, 0x1000, 0, 4},
	};
	make_calls(m, 2, 102, 3, calls);
	const int64_t child[] = {2500, 101, 3, 0, path}, file[] = {60500, -1, 0x241, 0x1b6, path},
		      gap[] = {61000, 500, 7, 1};
	make_batch(m, NUMBER_CHILD, 1, 100, 1, 5, child);
	make_batch(m, NUMBER_FILE_PATH, 2, 102, 1, 5, file);
	make_batch(m, NUMBER_GAP, 2, 102, 1, 4, gap);
	make_block_end(m);
}

void make_sample(struct make_report *m, bool compress_blocks)
{
	make_init(m, compress_blocks);
	sample_first(m);
	sample_second(m);
	const int64_t summary[] = {600000, 2, 1234, 56789}, end[] = {600000};
	make_batch(m, NUMBER_OSRT_SUMMARY, 1, 100, 1, 4, summary);
	make_batch(m, NUMBER_THREAD_END, 1, 100, 1, 1, end);
	make_process_end(m, 1, 600000, LIBTRACE__PROCESS_END__END_EXIT, 3);
	make_process_end(m, 2, 570000, LIBTRACE__PROCESS_END__END_KILLED, 0);
	make_receipt(m, 1, 7, 0);
	make_receipt(m, 2, 5, 7);
	make_diagnostic(m, 100, "something to say");
	make_block_end(m);
}

void make_save(const struct make_report *m, const char *path)
{
	FILE *f = fopen(path, "w");
	if (!f || fwrite(m->data, 1, m->bytes, f) != m->bytes || fclose(f)) {
		perror(path);
		exit(1);
	}
}
