/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document.h - several tables as one JSON document: an array with an object for each table, of its
 * file, its report and its rows.
 *
 * One thread; errors remain set in the stream.
 */
#ifndef READER_CLI_STATS_DOCUMENT_H
#define READER_CLI_STATS_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct stats_document {
	bool is_used; /* false: a table is an array of its own, and these functions do nothing */
	uint64_t tables;
};

/* Return whether tables are joined; d may be NULL. */
static inline bool stats_document_used(const struct stats_document *d)
{
	return d && d->is_used;
}

/* Print what comes before a table and after it; stats_document_end() prints the end. */
void stats_document_table(struct stats_document *d, FILE *out, const char *file, const char *report,
	size_t report_bytes);
void stats_document_table_end(const struct stats_document *d, FILE *out);
void stats_document_end(const struct stats_document *d, FILE *out);

#endif
