#include "reader/export/pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/base/io.h"

#define BUFFER_BYTES (1u << 20)
#define PENDING_BYTE 0x40000000u /* where SQLite locks: that page stays unused */
#define HEADER_BYTES 100u
#define HEADER_PAGE_COUNT 28
#define LEAF_HEAD 8u
#define INTERIOR_HEAD 12u
#define TYPE_INTERIOR 5
#define TYPE_LEAF 13

static void store_16(uint8_t *at, uint32_t number)
{
	at[0] = (uint8_t)(number >> 8);
	at[1] = (uint8_t)number;
}

static void store_32(uint8_t *at, uint32_t number)
{
	store_16(at, number >> 16);
	store_16(at + 2, number);
}

static uint32_t load_32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

int pages_start(struct pages *p, int fd)
{
	uint8_t header[HEADER_BYTES];
	ssize_t n = pread(fd, header, sizeof(header), 0);
	if (n < 0)
		return -errno;
	if (n != sizeof(header) || memcmp(header, "SQLite format 3", 16) ||
		(header[16] << 8 | header[17]) != PAGE_BYTES || header[20])
		return -EBADMSG;
	p->fd = fd;
	p->lock_page = PENDING_BYTE / PAGE_BYTES + 1;
	p->next_page = load_32(header + HEADER_PAGE_COUNT) + 1;
	p->buffered = 0;
	if (!p->buffer)
		p->buffer = malloc(BUFFER_BYTES);
	return p->buffer ? 0 : -ENOMEM;
}

static int flush(struct pages *p)
{
	int error = io_write_at(
		p->fd, p->buffer, p->buffered, (uint64_t)(p->buffered_first - 1) * PAGE_BYTES);
	p->buffered = 0;
	return error;
}

int pages_stop(struct pages *p)
{
	uint8_t count[4];
	store_32(count, p->next_page - 1);
	int error = p->buffered ? flush(p) : 0;
	return error ? error : io_write_at(p->fd, count, sizeof(count), HEADER_PAGE_COUNT);
}

void pages_release(struct pages *p)
{
	free(p->buffer);
	free(p->row);
	*p = (struct pages){0};
}

/* Takes a page; *ret_number says which one it is. */
static int page_write(struct pages *p, const uint8_t *bytes, uint32_t *ret_number)
{
	int error = 0;
	if (p->next_page == p->lock_page) {
		error = p->buffered ? flush(p) : 0;
		p->next_page++;
	} else if (p->buffered == BUFFER_BYTES) {
		error = flush(p);
	}
	if (error)
		return error;
	if (p->next_page == UINT32_MAX - 1)
		return -EFBIG;
	if (!p->buffered)
		p->buffered_first = p->next_page;
	memcpy(p->buffer + p->buffered, bytes, PAGE_BYTES);
	p->buffered += PAGE_BYTES;
	*ret_number = p->next_page++;
	return 0;
}

void page_table_begin(struct page_table *t, struct pages *p, uint32_t root, uint32_t columns,
	const uint8_t *places)
{
	*t = (struct page_table){.pages = p, .root = root, .columns = columns};
	for (uint32_t i = 0; i < columns && i < PAGE_COLUMNS; i++)
		t->places[i] = places ? places[i] : (uint8_t)i;
}

void page_table_release(struct page_table *t)
{
	for (uint32_t i = 0; i < PAGE_LEVELS; i++)
		free(t->levels[i].bytes);
	*t = (struct page_table){0};
}

static void page_clear(struct page *page)
{
	page->cells = 0;
	page->content = PAGE_BYTES;
}

static int page_ready(struct page *page)
{
	if (page->bytes)
		return 0;
	page->bytes = calloc(1, PAGE_BYTES);
	page_clear(page);
	return page->bytes ? 0 : -ENOMEM;
}

/* Room for one more cell, or NULL: the page is full. */
static uint8_t *cell_room(struct page *page, uint32_t head, uint32_t bytes)
{
	if (head + 2 * (page->cells + 1) + bytes > page->content)
		return NULL;
	page->content -= bytes;
	store_16(page->bytes + head + 2 * page->cells, page->content);
	page->cells++;
	return page->bytes + page->content;
}

/* The head of a page that has its cells. */
static void page_seal(struct page *page, int type, uint32_t right_page)
{
	uint32_t head = type == TYPE_LEAF ? LEAF_HEAD : INTERIOR_HEAD;
	page->bytes[0] = (uint8_t)type;
	store_16(page->bytes + 1, 0);
	store_16(page->bytes + 3, page->cells);
	store_16(page->bytes + 5, page->content);
	page->bytes[7] = 0;
	if (type == TYPE_INTERIOR)
		store_32(page->bytes + 8, right_page);
	uint32_t used = head + 2 * page->cells;
	memset(page->bytes + used, 0, page->content - used);
}

/* Section 1.6: seven bits a byte, the upper ones first, and eight in a ninth. */
static inline uint32_t varint_store(uint8_t *at, uint64_t number)
{
	if (number < 0x80) {
		*at = (uint8_t)number;
		return 1;
	}
	uint32_t n = (63 - (uint32_t)__builtin_clzll(number)) / 7 + 1;
	uint32_t seven = n;
	if (n > 8) {
		n = 9;
		seven = 8;
		at[8] = (uint8_t)number;
		number >>= 8;
	}
	for (uint32_t i = seven; i-- > 0; number >>= 7)
		at[i] = (uint8_t)(number | 0x80);
	if (n < 9)
		at[n - 1] &= 0x7f;
	return n;
}

#define INTERIOR_CELL_MAX 13u /* page number and key */

static int child_add(struct page_table *t, uint32_t level, uint32_t page_number, uint64_t key);

/* Takes the last cell of an interior page away: its child is where greater keys are. */
static uint32_t cell_last_away(struct page *page, uint32_t cell_bytes)
{
	page->content += cell_bytes;
	page->cells--;
	return page->last_page;
}

static uint32_t cell_bytes_of(uint64_t key)
{
	uint8_t varint[10];
	return 4 + varint_store(varint, key);
}

/* Writes a full interior page. Its last child stays back for the next page, so that each page has
 * two children at least; the one before it is the right one. */
static int interior_flush(struct page_table *t, uint32_t level)
{
	struct page *page = &t->levels[level];
	const uint64_t kept_key = page->last_key;
	const uint32_t kept = cell_last_away(page, cell_bytes_of(kept_key));
	const uint8_t *cell = page->bytes + page->content;
	const uint32_t right = load_32(cell);
	uint64_t right_key = 0;
	uint32_t number = 0, i = 4;
	do /* the keys are ours: below 2^56 */
		right_key = right_key << 7 | (cell[i] & 0x7f);
	while (cell[i++] & 0x80);
	page->last_page = right;
	cell_last_away(page, i);
	page_seal(page, TYPE_INTERIOR, right);
	int error = page_write(t->pages, page->bytes, &number);
	page_clear(page);
	if (!error)
		error = child_add(t, level + 1, number, right_key);
	return error ? error : child_add(t, level, kept, kept_key);
}

/* A page of the level below is complete. */
static int child_add(struct page_table *t, uint32_t level, uint32_t page_number, uint64_t key)
{
	uint8_t cell[INTERIOR_CELL_MAX];
	struct page *page = level < PAGE_LEVELS ? &t->levels[level] : NULL;
	int error = page ? page_ready(page) : -EFBIG;
	if (error)
		return error;
	store_32(cell, page_number);
	uint32_t bytes = 4 + varint_store(cell + 4, key);
	uint8_t *room = cell_room(page, INTERIOR_HEAD, bytes);
	if (!room) {
		error = interior_flush(t, level);
		room = error ? NULL : cell_room(page, INTERIOR_HEAD, bytes);
	}
	if (!room)
		return error ? error : -EFBIG;
	memcpy(room, cell, bytes);
	page->last_key = key;
	page->last_page = page_number;
	return 0;
}

static int leaf_flush(struct page_table *t)
{
	struct page *leaf = &t->levels[0];
	uint32_t number = 0;
	page_seal(leaf, TYPE_LEAF, 0);
	int error = page_write(t->pages, leaf->bytes, &number);
	page_clear(leaf);
	return error ? error : child_add(t, 1, number, leaf->last_key);
}

/* The least number of bytes that hold the value, and its serial type. */
static inline uint32_t value_bytes(int64_t value, uint8_t *ret_type)
{
	uint64_t magnitude = (uint64_t)(value < 0 ? ~value : value);
	if (magnitude <= 1 && value >= 0) {
		*ret_type = (uint8_t)(8 + magnitude);
		return 0;
	}
	uint32_t bytes = (uint32_t)(64 - __builtin_clzll(magnitude | 1)) / 8 + 1;
	static const uint8_t widths[] = {0, 1, 2, 3, 4, 6, 6, 8, 8},
			     types[] = {0, 1, 2, 3, 4, 5, 5, 6, 6};
	*ret_type = types[bytes];
	return widths[bytes];
}

/* A record: size of its head, types, values. Returns its bytes. */
static inline uint32_t record_make(
	const struct page_table *t, const int64_t *values, uint64_t nulls, uint8_t *out)
{
	uint8_t *at = out + 1 + t->columns;
	out[0] = (uint8_t)(1 + t->columns);
	for (uint32_t i = 0; i < t->columns; i++) {
		const uint32_t place = t->places[i];
		if (nulls >> place & 1) {
			out[1 + i] = 0;
			continue;
		}
		uint32_t width = value_bytes(values[place], &out[1 + i]);
		uint64_t turned =
			__builtin_bswap64((uint64_t)values[place] << (64 - 8 * width) % 64);
		memcpy(at, &turned, sizeof(turned));
		at += width;
	}
	return (uint32_t)(at - out);
}

/* Takes the row id, which ascend. */
static int row_begin(struct page_table *t, uint64_t rowid)
{
	int error = page_ready(&t->levels[0]);
	if (error || t->columns > PAGE_COLUMNS || (rowid && rowid <= t->last_rowid))
		return error ? error : -EINVAL;
	t->last_rowid = rowid ? rowid : t->last_rowid + 1;
	return 0;
}

/* A cell: bytes of the record, row id, the `local` bytes of it that lie here, and, where those are
 * not all, the first overflow page. */
static int cell_put(struct page_table *t, const uint8_t *record, uint32_t bytes, uint32_t local,
	uint32_t overflow)
{
	uint8_t head[20];
	struct page *leaf = &t->levels[0];
	uint32_t head_bytes = varint_store(head, bytes);
	head_bytes += varint_store(head + head_bytes, t->last_rowid);
	const uint32_t all = head_bytes + local + (overflow ? 4 : 0);
	uint8_t *room = cell_room(leaf, LEAF_HEAD, all);
	if (!room) {
		int error = leaf_flush(t);
		room = error ? NULL : cell_room(leaf, LEAF_HEAD, all);
		if (!room)
			return error ? error : -EFBIG;
	}
	memcpy(room, head, head_bytes);
	memcpy(room + head_bytes, record, local);
	if (overflow)
		store_32(room + head_bytes + local, overflow);
	leaf->last_key = t->last_rowid;
	t->rows++;
	return 0;
}

int page_table_row(struct page_table *t, uint64_t rowid, const int64_t *values, uint64_t nulls)
{
	uint8_t record[1 + 9 * PAGE_COLUMNS + 8];
	int error = row_begin(t, rowid);
	if (error)
		return error;
	uint32_t bytes = record_make(t, values, nulls, record);
	return cell_put(t, record, bytes, bytes, 0);
}

/* Serial type of a value, and the bytes that it takes. */
static uint64_t value_type(const struct page_value *v, uint32_t *ret_bytes)
{
	uint8_t type = 0;
	*ret_bytes = 0;
	switch (v->kind) {
	case PAGE_INTEGER:
		*ret_bytes = value_bytes(v->integer, &type);
		return type;
	case PAGE_REAL:
		*ret_bytes = sizeof(double);
		return 7;
	case PAGE_TEXT:
		*ret_bytes = v->bytes < PAGE_TEXT_MAX ? v->bytes : PAGE_TEXT_MAX;
		while (*ret_bytes < v->bytes && (v->text[*ret_bytes] & 0xc0) == 0x80)
			--*ret_bytes; /* a character is cut off whole */
		return 13 + 2 * (uint64_t)*ret_bytes;
	case PAGE_NULL:
		break;
	}
	return 0;
}

static uint8_t *value_store(uint8_t *at, const struct page_value *v, uint32_t bytes)
{
	uint64_t bits;
	if (v->kind == PAGE_TEXT)
		return bytes ? (uint8_t *)memcpy(at, v->text, bytes) + bytes : at;
	memcpy(&bits, &v->integer, sizeof(bits)); /* of a fraction: the same eight bytes */
	for (uint32_t i = bytes; i-- > 0; bits >>= 8)
		at[i] = (uint8_t)bits;
	return at + bytes;
}

static uint8_t *row_room(struct pages *p, size_t bytes)
{
	if (bytes > p->row_bytes) {
		free(p->row);
		p->row = malloc(bytes);
		p->row_bytes = p->row ? bytes : 0;
	}
	return p->row;
}

/* Section 1.7: pages that have the number of the next one and then content. */
static int overflow_write(struct pages *p, const uint8_t *data, uint32_t bytes, uint32_t *ret_first)
{
	uint8_t page[PAGE_BYTES];
	uint32_t number = 0;
	*ret_first = 0;
	while (bytes) {
		uint32_t n = bytes < PAGE_BYTES - 4 ? bytes : PAGE_BYTES - 4;
		uint32_t here = p->next_page + (p->next_page == p->lock_page), next = here + 1;
		store_32(page, bytes > n ? next + (next == p->lock_page) : 0);
		memcpy(page + 4, data, n);
		memset(page + 4 + n, 0, PAGE_BYTES - 4 - n);
		int error = page_write(p, page, &number);
		if (error)
			return error;
		*ret_first = *ret_first ? *ret_first : number;
		data += n;
		bytes -= n;
	}
	return 0;
}

/* Section 1.6: how many bytes of a record stay in its cell. */
static uint32_t local_bytes(uint32_t bytes)
{
	const uint32_t most = PAGE_BYTES - 35, least = (PAGE_BYTES - 12) * 32 / 255 - 23;
	if (bytes <= most)
		return bytes;
	uint32_t whole = least + (bytes - least) % (PAGE_BYTES - 4);
	return whole <= most ? whole : least;
}

int page_table_values(struct page_table *t, uint64_t rowid, const struct page_value *values)
{
	uint8_t types[9 * PAGE_COLUMNS], size[9];
	uint32_t bytes[PAGE_COLUMNS], type_bytes = 0, overflow = 0;
	size_t all = 0;
	int error = row_begin(t, rowid);
	if (error)
		return error;
	for (uint32_t i = 0; i < t->columns; i++) {
		type_bytes += varint_store(
			types + type_bytes, value_type(&values[t->places[i]], &bytes[i]));
		all += bytes[i];
	}
	/* the head counts its own size, which takes a byte, or two from 128 on */
	uint32_t size_bytes = varint_store(size, type_bytes + 1 + (type_bytes + 1 > 127));
	all += size_bytes + type_bytes;
	uint8_t *record = row_room(t->pages, all), *at = record;
	if (!record)
		return -ENOMEM;
	memcpy(at, size, size_bytes);
	memcpy(at + size_bytes, types, type_bytes);
	at += size_bytes + type_bytes;
	for (uint32_t i = 0; i < t->columns; i++)
		at = value_store(at, &values[t->places[i]], bytes[i]);
	uint32_t local = local_bytes((uint32_t)all);
	error = overflow_write(t->pages, record + local, (uint32_t)all - local, &overflow);
	return error ? error : cell_put(t, record, (uint32_t)all, local, overflow);
}

int page_table_end(struct page_table *t)
{
	uint32_t level = 0;
	int error = 0;
	if (!t->rows)
		return 0;
	if (t->levels[1].bytes)
		error = leaf_flush(t);
	else
		page_seal(&t->levels[0], TYPE_LEAF, 0);
	for (level = t->levels[1].bytes ? 1 : 0; !error && level; level++) {
		struct page *page = &t->levels[level];
		uint64_t last_key = page->last_key;
		uint32_t number = 0, right = cell_last_away(page, cell_bytes_of(last_key));
		page_seal(page, TYPE_INTERIOR, right);
		if (level + 1 == PAGE_LEVELS || !t->levels[level + 1].bytes)
			break;
		error = page_write(t->pages, page->bytes, &number);
		if (!error)
			error = child_add(t, level + 1, number, last_key);
	}
	if (error)
		return error;
	return io_write_at(t->pages->fd, t->levels[level].bytes, PAGE_BYTES,
		(uint64_t)(t->root - 1) * PAGE_BYTES);
}
