/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_spool.c - fuzz target of libtrace-writer, run as by `trace recover`: arbitrary bytes in the
 * spool of a dead process, in the tree's control page, and in the report that an earlier writer
 * began.
 *
 * The input consists of pieces: a target (0 spool, 1 control page, 2 report), a u32 offset, a u16
 * length, and the bytes; an offset of the report with its highest bit set is the size at which the
 * report ends. The report was written from the same tree, with the input's bytes put into it. The
 * fields that identify the owner of the spool stay valid; otherwise the writer would only refuse
 * it.
 */
#define _GNU_SOURCE
#include "tests/fuzz/mutate.h"
#include "tests/unit/test_writer.h"
#include "writer/recover.h"

#define PIECE_HEAD 7u
#define DEAD_PID 0x7ffffff0u
#define REPORT_MAX (1u << 20)
#define CUT (1u << 31)
#define CREATED_NS 1000000000u

enum { IN_SPOOL, IN_CONTROL, IN_REPORT, PLACES };

struct piece {
	unsigned place;
	uint32_t offset;
	size_t bytes;
	uint8_t *at; /* position in the input */
};

/* Take the next piece from the input. */
static bool piece_next(uint8_t **at, const uint8_t *end, struct piece *p)
{
	uint16_t bytes;
	if ((size_t)(end - *at) < PIECE_HEAD)
		return false;
	p->place = **at % PLACES;
	memcpy(&p->offset, *at + 1, 4);
	memcpy(&bytes, *at + 5, 2);
	p->at = *at + PIECE_HEAD;
	p->bytes = (size_t)(end - p->at) < bytes ? (size_t)(end - p->at) : bytes;
	*at = p->at + p->bytes;
	return true;
}

static void piece_put(const struct piece *p, uint8_t *to, size_t room)
{
	if (p->offset < room)
		memcpy(to + p->offset, p->at,
			p->bytes < room - p->offset ? p->bytes : room - p->offset);
}

/* Restore the fields without which the writer would refuse the spool. */
static void header_mend(struct spool_header *h, const struct spool_header *sound)
{
	h->magic = sound->magic;
	h->version = sound->version;
	h->fn_count = sound->fn_count;
	h->fn_hash = sound->fn_hash;
	h->pid = sound->pid;
	h->pid_namespace = sound->pid_namespace;
}

static void control_mend(struct tree_control *c, const struct tree_control *sound)
{
	c->magic = sound->magic;
	c->version = sound->version;
	c->root_pid = sound->root_pid;
	memcpy(c->output, sound->output, sizeof(c->output));
}

static void report_put(const struct fake_tree *t, uint8_t *data, size_t bytes)
{
	int fd = open(t->report, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	mutate_mend(data, bytes);
	if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
		abort();
	close(fd);
}

/* The report that an earlier writer began. */
static uint8_t begun[REPORT_MAX];
static size_t begun_bytes;

static void put_all(uint8_t *data, size_t bytes, struct fake_tree *t, struct fake_spool *s)
{
	static struct tree_control control;
	static struct spool_header header;
	struct piece p;
	uint8_t *report = malloc(REPORT_MAX);
	size_t report_bytes = 0;
	if (!report)
		abort();
	memcpy(report, begun, REPORT_MAX);
	control = *t->control;
	header = *s->header;
	for (uint8_t *at = data; piece_next(&at, data + bytes, &p);) {
		if (p.place == IN_SPOOL)
			piece_put(&p, s->map, FAKE_SPOOL_BYTES);
		else if (p.place == IN_CONTROL)
			piece_put(&p, (uint8_t *)t->control, sizeof(*t->control));
		else if (p.offset & CUT)
			report_bytes = p.offset % begun_bytes;
		else
			piece_put(&p, report, begun_bytes);
		if (p.place == IN_REPORT && !report_bytes)
			report_bytes = begun_bytes;
	}
	header_mend(s->header, &header);
	control_mend(t->control, &control);
	if (report_bytes)
		report_put(t, report, report_bytes);
	free(report);
}

/* Create the tree, always the same, with a spool of one name: a begun report belongs to it. */
static void tree_make(struct fake_tree *t, struct fake_spool *s)
{
	char path[256];
	fake_tree_make(t);
	fake_spool_make(s, t, DEAD_PID, CLOCK_KIND_MONOTONIC);
	snprintf(path, sizeof(path), "%s/%u-1.spool", t->dir, DEAD_PID);
	if (rename(s->path, path))
		abort();
	memcpy(s->path, path, sizeof(path));
	memset(t->control->boot_id, 0, sizeof(t->control->boot_id));
	memcpy(t->control->boot_id, "fuzz", 4);
	t->control->created_mono_ns = s->header->first.mono_ns = s->header->first.tick =
		s->header->last.mono_ns = s->header->last.tick = CREATED_NS;
	t->control->created_realtime_ns = CREATED_NS;
}

static void tree_clean(struct fake_tree *t, struct fake_spool *s)
{
	char path[256];
	unlink(s->path);
	unlink(t->report);
	snprintf(path, sizeof(path), "%s/control", t->dir);
	unlink(path);
	rmdir(t->dir);
	munmap(t->control, TREE_CONTROL_BYTES);
	munmap(s->map, FAKE_SPOOL_BYTES);
}

static void begin(void)
{
	struct fake_tree tree;
	struct fake_spool spool;
	tree_make(&tree, &spool);
	struct lane *lane = fake_lane(&spool);
	fake_thread_start(&spool, lane, DEAD_PID, DEAD_PID, 0);
	for (uint64_t i = 0; i < 10; i++)
		fake_call(&spool, lane, CREATED_NS + i * 10, 5, 0);
	if (recover_tree(tree.dir, NULL))
		abort();
	FILE *file = fopen(tree.report, "rbe");
	begun_bytes = file ? fread(begun, 1, REPORT_MAX, file) : 0;
	if (!begun_bytes)
		abort();
	fclose(file);
	tree_clean(&tree, &spool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fake_tree tree;
	struct fake_spool spool;
	if (!begun_bytes)
		begin();
	uint8_t *copy = malloc(bytes + 1);
	if (copy) {
		memcpy(copy, data, bytes);
		tree_make(&tree, &spool);
		put_all(copy, bytes, &tree, &spool);
		recover_tree(tree.dir, NULL);
		tree_clean(&tree, &spool);
	}
	free(copy);
	return 0;
}

/* Change numbers of 32 or 64 bits, at aligned offsets, and bytes. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t max, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t max, unsigned seed)
{
	struct piece p;
	uint32_t count = 0, state = seed * 2654435761u + 1;
	for (uint8_t *at = data; piece_next(&at, data + bytes, &p);)
		count++;
	if (!count || seed % 16 == 0)
		return LLVMFuzzerMutate(data, bytes, max);
	uint32_t chosen = (state >> 8) % count;
	for (uint8_t *at = data; piece_next(&at, data + bytes, &p) && chosen--;)
		;
	const uint32_t size = state & 1 ? 8 : 4, places = (uint32_t)(p.bytes / size);
	if (places && state & 6) {
		uint8_t *number = p.at + size * ((state >> 12) % places);
		const size_t kept = LLVMFuzzerMutate(number, size, size);
		memset(number + kept, 0, size - kept);
	} else if (p.bytes) {
		const size_t kept = LLVMFuzzerMutate(p.at, p.bytes, p.bytes);
		memset(p.at + kept, 0, p.bytes - kept);
	}
	return bytes;
}
