/* SPDX-License-Identifier: Apache-2.0 */
/* jit.c - names of generated code, from perf maps and jitdump files. */
#define _GNU_SOURCE
#include "reader/symbols/jit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "reader/base/address_ranges.h"
#include "reader/report/contents.h"

#define FILE_BYTES_MAX (1ll << 30)
#define CODES_MAX (1u << 22) /* maximum per process */
#define LINES_MAX (1u << 24)
#define NAME_BYTES_MAX 4096u
/* maximum number of codes examined that one address held at different times */
#define LAYERS_MAX 4096

struct jit_line_row {
	uint64_t address;
	uint32_t line;
	const char *file;
};

/* Generated code of one process. */
struct jit_map {
	struct ranges ranges; /* ranges whose value is an index in `codes` */
	struct jit_code *codes;
	uint32_t count, capacity;
};

struct jit_maps {
	const struct contents *contents;
	const char *symbol_path;
	struct pool *pool;
	struct jit_map **maps; /* maps by process id; NULL = not read yet */
	size_t map_count;
	struct jit_line_row *lines;
	uint32_t line_count, line_capacity;
	uint32_t pending_lines;   /* the last `pending_lines` rows belong to the next code, */
	uint64_t pending_address; /* if it begins at this address */
};

struct jit_maps *jit_maps_new(
	const struct contents *contents, const char *symbol_path, struct pool *pool)
{
	struct jit_maps *j = calloc(1, sizeof(*j));
	if (j)
		*j = (struct jit_maps){
			.contents = contents, .symbol_path = symbol_path, .pool = pool};
	return j;
}

void jit_maps_free(struct jit_maps *j)
{
	if (!j)
		return;
	for (size_t i = 0; j->maps && i < j->map_count; i++)
		if (j->maps[i]) {
			ranges_release(&j->maps[i]->ranges);
			free(j->maps[i]->codes);
			free(j->maps[i]);
		}
	free(j->maps);
	free(j->lines);
	free(j);
}

static void code_add(
	struct jit_maps *j, struct jit_map *m, const struct jit_code *code, uint64_t bytes)
{
	if (!bytes || bytes > UINT64_MAX - code->begin || !code->name)
		return;
	if (m->count == CODES_MAX ||
		array_room(&m->codes, m->count, &m->capacity, sizeof(*m->codes)))
		return;
	m->codes[m->count] = *code;
	if (j->pending_lines && j->pending_address == code->begin) {
		m->codes[m->count].first_line = j->line_count - j->pending_lines;
		m->codes[m->count].line_count = j->pending_lines;
	}
	j->pending_lines = 0;
	if (!ranges_add(&m->ranges, code->begin, code->begin + bytes, m->count))
		m->count++;
}

/* Parse a line of a perf map: "7f0012340000 1c0 name". Java writes addresses with 0x. Ignore other
 * lines. */
static void perf_map_line(struct jit_maps *j, struct jit_map *m, const char *path, char *line)
{
	char *at = line, *end;
	uint64_t begin, bytes;
	errno = 0;
	begin = strtoull(at, &end, 16);
	if (end == at || *end != ' ')
		return;
	at = end + 1;
	bytes = strtoull(at, &end, 16);
	if (end == at || *end != ' ' || errno)
		return;
	at = end + strspn(end, " ");
	size_t length = strcspn(at, "\n");
	if (length && length < NAME_BYTES_MAX)
		code_add(j, m,
			&(struct jit_code){.begin = begin,
				.name = pool_text(j->pool, at, length),
				.map = path},
			bytes);
}

static void perf_map_read(struct jit_maps *j, struct jit_map *m, const char *path, FILE *in)
{
	char line[NAME_BYTES_MAX + 64];
	bool whole = true;
	while (fgets(line, sizeof(line), in)) {
		bool ends = strchr(line, '\n') != NULL;
		if (whole && ends)
			perf_map_line(j, m, path, line);
		whole = ends;
	}
}

/* Records of jitdump-specification.txt, in the byte order of this machine. */
#define JIT_MAGIC 0x4a695444u
#define JIT_OTHER_CLOCK 1u /* flag: time stamps are not CLOCK_MONOTONIC */
enum jit_record { JIT_CODE_LOAD, JIT_CODE_MOVE, JIT_CODE_DEBUG_INFO, JIT_CODE_CLOSE };

struct jit_header {
	uint32_t magic, version, total_size, machine, pad, pid;
	uint64_t timestamp, flags;
};

struct jit_prefix {
	uint32_t id, total_size;
	uint64_t timestamp;
};

struct jit_load {
	uint32_t pid, tid;
	uint64_t vma, code_address, code_bytes, code_index;
};

struct jit_move {
	uint32_t pid, tid;
	uint64_t vma, old_address, new_address, code_bytes, code_index;
};

struct jit_debug {
	uint64_t code_address, count;
};

struct jit_debug_row {
	uint64_t address;
	uint32_t line, discriminator;
};

struct dump {
	FILE *in;
	struct jit_prefix prefix;
	uint64_t left; /* remaining bytes of the current record */
	const char *path;
	bool clock;
};

static bool dump_read(struct dump *d, void *to, size_t bytes)
{
	if (bytes > d->left || fread(to, 1, bytes, d->in) != bytes)
		return false;
	d->left -= bytes;
	return true;
}

/* Read a text that ends with NUL; longer texts are truncated. */
static const char *dump_text(struct jit_maps *j, struct dump *d)
{
	char text[NAME_BYTES_MAX];
	size_t at = 0;
	int c = -1;
	for (; d->left && (c = getc_unlocked(d->in)) > 0; d->left--)
		if (at + 1 < sizeof(text))
			text[at++] = (char)c;
	d->left -= c == 0;
	return c ? NULL : pool_text(j->pool, text, at);
}

static void dump_load(struct jit_maps *j, struct jit_map *m, struct dump *d)
{
	struct jit_load load;
	if (!dump_read(d, &load, sizeof(load)))
		return;
	struct jit_code code = {.begin = load.code_address,
		.from_ns = d->clock ? d->prefix.timestamp : 0,
		.map = d->path};
	code.name = dump_text(j, d);
	code_add(j, m, &code, load.code_bytes);
}

static void dump_move(struct jit_maps *j, struct jit_map *m, struct dump *d)
{
	struct jit_move move;
	if (!dump_read(d, &move, sizeof(move)))
		return;
	for (uint32_t i = m->count; i-- > 0 && i + 4096 > m->count;)
		if (m->codes[i].begin == move.old_address) {
			struct jit_code code = m->codes[i];
			code.begin = move.new_address;
			code.from_ns = d->clock ? d->prefix.timestamp : 0;
			code.line_count = 0;
			code_add(j, m, &code, move.code_bytes);
			return;
		}
}

static void dump_lines(struct jit_maps *j, struct dump *d)
{
	struct jit_debug head;
	struct jit_debug_row row;
	const char *file = NULL;
	j->pending_lines = 0;
	if (!dump_read(d, &head, sizeof(head)))
		return;
	j->pending_address = head.code_address;
	for (uint64_t i = 0; i < head.count && dump_read(d, &row, sizeof(row)); i++) {
		const char *text = dump_text(j, d);
		if (!text || (!strcmp(text, "\xff") && !file))
			return;
		file = strcmp(text, "\xff") ? text : file; /* "\xff" = same file as in the
							    * previous row */
		if (j->line_count == LINES_MAX ||
			array_room(&j->lines, j->line_count, &j->line_capacity, sizeof(*j->lines)))
			return;
		j->lines[j->line_count++] = (struct jit_line_row){row.address, row.line, file};
		j->pending_lines++;
	}
}

static void dump_read_all(struct jit_maps *j, struct jit_map *m, const char *path, FILE *in)
{
	struct jit_header header;
	struct dump d = {.in = in, .path = path};
	j->pending_lines = 0;
	if (fread(&header, 1, sizeof(header), in) != sizeof(header) || header.magic != JIT_MAGIC ||
		header.total_size < sizeof(header) ||
		fseeko(in, (off_t)header.total_size, SEEK_SET))
		return;
	d.clock = !(header.flags & JIT_OTHER_CLOCK);
	for (;;) {
		off_t begin = ftello(in);
		if (fread(&d.prefix, 1, sizeof(d.prefix), in) != sizeof(d.prefix) ||
			d.prefix.total_size < sizeof(d.prefix))
			return;
		d.left = d.prefix.total_size - sizeof(d.prefix);
		if (d.prefix.id == JIT_CODE_LOAD)
			dump_load(j, m, &d);
		else if (d.prefix.id == JIT_CODE_MOVE)
			dump_move(j, m, &d);
		else if (d.prefix.id == JIT_CODE_DEBUG_INFO)
			dump_lines(j, &d);
		else if (d.prefix.id == JIT_CODE_CLOSE)
			return;
		if (fseeko(in, begin + (off_t)d.prefix.total_size, SEEK_SET))
			return;
	}
}

/* Return true if the file was last written during the life of the process. */
static bool is_written_in_lifetime(
	const struct jit_maps *j, const struct process *p, const struct stat *status)
{
	const Libtrace__Session *session = j->contents->session;
	const int64_t slack_ns = 2000000000;
	if (!session || !session->has_start_realtime_ns)
		return false;
	int64_t offset = (int64_t)(session->start_realtime_ns - session->start_ns);
	int64_t written = (int64_t)((uint64_t)status->st_mtim.tv_sec * 1000000000u +
		(uint64_t)status->st_mtim.tv_nsec);
	int64_t at = (int64_t)((uint64_t)written - (uint64_t)offset);
	bool early = p->facts->has_start_ns && at < (int64_t)p->facts->start_ns - slack_ns;
	bool late = p->facts->has_end_ns && p->facts->end_ns &&
		at > (int64_t)p->facts->end_ns + slack_ns;
	return !early && !late;
}

static FILE *file_open(
	const struct jit_maps *j, const struct process *p, const char *path, bool any_time)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0)
		return NULL;
	bool good = !fstat(fd, &status) && S_ISREG(status.st_mode) &&
		status.st_size <= FILE_BYTES_MAX &&
		(status.st_uid == 0 || status.st_uid == geteuid()) &&
		(any_time || is_written_in_lifetime(j, p, &status));
	FILE *in = good ? fdopen(fd, "r") : NULL;
	if (!in)
		close(fd);
	return in;
}

/* Read the perf map and the jitdump file of a pid in one folder. */
static void folder_read(struct jit_maps *j, struct jit_map *m, const struct process *p,
	const char *folder, size_t bytes, uint32_t pid, bool any_time)
{
	static const struct {
		const char *name;
		void (*read)(struct jit_maps *, struct jit_map *, const char *, FILE *);
	} kinds[] = {{"%.*s/perf-%u.map", perf_map_read}, {"%.*s/jit-%u.dump", dump_read_all}};
	char path[PATH_MAX];
	for (int i = 0; i < 2; i++) {
		int n = snprintf(path, sizeof(path), kinds[i].name, (int)bytes, folder, pid);
		FILE *in = n > 0 && n < PATH_MAX ? file_open(j, p, path, any_time) : NULL;
		if (!in)
			continue;
		const char *kept = pool_text(j->pool, path, sizeof(path));
		if (kept)
			kinds[i].read(j, m, kept, in);
		fclose(in);
	}
}

static void map_read(struct jit_maps *j, struct jit_map *m, const struct process *p)
{
	const char *folder = p->facts->work_directory;
	uint32_t pids[] = {p->facts->pid, p->facts->forked ? p->facts->parent_pid : 0};
	for (int i = 0; i < 2 && pids[i] && !m->count; i++) {
		for (const char *at = j->symbol_path; at && *at;) {
			size_t bytes = strcspn(at, ":");
			if (bytes)
				folder_read(j, m, p, at, bytes, pids[i], true);
			at += bytes + (at[bytes] == ':');
		}
		folder_read(j, m, p, "/tmp", 4, pids[i], false);
		if (folder && *folder == '/' && strcmp(folder, "/tmp") != 0)
			folder_read(j, m, p, folder, strnlen(folder, PATH_MAX), pids[i], false);
	}
	ranges_sort(&m->ranges);
}

static const struct jit_map *map_of(struct jit_maps *j, const struct process *p)
{
	if (!j->maps) {
		j->map_count = j->contents->processes.ids;
		j->maps = calloc(j->map_count + 1, sizeof(struct jit_map *));
	}
	if (!j->maps || p->id >= j->map_count)
		return NULL;
	struct jit_map *m = j->maps[p->id];
	if (!m) {
		m = j->maps[p->id] = calloc(1, sizeof(*m));
		if (m)
			map_read(j, m, p);
	}
	return m;
}

const struct jit_code *jit_find(
	struct jit_maps *j, const struct process *p, uint64_t address, uint64_t ns)
{
	const struct jit_map *m = map_of(j, p);
	const struct jit_code *best = NULL;
	if (!m)
		return NULL;
	/* The address may have held several codes: take the last that was generated by `ns`, else
	 * the first. */
	const struct range *r = NULL;
	for (int i = 0; i < LAYERS_MAX && (r = ranges_find(&m->ranges, address, r)); i++) {
		const struct jit_code *code = &m->codes[r->value];
		bool holds = code->from_ns <= ns, best_holds = best && best->from_ns <= ns;
		bool later = best &&
			(code->from_ns > best->from_ns ||
				(code->from_ns == best->from_ns && code > best));
		if (!best || (holds && (!best_holds || later)) || (!holds && !best_holds && !later))
			best = code;
	}
	return best;
}

void jit_line(
	struct jit_maps *j, const struct jit_code *code, uint64_t address, struct symbol_frame *f)
{
	const struct jit_line_row *best = NULL;
	for (uint32_t i = 0; i < code->line_count; i++) {
		const struct jit_line_row *row = &j->lines[code->first_line + i];
		if (row->address <= address && (!best || row->address >= best->address))
			best = row;
	}
	if (best) {
		f->file = best->file;
		f->line = best->line;
	}
}
