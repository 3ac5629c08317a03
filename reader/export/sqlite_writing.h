/*
 * sqlite_writing.h - what the parts of the export to SQLite share while it is written. Not for
 * others.
 */
#ifndef READER_EXPORT_SQLITE_WRITING_H
#define READER_EXPORT_SQLITE_WRITING_H

#include "reader/base/map.h"
#include "reader/export/nsys.h"
#include "reader/export/pages.h"
#include "reader/export/sqlite.h"
#include "reader/export/sqlite_results.h"
#include "reader/file/batch.h"
#include "reader/nvtx/payloads.h"
#include "reader/symbols/symbols.h"

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
	uint32_t name;     /* id of a text + 1; 0 = none told yet */
	uint32_t priority; /* as the kernel counts; 0 = not known */
	uint64_t name_ns;  /* when it was told: the last one holds */
	bool by_program;   /* it is one that the program gave by NVTX: the kernel's do not count */
};

/* A domain of NVTX as it was made, for the numbers that they have. */
struct writing_domain {
	uint64_t ns;
	uint32_t process, name; /* ids in the report */
};

/* How a column of nsys_rows.def is made; see there. Groups that are told by their order: numbers,
 * whose the row is, payloads. */
enum how {
	HOW_CONSTANT,
	HOW_TEXT,
	HOW_TIME,
	HOW_END,
	HOW_END_KNOWN,
	HOW_NUMBER,
	HOW_NUMBER_OR_NULL,
	HOW_ADD_ONE,
	HOW_LESS_ONE,
	HOW_LESS_ONE_OR_NULL,
	HOW_TIMES_1000,
	HOW_BITS_32,
	HOW_GLOBAL_TID,
	HOW_GLOBAL_PID,
	HOW_PID,
	HOW_HW_ID,
	HOW_VM_ID,
	HOW_VID,
	HOW_TEXT_ID,
	HOW_TEXT_INLINE,
	HOW_TID,
	HOW_END_TID,
	HOW_DOMAIN,
	HOW_NVTX_TEXT,
	HOW_NVTX_TEXT_ID,
	HOW_UINT64,
	HOW_INT64,
	HOW_DOUBLE,
	HOW_UINT32,
	HOW_INT32,
	HOW_FLOAT,
	HOW_JSON,
	HOW_CHAIN, /* from here on: of CUDA */
	HOW_DEMANGLED,
	HOW_SHORT_NAME,
	HOW_MEMORY_KIND,
	HOW_SYNC_TYPE,
	HOW_OVERHEAD_TYPE,
	HOW_OVERHEAD_NAME,
	HOW_OVERHEAD_TID,
	HOW_GRAPH_CLASS,
	HOW_GRAPH_NAME,
	HOW_GRAPH_NODE_NAME,
	HOW_CONTEXT_DEVICE,
	HOW_GRAPH_OF_EXEC,
	HOW_GPU_ID,
	HOW_FUNCTION_AT,
	HOW_MODULE_AT,
	HOW_UUID,
	HOW_BUS,
	HOW_IS_DISCRETE,
	HOW_SHARED_OPTIN
};

/* A file that was open, with the option file access. */
struct writing_file {
	uint32_t process, path; /* ids in the report */
	uint32_t id;            /* fileAccessId */
	int64_t descriptor;
	uint64_t open_ns, close_ns; /* close 0 = not told */
};

/* Values of a field, one bit each. */
struct value_set {
	uint8_t field; /* position in the schema */
	bool any;      /* the field does not matter */
	uint64_t bits;
};

/* Rows of a kind as rows of a table of nsys. */
struct mapping {
	enum nsys_table table;
	struct value_set when;
	bool ended;              /* what did not end is no row there */
	uint32_t columns, count; /* of that table in all generations; places filled */
	struct mapping_place {
		uint8_t column, how, field; /* positions in the table and in the schema */
		struct value_set when;
		int64_t constant;
		const char *text;
	} places[NSYS_COLUMNS];
};

#define MAPPINGS_MAX 48u

/* What becomes of a kind of events. */
struct kind_rows {
	uint8_t first, count; /* of its mappings; count 0: all its rows go to LIBTRACE_KIND */
	bool conditional;     /* some rows may have no table of nsys: LIBTRACE_KIND_OTHER */
	bool whole;           /* LIBTRACE_KIND has all its rows, whatever the mappings take */
	uint8_t fact_count;   /* fields that have no place in tables of nsys */
	uint8_t facts[SCHEMA_FIELDS];
};

/* Where an answer for a callchain node holds. */
struct writing_chain {
	uint32_t id;
	struct time_span span;
};

#define CHAIN_TABLES 2u

struct writing {
	const struct sqlite_job *job;
	struct database database;
	struct pages pages;
	int fd;
	struct mapping mappings[MAPPINGS_MAX];
	struct kind_rows kinds[SCHEMA_KINDS];
	struct page_table tables[NSYS_TABLES];       /* those of nsys that are filled by pages */
	struct page_table facts[SCHEMA_KINDS];       /* LIBTRACE_KIND */
	struct page_table others[SCHEMA_KINDS];      /* LIBTRACE_KIND_OTHER */
	struct page_table chain_lines[CHAIN_TABLES]; /* LIBTRACE_OSRT_CALLCHAINS, ..._CUDA_... */
	struct results_writing results;
	struct writing_texts texts;
	struct map thread_ids; /* globalTid -> index + 1 */
	struct writing_thread *threads;
	uint32_t thread_count, thread_capacity;
	uint32_t chain_ids[2]; /* given so far: of OSRT_CALLCHAINS, of CUDA_CALLCHAINS */
	uint64_t impossible;
	bool output_failed;
	uint64_t base_real_ns;  /* CLOCK_REALTIME of time 0; 0 = not known */
	uint64_t base_clock_ns; /* CLOCK_MONOTONIC of it, of the earliest report */
	int64_t last_ns;        /* greatest end */
	uint32_t file_ids;      /* given so far */
	uint32_t vids;          /* given so far */

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
	struct map chains; /* function and process, table, method and node -> index + 1 */
	struct nvtx_payloads payloads;
	char *json;                 /* of the payload at hand */
	struct writing_file *files; /* by process, descriptor, time */
	uint32_t file_count, file_capacity;
	struct map file_types;           /* name of a function -> what it does to files + 1 */
	struct map cuda_ids;             /* process and id of CUDA, what it tells -> value + 1 */
	struct map cuda_devices;         /* machine or process, device -> number + 1 */
	struct map kernel_names;         /* id in the report, short or not -> id of the text + 1 */
	uint32_t gpu_count, cuda_driver; /* driver: CUDA version it has, 0 = not told */
	char uuid[40], bus[40];          /* of the device at hand */
	uint32_t libc_process;           /* whose C library the next one is */
	const char *libc_path;
	struct writing_chain *chain_list;
	uint32_t chain_count, chain_capacity;
	int64_t vid;      /* globalVid */
	struct map lives; /* process -> how many had its pid before */
	uint32_t lives_most;
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

/* A globalVid by its number: VM ids 1 to 255, then machine ids, too. */
static inline int64_t writing_vid(uint32_t number)
{
	return (int64_t)(number / 255) << 56 | (int64_t)(number % 255 + 1) << 48;
}

/* pid and tid with the ids of machine and VM before them, as nsys has them. A process whose pid
 * another one had before is of another VM. NULL: nothing is known of the process. */
int64_t writing_global(const struct writing *w, const struct process *p, uint32_t tid);

/* Finds out which processes have a pid that another one had. 0 or -ENOMEM. */
int writing_lives(struct writing *w);

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

/* Does a column of this kind hold a text? */
static inline bool writing_is_text(const struct schema_field *f)
{
	return f->kind == FIELD_KIND_STRING || f->kind == FIELD_KIND_BYTES ||
		f->kind == FIELD_KIND_FUNCTION || f->kind == FIELD_KIND_SYMBOL;
}

/* The columns of a field; NULL = the kind has no such field. */
const int64_t *writing_column(const struct writing_batch *b, uint32_t field);

/* Rows of a batch. 0, or a negative errno that ends the pass. */
int writing_batch(struct writing *w, const struct event_batch *b);

/* The id of the callchain of a row, 0 = none. 0 or a negative errno. */
int writing_row_chain(struct writing *w, const struct writing_batch *b, uint32_t row,
	enum nsys_table table, uint32_t *ret_id);

/* A row of a table of ours that has all fields of its kind. 0 or a negative errno. */
int writing_whole(
	struct writing *w, struct page_table *t, const struct writing_batch *b, uint32_t row);

/* Adds a row to a table that is filled by pages. 0 or a negative errno. */
int writing_numbers(struct writing *w, struct page_table *t, uint64_t rowid, const int64_t *values,
	uint64_t nulls);

/* Calls of the OS runtime. 0 or a negative errno. */
int writing_calls(struct writing *w, const struct writing_batch *b);

/* Makes the mappings by nsys_rows.def. 0, or -EINVAL where that does not fit the tables. */
int mapped_begin(struct writing *w);

/* Rows in all tables of nsys that take this row; *ret_rowid: in the first of them, 0 = none takes
 * it. 0 or a negative errno. */
int mapped_row(struct writing *w, const struct writing_batch *b, uint32_t row, uint64_t *ret_rowid);

static inline void put_number(struct page_value *v, int64_t number)
{
	v->kind = PAGE_INTEGER;
	v->integer = number;
}

/* A value of a CUDA event: a `how` of nsys_rows.def that is about CUDA. 0 or a negative errno. */
int cuda_value(struct writing *w, const struct writing_batch *b, uint32_t row, enum how how,
	int64_t value, struct page_value *v);

/* Type of an overhead, in the numbers of nsys. */
uint32_t cuda_overhead_type(int64_t kind);

/* What later rows refer to: told in the first pass. 0 or -ENOMEM. */
int cuda_collect(struct writing *w, const struct event_batch *b);

/* What is one report's goes; GPUs stay, since the next report may be of the same. */
void cuda_report_end(struct writing *w);
void cuda_release(struct writing *w);

/* Is this device one that the table has not yet? */
bool cuda_device_is_new(
	struct writing *w, const struct writing_batch *b, uint32_t row, enum nsys_table table);

/* Domains of NVTX: told in the first pass, numbered behind it, as nsys does it: by process, from 1,
 * as they were made; the default one, whose name is empty, is 0. 0 or -ENOMEM. */
int nvtx_domains_collect(struct writing *w, const struct event_batch *b);
int nvtx_domains_number(struct writing *w);
int nvtx_domain(struct writing *w, int64_t global_pid, uint32_t name, uint32_t *ret_id);

/* Files that were opened: collected in the first pass; sorted; in a pass of its own, when they were
 * closed; then numbered, and written. 0 or a negative errno. */
int files_collect(struct writing *w, const struct event_batch *b);
void files_sort(struct writing *w);
int files_closed(struct writing *w, const struct event_batch *b);
int files_number(struct writing *w);

/* A row for a call that worked on one of them. 0 or a negative errno. */
int files_call(struct writing *w, const struct writing_batch *b, uint32_t row);

/* An extended payload as JSON, good until the next one. 0 or -ENOMEM. */
int nvtx_json(struct writing *w, const struct writing_batch *b, uint32_t row, int64_t payload,
	struct page_value *v);

/* NVTX_EVENTS has rows for what NVTX_NAME tells, too. 0 or a negative errno. */
int nvtx_names(struct writing *w, const struct writing_batch *b);

/* The thread with this globalTid, made if need be; it moves when others are made. 0 or -ENOMEM. */
int writing_thread(struct writing *w, int64_t global_tid, struct writing_thread **ret_thread);

/* A name of it, told at `ns`. 0 or -ENOMEM. */
int writing_thread_name(
	struct writing *w, int64_t global_tid, uint32_t name, uint64_t ns, bool by_program);

/* A text of the report, with bytes that are not UTF-8 as \xNN. NULL = out of memory. */
const char *writing_utf8(struct writing *w, uint32_t string, uint32_t *ret_bytes);

/* A callchain to be named. */
struct writing_chain_wanted {
	struct process *process; /* NULL: there is none */
	uint32_t node, method;
	uint32_t function; /* string of the report: what was called, its first frame; 0 = none */
	enum nsys_table table;
	uint64_t ns; /* when the call ended */
};

/* Its id in the table, made if need be; 0 = none. 0 or a negative errno. */
int writing_chain(struct writing *w, const struct writing_chain_wanted *wanted, uint32_t *ret_id);

/* One table that is filled by pages: made, `columns` NULL being those of nsys; dropped where it got
 * no row. 0 or a negative errno. */
int writing_table_begin(
	struct writing *w, struct page_table *t, const char *name, const char *columns);
int writing_drop_if_empty(struct writing *w, const struct page_table *t, const char *name);

/* The tables that are filled by pages: made, and where they begin. 0 or a negative errno. */
int writing_tables_begin(struct writing *w);

/* Roots written; those without rows dropped. 0 or a negative errno. */
int writing_tables_end(struct writing *w);
int writing_tables_drop_empty(struct writing *w);
void writing_tables_release(struct writing *w);

/* The tables of source lines of frames: made, ended, dropped without rows. 0 or a negative
 * errno. */
int chains_tables_begin(struct writing *w);
int chains_tables_end(struct writing *w);
int chains_drop_empty(struct writing *w);
void chains_tables_release(struct writing *w);

/* What is told of the report at hand and of its processes. 0 or a negative errno. */
int writing_report_facts(struct writing *w);

/* Tables that say what numbers mean. 0 or a negative errno. */
int writing_enums(struct writing *w);

/* What is told once. 0 or a negative errno. */
int writing_common_facts(struct writing *w);

#endif
