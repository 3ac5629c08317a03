/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_writer_batch.c - tests of the batch encoder, compared with protobuf-c, of the checksum, the
 * clock fit, strings, and the compression of blocks.
 */
#include "tests/unit/test_writer.h"

#include <time.h>

#include "common/clockfit.h"
#include "common/varint.h"
#include "writer/report/block.h"

static uint64_t random_state = 88172645463325252u;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

enum encoding { DELTA = 1, PLAIN, SIGNED };

#define FIELD(event_id, number, id, column, kind, encoding, title) \
	[EVENT_##event_id][number - 1] = encoding,
static const int encodings[EVENT_KINDS][BATCH_COLUMNS] = {
#include "common/schema/events.def"
};

/* Encode the same batch by protobuf-c. Return the entry's bytes after its size. */
static size_t reference_encode(const struct batch *b, uint8_t *out)
{
	static Libtrace__Column columns[BATCH_COLUMNS], *list[BATCH_COLUMNS];
	static int64_t deltas[BATCH_COLUMNS][BATCH_ROWS];
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__EventBatch m = LIBTRACE__EVENT_BATCH__INIT;
	m.has_kind = m.has_process = m.has_tid = m.has_count = 1;
	m.kind = b->kind;
	m.process = b->process;
	m.tid = b->tid;
	m.count = b->count;
	m.columns = list;
	for (uint32_t i = 0; i < BATCH_COLUMNS; i++) {
		Libtrace__Column *c = &columns[i];
		const uint64_t *v = b->column[i];
		bool same = true;
		for (uint32_t row = 0; row < b->count; row++)
			same &= v[row] == v[0];
		if (!encodings[b->kind][i] || !b->count || (same && !v[0]))
			continue;
		libtrace__column__init(c);
		c->has_field = 1;
		c->field = i + 1;
		for (uint32_t row = 0; row < b->count; row++)
			deltas[i][row] = (int64_t)(v[row] - (row ? v[row - 1] : 0));
		if (same) {
			c->has_constant = 1;
			c->constant = (int64_t)v[0];
		} else if (encodings[b->kind][i] == DELTA) {
			c->n_deltas = b->count;
			c->deltas = deltas[i];
		} else if (encodings[b->kind][i] == SIGNED) {
			c->n_signed_values = b->count;
			c->signed_values = (int64_t *)v;
		} else {
			c->n_values = b->count;
			c->values = (uint64_t *)v;
		}
		list[m.n_columns++] = c;
	}
	entry.batch = &m;
	uint32_t size = (uint32_t)libtrace__entry__pack(&entry, out + 4);
	memcpy(out, &size, 4);
	return size + 4;
}

static uint64_t random_value(void)
{
	switch (random_next() % 5) {
	case 0:
		return random_next() >> random_next() % 64;
	case 1:
		return (uint64_t) - (int64_t)(random_next() % 1000);
	case 2:
		return UINT64_C(1) << random_next() % 64;
	case 3:
		return (UINT64_C(1) << random_next() % 64) - 1;
	default:
		return random_next() % 300;
	}
}

static void fill(struct batch *b)
{
	static const uint32_t counts[] = {
		0, 1, 2, 15, 16, 17, 127, 128, 1000, BATCH_ROWS - 1, BATCH_ROWS};
	b->kind = 1 + (uint32_t)(random_next() % (EVENT_KINDS - 1));
	b->process = (uint32_t)random_value();
	b->tid = (uint32_t)random_value();
	b->count = counts[random_next() % (sizeof(counts) / sizeof(counts[0]))];
	for (uint32_t i = 0; i < batch_columns(b->kind); i++) {
		uint64_t shape = random_next() % 6, first = random_value();
		for (uint32_t row = 0; row < b->count; row++)
			b->column[i][row] = shape == 0 ? 0
				: shape == 1           ? first
				: shape == 2           ? first + row
						       : random_value();
		if (shape == 3 && b->count) { /* one row differs */
			for (uint32_t row = 0; row < b->count; row++)
				b->column[i][row] = first;
			b->column[i][random_next() % b->count] ^= 1;
		}
	}
}

static void bytes_are_those_of_protobuf(void)
{
	static struct batch b;
	static uint8_t own[BATCH_BYTES_MAX], reference[BATCH_BYTES_MAX];
	int wrong = 0;
	size_t largest = 0;
	for (int i = 0; i < 3000 && !wrong; i++) {
		fill(&b);
		memset(own, 0xa5, sizeof(own));
		size_t bytes = batch_encode(&b, own), expected = reference_encode(&b, reference);
		wrong += bytes != expected || memcmp(own, reference, bytes);
		largest = bytes > largest ? bytes : largest;
	}
	tap_equal(wrong, 0, "3000 random batches are encoded as protobuf-c does it");
	b.kind = EVENT_OSRT_CALL;
	b.count = BATCH_ROWS;
	for (uint32_t i = 0; i < BATCH_COLUMNS; i++)
		for (uint32_t row = 0; row < BATCH_ROWS; row++)
			b.column[i][row] = row & 1 ? UINT64_C(1) << 63 : UINT64_MAX;
	size_t bytes = batch_encode(&b, own);
	tap(bytes == reference_encode(&b, reference) && !memcmp(own, reference, bytes),
		"so is the largest there can be");
	tap(bytes <= BATCH_BYTES_MAX, "and it fits");
}

/* Check that rows added in pieces, alike or not, give the same batch as rows added one by one. */
static void pieces_are_the_rows(void)
{
	static struct batch pieces, rows;
	static uint8_t own[BATCH_BYTES_MAX], reference[BATCH_BYTES_MAX];
	int wrong = 0, alike = 0;
	for (int i = 0; i < 3000 && !wrong; i++) {
		pieces.kind = rows.kind = EVENT_OSRT_CALL;
		pieces.count = rows.count = 0;
		for (uint64_t left = 1 + random_next() % 6; left; left--) {
			uint32_t count = 1 + (uint32_t)(random_next() % 300);
			for (uint32_t c = 0; c < BATCH_COLUMNS; c++) {
				uint64_t value = random_next() % 3;
				bool same = random_next() % 4;
				if (same)
					batch_same(&pieces, c, value, count);
				uint64_t *at = same ? NULL : batch_rows(&pieces, c);
				for (uint32_t row = 0; row < count; row++) {
					uint64_t one = same ? value : random_value();
					rows.column[c][rows.count + row] = one;
					if (at)
						at[row] = one;
				}
			}
			pieces.count += count;
			rows.count += count;
		}
		alike += pieces.same != 0;
		size_t bytes = batch_encode(&pieces, own),
		       expected = batch_encode(&rows, reference);
		wrong += bytes != expected || memcmp(own, reference, bytes);
	}
	tap_equal(wrong, 0, "3000 batches added in pieces equal those added row by row");
	tap(alike > 100, "many had columns that are not stored");
}

/* Check that the memory of a batch is as long as its kind needs: nothing is written after the last
 * row. */
static void a_full_batch_takes_no_more(void)
{
	struct batch *b = check(calloc(1, batch_bytes(EVENT_OSRT_CALL)), "calloc");
	uint32_t rows = 0, last = batch_columns(EVENT_OSRT_CALL) - 1;
	b->kind = EVENT_OSRT_CALL;
	batch_set(b, last, 7); /* number of a row that does not exist */
	while (rows < 2 * BATCH_ROWS && batch_row_add(b, rows)) {
		batch_set(b, last, ++rows);
		batch_set(b, last + 1, 7); /* number of a column that does not exist */
	}
	tap(rows == BATCH_ROWS && b->count == BATCH_ROWS && !batch_room(b),
		"a full batch takes no more rows");
	tap(b->column[0][BATCH_ROWS - 1] == BATCH_ROWS - 1 && b->column[1][0] == 0 &&
			b->column[last][BATCH_ROWS - 1] == BATCH_ROWS,
		"and none lie in the next column");
	batch_same(b, 1, 9, 100);
	batch_rows_added(b, 100);
	tap(b->count == BATCH_ROWS && b->column[2][0] == 0, "nor do many at once");
	free(b);
}

static void varints_are_read_back(void)
{
	int wrong = 0;
	for (int i = 0; i < 100000; i++) {
		uint8_t buffer[VARINT_MAX];
		uint64_t value = random_value(), back = 0;
		size_t bytes = (size_t)(varint_put(buffer, value) - buffer);
		wrong += varint_get(buffer, buffer + bytes, &back) != buffer + bytes ||
			back != value;
		wrong += varint_get(buffer, buffer + bytes - 1, &back) != NULL ||
			bytes != varint_bytes(value);
		wrong += zigzag_decode(zigzag_encode((int64_t)value)) != (int64_t)value;
	}
	tap_equal(wrong, 0, "varints are read back, truncated ones are refused");
}

static void checksum_is_crc32c(void)
{
	static uint8_t data[5000];
	int wrong = 0;
	tap_equal(crc32c(0, "123456789", 9), 0xe3069283,
		"CRC-32C has the check value of the specification");
	tap_equal(crc32c_portable(0, "123456789", 9), 0xe3069283,
		"the portable CRC-32C has the check value of the specification");
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)random_next();
	for (size_t cut = 0; cut < 300; cut++) {
		uint32_t whole = crc32c(0, data, sizeof(data) - cut);
		wrong += whole != crc32c_portable(0, data, sizeof(data) - cut);
		wrong += whole != crc32c(crc32c(0, data, cut), data + cut, sizeof(data) - 2 * cut);
	}
	tap_equal(wrong, 0, "both CRC-32C agree, also on data in pieces");
}

static void clock_is_monotonic_and_near(void)
{
	static struct clockfit fit;
	clockfit_init(&fit);
	int wrong = 0, refused = 0;
	double rate = 0.37;
	for (uint64_t i = 0; i < 2000; i++) {
		uint64_t tick = 1000000 + i * 2700000;
		struct clock_point p = {tick,
			5000000000 + (uint64_t)((double)(tick - 1000000) * rate) +
				random_next() % 40,
			20};
		refused += clockfit_add(&fit, &p) != 0;
		/* A later point never changes times before the point that precedes it. */
		uint64_t last = 0;
		for (uint64_t step = 0; i && step < 50; step++) {
			uint64_t at = tick - 2700000 + step * 54000;
			uint64_t ns = clockfit_ns(&fit, at),
				 end = ns + clockfit_duration_ns(&fit, at, 54000);
			double exact = 5000000000.0 + (double)(at - 1000000) * rate;
			wrong += ns < last || (double)ns < exact - 2 || (double)ns > exact + 42;
			last = end;
		}
	}
	tap_equal(refused, 0, "good clock points are accepted");
	tap_equal(wrong, 0, "converted times ascend and are within the error of the points");
	struct clock_point bad = {1000000 + UINT64_C(3000) * 2700000, 1, 0};
	tap(clockfit_add(&fit, &bad) < 0, "a point that turns time round is refused");
	bad.mono_ns = UINT64_C(900000000000000);
	tap(clockfit_add(&fit, &bad) < 0, "and one with another rate");
	uint64_t before = clockfit_ns(&fit, 0);
	tap(before < 5000000000 && before > 4999000000,
		"what lies before the first point is reached backwards");
	clockfit_init(&fit);
	tap_equal((int64_t)clockfit_ns(&fit, 1234), 1234, "without points ticks are nanoseconds");
}

static void strings_have_one_id(void)
{
	static struct strings s;
	tap_equal(strings_init(&s), 0, "strings");
	uint32_t a = strings_id(&s, "abc", 3), b = strings_id(&s, "abd", 3);
	tap(a == 1 && b == 2 && strings_id(&s, "abc", 3) == 1 && s.pending_count == 2,
		"a text has one id");
	tap_equal(strings_id(&s, "", 0), 0, "an empty text has id 0");
	strings_forget_pending(&s);
	char text[16];
	uint32_t last = 0;
	bool ascending = true;
	for (int i = 0; i < 500000; i++) {
		int length = snprintf(text, sizeof(text), "s%d", i);
		uint32_t id = strings_id(&s, text, (size_t)length);
		ascending &= id > last;
		last = id;
		if (i % 1000 == 0)
			strings_forget_pending(&s);
	}
	tap(ascending, "ids are never reused, not even when the table has grown too large");
	tap(s.count <= 200000, "which is bounded");
	strings_release(&s);
}

static void block_is_the_same_compressed(void)
{
	static struct batch b;
	static struct strings s;
	struct block plain, packed;
	tap(!block_init(&plain, false) && !block_init(&packed, true) && !strings_init(&s),
		"blocks");
	b.kind = EVENT_OSRT_CALL;
	b.count = BATCH_ROWS;
	for (uint32_t i = 0; i < BATCH_ROWS; i++)
		b.column[OSRT_CALL_START][i] = i * 1000;
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Diagnostic diagnostic = LIBTRACE__DIAGNOSTIC__INIT;
	diagnostic.text = "text";
	entry.diagnostic = &diagnostic;
	struct block *blocks[] = {&plain, &packed};
	for (int i = 0; i < 2; i++) {
		block_put_entry(blocks[i], &entry);
		block_put_batch(blocks[i], &b);
		block_put_batch(blocks[i], &b);
		block_note_events(blocks[i], 2 * BATCH_ROWS, 0, 99);
		struct block_identity identity = {
			.sequence = 5, .root_pid = 1, .hostname = "h", .process_name = "p"};
		tap_equal(block_seal(blocks[i], &s, &identity), 0, "sealed");
	}
	size_t bytes = plain.front.bytes + plain.body.bytes;
	uint8_t *raw = check(malloc(bytes), "malloc");
	size_t got = ZSTD_decompress(raw, bytes, packed.parts[3].iov_base, packed.parts[3].iov_len);
	tap(got == bytes && !memcmp(raw, plain.front.data, plain.front.bytes) &&
			!memcmp(raw + plain.front.bytes, plain.body.data, plain.body.bytes),
		"one frame holds what the plain block holds");
	Libtrace__BlockHeader *h = libtrace__block_header__unpack(
		NULL, packed.header.bytes - 4, packed.header.data + 4);
	tap(h && h->libtrace->uncompressed_bytes == bytes &&
			h->payload_size == packed.parts[3].iov_len &&
			h->libtrace->payload_crc32c ==
				crc32c(0, packed.parts[3].iov_base, packed.parts[3].iov_len),
		"its header says so");
	libtrace__block_header__free_unpacked(h, NULL);
	free(raw);
	block_release(&plain);
	block_release(&packed);
	strings_release(&s);
}

int main(void)
{
	bytes_are_those_of_protobuf();
	pieces_are_the_rows();
	a_full_batch_takes_no_more();
	varints_are_read_back();
	checksum_is_crc32c();
	clock_is_monotonic_and_near();
	strings_have_one_id();
	block_is_the_same_compressed();
	return tap_end();
}
