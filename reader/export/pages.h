/*
 * pages.h - rows appended to tables of a SQLite database as the pages that SQLite itself
 * would make of them, about ten times as fast as by INSERT.
 *
 * Source: https://www.sqlite.org/fileformat2.html, sections 1.3 (database header), 1.5 (lock-byte
 * page), 1.6 (b-tree pages), 1.7 (overflow pages) and 2.1 (record format). The tables were made by
 * SQLite and are empty; while pages are written, no connection to the file is open. Pages are only
 * added behind the end of the file, and nothing refers to them until page_table_end() writes the
 * root, so other tables can be filled by SQLite in between (pages_stop(), pages_start()).
 *
 * Memory: a page for each level of each table, a buffer, and the longest row. One thread;
 * allocates.
 */
#ifndef READER_EXPORT_PAGES_H
#define READER_EXPORT_PAGES_H

#include <stddef.h>
#include <stdint.h>

#define PAGE_BYTES 4096u
#define PAGE_LEVELS 8u /* more rows than a file can hold */
#define PAGE_COLUMNS 64u
#define PAGE_TEXT_MAX 16000000u /* bytes of a text; SQLite's own limit is a thousand million */

/* Where pages go. */
struct pages {
	int fd;             /* the caller's */
	uint32_t lock_page; /* a page that SQLite never uses */
	uint32_t next_page; /* number of the next one; the first page has 1 */
	uint32_t buffered_first;
	size_t buffered; /* bytes */
	uint8_t *buffer;
	uint8_t *row; /* room for the record at hand */
	size_t row_bytes;
};

/* A page being filled: cells from its end, their places from its head. */
struct page {
	uint8_t *bytes;
	uint32_t cells, content;
	uint64_t last_key;  /* of the last cell */
	uint32_t last_page; /* interior: the child of the last cell */
};

/* A value of a row that has more than numbers. */
enum page_value_kind { PAGE_NULL, PAGE_INTEGER, PAGE_REAL, PAGE_TEXT };

struct page_value {
	enum page_value_kind kind;
	uint32_t bytes; /* of a text; longer ones than PAGE_TEXT_MAX are cut */
	union {
		int64_t integer;
		double real;
		const char *text; /* UTF-8 */
	};
};

struct page_table {
	struct pages *pages;
	uint32_t root;
	uint32_t columns;
	uint8_t places[PAGE_COLUMNS]; /* which of the values given each column takes */
	uint64_t rows, last_rowid;
	struct page levels[PAGE_LEVELS]; /* 0: leaves */
};

/* Reads where the file ends. 0, -EBADMSG (no such database), or another negative errno. */
int pages_start(struct pages *p, int fd);

/* Writes what is buffered, and tells the file how many pages it has. 0 or a negative errno. */
int pages_stop(struct pages *p);
void pages_release(struct pages *p);

/* An empty table whose root is this page. `places`: which of the values given each column takes;
 * NULL: one after the other. */
void page_table_begin(struct page_table *t, struct pages *p, uint32_t root, uint32_t columns,
	const uint8_t *places);

/*
 * Adds a row of `values`; NULL are those whose bit of `nulls` is set. rowid 0: the next one; else
 * greater than all before. 0 or a negative errno.
 */
int page_table_row(struct page_table *t, uint64_t rowid, const int64_t *values, uint64_t nulls);

/* The same for a row that has texts or fractions. What does not fit into a page goes on in pages
 * of its own. */
int page_table_values(struct page_table *t, uint64_t rowid, const struct page_value *values);

/* Puts the rows where SQLite finds them. 0 or a negative errno. */
int page_table_end(struct page_table *t);
void page_table_release(struct page_table *t);

#endif
