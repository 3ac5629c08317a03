#include "reader/export/pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static int write_at(int fd, const uint8_t *data, size_t bytes, uint64_t offset)
{
	while (bytes) {
		ssize_t n = pwrite(fd, data, bytes, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		data += n;
		bytes -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
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
	int error = write_at(
		p->fd, p->buffer, p->buffered, (uint64_t)(p->buffered_first - 1) * PAGE_BYTES);
	p->buffered = 0;
	return error;
}

int pages_stop(struct pages *p)
{
	uint8_t count[4];
	store_32(count, p->next_page - 1);
	int error = p->buffered ? flush(p) : 0;
	return error ? error : write_at(p->fd, count, sizeof(count), HEADER_PAGE_COUNT);
}

void pages_release(struct pages *p)
{
	free(p->buffer);
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

void page_table_begin(struct page_table *t, struct pages *p, uint32_t root, uint32_t columns)
{
	*t = (struct page_table){.pages = p, .root = root, .columns = columns};
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
		if (nulls >> i & 1) {
			out[1 + i] = 0;
			continue;
		}
		uint32_t width = value_bytes(values[i], &out[1 + i]);
		uint64_t turned = __builtin_bswap64((uint64_t)values[i] << (64 - 8 * width) % 64);
		memcpy(at, &turned, sizeof(turned));
		at += width;
	}
	return (uint32_t)(at - out);
}

int page_table_row(struct page_table *t, uint64_t rowid, const int64_t *values, uint64_t nulls)
{
	uint8_t record[1 + 9 * PAGE_COLUMNS + 8], head[20];
	struct page *leaf = &t->levels[0];
	int error = page_ready(leaf);
	if (error || t->columns > PAGE_COLUMNS || (rowid && rowid <= t->last_rowid))
		return error ? error : -EINVAL;
	t->last_rowid = rowid ? rowid : t->last_rowid + 1;
	uint32_t bytes = record_make(t, values, nulls, record);
	uint32_t head_bytes = varint_store(head, bytes);
	head_bytes += varint_store(head + head_bytes, t->last_rowid);
	uint8_t *room = cell_room(leaf, LEAF_HEAD, head_bytes + bytes);
	if (!room) {
		error = leaf_flush(t);
		room = error ? NULL : cell_room(leaf, LEAF_HEAD, head_bytes + bytes);
	}
	if (!room)
		return error ? error : -EFBIG;
	memcpy(room, head, head_bytes);
	memcpy(room + head_bytes, record, bytes);
	leaf->last_key = t->last_rowid;
	t->rows++;
	return 0;
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
	return write_at(t->pages->fd, t->levels[level].bytes, PAGE_BYTES,
		(uint64_t)(t->root - 1) * PAGE_BYTES);
}
