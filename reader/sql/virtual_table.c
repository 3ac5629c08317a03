/* SPDX-License-Identifier: Apache-2.0 */
/*
 * virtual_table.c - what the virtual tables of this folder have in common.
 */
#include "reader/sql/virtual_table.h"

#ifdef HAVE_SQLITE

#include <stdlib.h>

int virtual_table_connect(sqlite3 *connection, void *kind, int count, const char *const *words,
	sqlite3_vtab **ret_table, char **ret_message)
{
	(void)count, (void)words, (void)ret_message;
	const struct virtual_kind *k = kind;
	int code = sqlite3_declare_vtab(connection, k->declaration);
	struct virtual_table *t = code ? NULL : sqlite3_malloc(sizeof(*t));
	if (!t)
		return code ? code : SQLITE_NOMEM;
	*t = (struct virtual_table){.connection = connection, .kind = k};
	*ret_table = &t->base;
	return sqlite3_vtab_config(connection, SQLITE_VTAB_DIRECTONLY);
}

int virtual_table_disconnect(sqlite3_vtab *table)
{
	sqlite3_free(table);
	return SQLITE_OK;
}

int virtual_table_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret_cursor)
{
	const struct virtual_table *t = (const struct virtual_table *)table;
	*ret_cursor = calloc(1, t->kind->cursor_bytes);
	return *ret_cursor ? SQLITE_OK : SQLITE_NOMEM;
}

int virtual_table_failed(sqlite3_vtab_cursor *cursor, int code)
{
	struct virtual_table *t = (struct virtual_table *)cursor->pVtab;
	sqlite3_free(t->base.zErrMsg);
	t->base.zErrMsg =
		code == SQLITE_NOMEM ? NULL : sqlite3_mprintf("%s", sqlite3_errmsg(t->connection));
	return code;
}

#endif
