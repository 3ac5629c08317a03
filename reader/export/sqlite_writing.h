/*
 * sqlite_writing.h - what the parts of the export to SQLite share while it is written. Not for
 * others.
 */
#ifndef READER_EXPORT_SQLITE_WRITING_H
#define READER_EXPORT_SQLITE_WRITING_H

#include "reader/export/map.h"
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
	struct page_table calls;                /* OSRT_API */
	struct page_table call_facts;           /* LIBTRACE_OSRT_CALL */
	struct page_table chain_rows;           /* OSRT_CALLCHAINS */
	struct page_table events[SCHEMA_KINDS]; /* by kind; OSRT_CALL: the unfinished ones */
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
	struct map chains;  /* process, node -> index + 1 */
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

/* Rows of a batch. 0, or a negative errno that ends the pass. */
int writing_batch(struct writing *w, const struct event_batch *b);

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
