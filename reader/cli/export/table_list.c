/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_list.c - the table that `trace export --list-tables` prints.
 */
#include "reader/cli/export/table_list.h"

#include <string.h>

#include "reader/cli/export/folded.h"

enum { TABLE_NAME, FILLED_BY, TESTED_BY, REMARK, COLUMNS };

static const char *const rows[][COLUMNS] = {
#define WRITTEN(name, source, test) {#name, source, test ".py", ""},
#define READ(name, reason, report) {#name, "", "tables.py", reason "; read by " report},
#define ABSENT(name, reason) {#name, "", "", reason},
#include "reader/export/sqlite/documented_tables.def"
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void widths_find(size_t width, size_t *widths)
{
	memset(widths, 0, COLUMNS * sizeof(*widths));
	for (size_t i = 0; i < ROWS; i++)
		for (unsigned c = TABLE_NAME; c <= TESTED_BY; c++)
			if (c != FILLED_BY && strlen(rows[i][c]) > widths[c])
				widths[c] = strlen(rows[i][c]);
	width = width < TABLE_LIST_LEAST ? TABLE_LIST_LEAST : width;
	width -= widths[TABLE_NAME] + widths[TESTED_BY] + (COLUMNS - 1) * FOLDED_GAP;
	widths[FILLED_BY] = width / 2;
	widths[REMARK] = width - widths[FILLED_BY];
}

void table_list_print(FILE *out, size_t width)
{
	const char *texts[COLUMNS] = {"Table", "Filled by", "tests/e2e/", "Why not"};
	size_t widths[COLUMNS];
	widths_find(width, widths);
	folded_row_print(out, texts, widths, COLUMNS);
	folded_rule_print(out, widths, COLUMNS);
	for (size_t i = 0; i < ROWS; i++) {
		memcpy(texts, rows[i], sizeof(texts));
		folded_row_print(out, texts, widths, COLUMNS);
	}
}
