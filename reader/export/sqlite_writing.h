/*
 * sqlite_writing.h - what the parts of the export to SQLite share while it is written. Not for
 * others.
 */
#ifndef READER_EXPORT_SQLITE_WRITING_H
#define READER_EXPORT_SQLITE_WRITING_H

#include "reader/batch.h"
#include "reader/export/map.h"
#include "reader/export/nsys.h"
#include "reader/export/pages.h"
#include "reader/export/sqlite.h"
#include "reader/symbols.h"

/* Texts of StringIds by id, each once. */
struct writing_texts {
	struct pool pool;
	struct map ids; /* address in the pool -> id + 1 */
	const char **texts;
	uint32_t count, capacity;
};

/* Every thread that a row names; ThreadNames has each once. */
struct writing_thread {
	int64_t global_tid;
	uint32_t name;    /* id of a text + 1; 0 = none told yet */
	uint64_t name_ns; /* when it was told: the last one holds */
	bool by_program;  /* it is one that the program gave by NVTX: the kernel's do not count */
};

/* A domain of NVTX as it was made, for the numbers that they have. */
struct writing_domain {
	uint64_t ns;
	uint32_t process, name; /* ids in the report */
};

/* A kind of events as rows of a table of nsys, or of ours. */
struct mapping {
	enum nsys_table table;   /* NSYS_TABLES: none of nsys */
	uint32_t columns, count; /* of that table in all generations; places filled */
	struct {
		uint8_t column, how, field; /* positions in the table and in the schema */
		int64_t constant;
	} places[NSYS_COLUMNS];
	uint32_t fact_count; /* fields that have no place there, by position */
	uint8_t facts[SCHEMA_FIELDS];
};

/* Where an answer for a callchain node holds. */
struct writing_chain {
	uint32_t id;
	struct time_span span;
};

struct writing {
	const struct sqlite_job *job;
	struct database database;
	struct pages pages;
	int fd;
	struct mapping mappings[SCHEMA_KINDS];
	struct page_table tables[NSYS_TABLES]; /* those of nsys that are filled by pages */
	struct page_table facts[SCHEMA_KINDS]; /* LIBTRACE_KIND: what the tables of nsys have no
						  place for; OSRT_CALL: by rowid of OSRT_API */
	struct page_table unfinished;          /* LIBTRACE_OSRT_UNFINISHED */
	struct writing_texts texts;
	struct map thread_ids; /* globalTid -> index + 1 */
	struct writing_thread *threads;
	uint32_t thread_count, thread_capacity;
	uint32_t chain_ids; /* given so far */
	uint64_t impossible;
	bool output_failed;
	uint64_t base_real_ns;  /* CLOCK_REALTIME of time 0; 0 = not known */
	uint64_t base_clock_ns; /* CLOCK_MONOTONIC of it, of the earliest report */
	int64_t last_ns;        /* greatest end */

	/* of the report at hand */
	const struct sqlite_source *source;
	struct contents contents;
	struct symbols symbols;
	struct map strings; /* id in the report -> id of the text + 1 */
	struct map
		domains; /* globalPid, id of the text -> domainId; globalPid, UINT64_MAX -> how many
			  */
	struct writing_domain *domain_list; /* as they were made; empty once they have numbers */
	uint32_t domain_count, domain_capacity;
	char *clean;       /* the text made last that was not UTF-8 */
	struct map chains; /* process, node -> index + 1 */
	struct writing_chain *chain_list;
	uint32_t chain_count, chain_capacity;
	int64_t vid; /* globalVid */
	uint64_t start_ns;
	int64_t shift_ns; /* from its start to the earliest */
	int64_t *columns; /* room for decoding */
	size_t column_values;
};

/* The id of a text. 0 or -ENOMEM. */
int writing_text(struct writing *w, const char *text, uint32_t *ret_id);

/* The id of a text of the report; of one that it does not tell: "[string N]". 0 or -ENOMEM. */
int writing_string(struct writing *w, uint32_t string, uint32_t *ret_id);

static inline int64_t writing_time(const struct writing *w, uint64_t ns)
{
	return (int64_t)(ns - w->start_ns + (uint64_t)w->shift_ns);
}

/* pid and tid with the ids of machine and VM before them, as nsys has them. */
static inline int64_t writing_global(const struct writing *w, uint32_t pid, uint32_t tid)
{
	return (int64_t)((uint64_t)w->vid | (uint64_t)(pid & 0xffffff) << 24 | (tid & 0xffffff));
}

#define WRITING_VID INT64_C(0x7fff000000000000) /* the bits of globalVid */

/* The batch at hand. */
struct writing_batch {
	const struct event_batch *batch;
	const struct schema_event *event;
	struct process *process; /* NULL = not told */
	int64_t global_tid;
	const int64_t *columns[SCHEMA_FIELDS];            /* by position in the schema */
	const int64_t *flags, *chain, *method, *duration; /* of those; NULL = the kind has none */
};

/* Finds process and thread of a batch and decodes its columns. 0, -ENOMEM, or -EBADMSG where the
 * rows do not match: that was told in the first pass. */
int writing_decode(
	struct writing *w, const struct event_batch *batch, struct writing_batch *ret_batch);

/* The columns of a field; NULL = the kind has no such field. */
const int64_t *writing_column(const struct writing_batch *b, uint32_t field);

/* Rows of a batch. 0, or a negative errno that ends the pass. */
int writing_batch(struct writing *w, const struct event_batch *b);

/* A row of LIBTRACE_KIND: of a kind that a table of nsys holds, what has no place there, if
 * anything. 0 or a negative errno. */
int writing_facts(struct writing *w, const struct writing_batch *b, uint32_t row);

/* A row of LIBTRACE_OSRT_UNFINISHED. 0 or a negative errno. */
int writing_unfinished(struct writing *w, const struct writing_batch *b, uint32_t row);

/* Adds a row to a table that is filled by pages. 0 or a negative errno. */
int writing_numbers(struct writing *w, struct page_table *t, uint64_t rowid, const int64_t *values,
	uint64_t nulls);

/* Calls of the OS runtime. 0 or a negative errno. */
int writing_calls(struct writing *w, const struct writing_batch *b);

/* Makes the mappings by nsys_rows.def. 0, or -EINVAL where that does not fit the tables. */
int mapped_begin(struct mapping *ret_mappings);

/* Is this kind a row of a table of nsys? */
static inline bool writing_is_mapped(const struct writing *w, uint32_t kind)
{
	return w->mappings[kind].table != NSYS_TABLES;
}

/* A row there. 0 or a negative errno. */
int mapped_row(struct writing *w, const struct writing_batch *b, uint32_t row);

/* Domains of NVTX: told in the first pass, numbered behind it, as nsys does it: by process, from 1,
 * as they were made; the default one, whose name is empty, is 0. 0 or -ENOMEM. */
int nvtx_domains_collect(struct writing *w, const struct event_batch *b);
int nvtx_domains_number(struct writing *w);
int nvtx_domain(struct writing *w, int64_t global_pid, uint32_t name, uint32_t *ret_id);

/* NVTX_EVENTS has rows for what NVTX_NAME tells, too. 0 or a negative errno. */
int nvtx_names(struct writing *w, const struct writing_batch *b);

/* The thread with this globalTid, made if need be; it moves when others are made. 0 or -ENOMEM. */
int writing_thread(struct writing *w, int64_t global_tid, struct writing_thread **ret_thread);

/* A name of it, told at `ns`. 0 or -ENOMEM. */
int writing_thread_name(
	struct writing *w, int64_t global_tid, uint32_t name, uint64_t ns, bool by_program);

/* A text of the report, with bytes that are not UTF-8 as \xNN; good until the next one. NULL = out
 * of memory. */
const char *writing_utf8(struct writing *w, uint32_t string, uint32_t *ret_bytes);

/* The id of a callchain in OSRT_CALLCHAINS, made if need be, for a call that ended at `ns`; 0 =
 * none. 0 or a negative errno. */
int writing_chain(struct writing *w, struct process *p, uint32_t node, uint32_t method, uint64_t ns,
	uint32_t *ret_id);

/* The tables that are filled by pages: made, and where they begin. 0 or a negative errno. */
int writing_tables_begin(struct writing *w);

/* Roots written; those without rows dropped. 0 or a negative errno. */
int writing_tables_end(struct writing *w);
int writing_tables_drop_empty(struct writing *w);
void writing_tables_release(struct writing *w);

/* What is told of the report at hand and of its processes. 0 or a negative errno. */
int writing_report_facts(struct writing *w);

/* What is told once. 0 or a negative errno. */
int writing_common_facts(struct writing *w);

#endif
