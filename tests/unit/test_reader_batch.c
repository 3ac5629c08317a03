/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_batch.c - tests of the columns of a batch: the reader decodes the values that
 * protobuf-c packed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/file/batch.h"
#include "report.pb-c.h"
#include "tests/unit/tap.h"

#define ROWS 70u

static uint8_t packed[8192];

static size_t pack(uint32_t count, Libtrace__Column *column)
{
	Libtrace__EventBatch batch = LIBTRACE__EVENT_BATCH__INIT;
	batch.has_kind = batch.has_process = batch.has_tid = batch.has_count = true;
	batch.kind = 1;
	batch.process = 2;
	batch.tid = 3;
	batch.count = count;
	batch.n_columns = column ? 1 : 0;
	batch.columns = &column;
	return libtrace__event_batch__pack(&batch, packed);
}

static int decode(size_t bytes, uint32_t field, int64_t *values)
{
	static struct event_batch b;
	const char *cause;
	int error = event_batch_parse(&b, packed, packed + bytes, &cause);
	return error ? error : event_batch_column(&b, field, values);
}

/* Return number `i` of a series whose varints have every length. */
static uint64_t sample(uint32_t i)
{
	return i == 0 ? 0 : i < 65 ? (1ull << (i - 1)) - (i & 1) : UINT64_MAX - i;
}

static Libtrace__Column column_for(uint32_t field)
{
	Libtrace__Column c = LIBTRACE__COLUMN__INIT;
	c.has_field = true;
	c.field = field;
	return c;
}

static void plain_values(void)
{
	uint64_t values[ROWS];
	int64_t out[ROWS];
	Libtrace__Column c = column_for(2);
	bool same = true;
	for (uint32_t i = 0; i < ROWS; i++)
		values[i] = sample(i);
	c.n_values = ROWS;
	c.values = values;
	same &= decode(pack(ROWS, &c), 2, out) == 0;
	for (uint32_t i = 0; i < ROWS; i++)
		same &= (uint64_t)out[i] == values[i];
	check(same, "unsigned values of every length are decoded");
}

static void signed_values(void)
{
	int64_t values[ROWS], out[ROWS];
	Libtrace__Column c = column_for(3);
	bool same = true;
	for (uint32_t i = 0; i < ROWS; i++)
		values[i] = (int64_t)(i & 1 ? sample(i) : 0 - sample(i));
	c.n_signed_values = ROWS;
	c.signed_values = values;
	same &= decode(pack(ROWS, &c), 3, out) == 0 && !memcmp(out, values, sizeof(out));
	check(same, "signed values of every length are decoded");
}

static void deltas(void)
{
	int64_t values[ROWS], out[ROWS], expected[ROWS], sum = 0;
	Libtrace__Column c = column_for(1);
	for (uint32_t i = 0; i < ROWS; i++) {
		values[i] = (int64_t)(i * 1000003u % 4099) - 2000;
		expected[i] = sum += values[i];
	}
	c.n_deltas = ROWS;
	c.deltas = values;
	check(decode(pack(ROWS, &c), 1, out) == 0 && !memcmp(out, expected, sizeof(out)),
		"deltas are added up, starting from 0");
}

static void constants(void)
{
	int64_t out[ROWS];
	Libtrace__Column c = column_for(5);
	c.has_constant = true;
	c.constant = -77;
	check(decode(pack(ROWS, &c), 5, out) == 0 && out[0] == -77 && out[ROWS - 1] == -77,
		"a constant is the value of every row");
	check(decode(pack(ROWS, &c), 6, out) == 0 && out[0] == 0 && out[ROWS - 1] == 0,
		"an absent column is 0 in every row");
}

static void wrong_counts(void)
{
	uint64_t values[ROWS] = {0};
	int64_t out[ROWS + 1];
	Libtrace__Column c = column_for(2);
	c.n_values = ROWS;
	c.values = values;
	check(decode(pack(ROWS + 1, &c), 2, out) == -EBADMSG,
		"a column with too few values is refused");
	check(decode(pack(ROWS - 1, &c), 2, out) == -EBADMSG,
		"a column with too many values is refused");
	check(decode(pack(BATCH_ROWS_MAX + 1, NULL), 2, out) == -EBADMSG,
		"a batch with more rows than the format allows is refused");
}

static void wrong_columns(void)
{
	Libtrace__EventBatch batch = LIBTRACE__EVENT_BATCH__INIT;
	Libtrace__Column c = column_for(2), *twice[] = {&c, &c};
	static struct event_batch b;
	const char *cause = "";
	c.has_constant = true;
	batch.n_columns = 2;
	batch.columns = twice;
	size_t bytes = libtrace__event_batch__pack(&batch, packed);
	check(event_batch_parse(&b, packed, packed + bytes, &cause) == -EBADMSG,
		"a batch that has a column twice is refused: %s", cause);
	batch.n_columns = 1;
	bytes = libtrace__event_batch__pack(&batch, packed);
	bool refused = true;
	for (size_t cut = 1; cut < bytes; cut++)
		refused &= event_batch_parse(&b, packed, packed + bytes - cut, &cause) != 0 ||
			b.column_count == 0;
	check(refused, "a batch that is cut off is refused");
}

int main(void)
{
	plain_values();
	signed_values();
	deltas();
	constants();
	wrong_counts();
	wrong_columns();
	return tap_done();
}
