/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_writer.c - measures the writer's cost per event: a spool in memory is drained repeatedly
 * into blocks.
 *
 *   bench_writer [EVENTS]      (default 4 million; a round has as many as fit into a lane)
 *
 * uniform: one thread reads one descriptor. mixed: several functions, descriptors, sizes and
 * errors. nvtx: push and pop with a registered string; marks with a registered string, with one of
 * 64 texts of 32 bytes, with texts that are all different, with color, category and payload.
 * functions: calls of one function of a library; of 256 functions that call each other and return
 * pointers. Prints ns of processor time and bytes per event, best of 3.
 */
#include "tests/unit/test_writer.h"

#include <time.h>

#include "writer/base/writer.h"
#include "writer/drain.h"
#include "writer/spool/lanes.h"
#include "writer/tree.h"

#define ROUND_EVENTS (200u * CHUNK_BYTES / RECORD_BYTES)

static uint64_t random_state = 88172645463325252u;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

static void fill(struct fake_spool *s, struct lane *lane, bool mixed)
{
	uint64_t tick = s->header->first.tick + 1000, base = SPOOL_HEADER_BYTES + LANE_BYTES;
	for (uint32_t i = 0; i < ROUND_EVENTS; i++) {
		struct record *r = (void *)(s->map + base + (uint64_t)i * RECORD_BYTES);
		uint64_t ticks = 1000 + random_next() % 4000;
		r->tick = tick;
		r->word = ticks << RECORD_LENGTH_SHIFT | (mixed ? 40 + random_next() % 30 : 120);
		r->a = mixed ? random_next() % 70000 : 4096;
		r->b = mixed
			? (random_next() % 50 == 0 ? UINT64_C(11) << 48 : 0) | random_next() % 20
			: 3;
		tick += ticks + 300 + random_next() % 3000;
	}
	for (uint32_t n = 0; n < 200; n++)
		lane->chunk[n] = lane_chunk_entry(n, base + (uint64_t)n * CHUNK_BYTES, n + 1);
}

/* ---- NVTX ---- */

enum shape { RANGES, MARKS, TEXTS, FRESH, ATTRIBUTES, SHAPES };
static const char *const shape_names[SHAPES] = {"nvtx ranges, registered", "nvtx marks, registered",
	"nvtx marks, 64 texts", "nvtx marks, new texts", "nvtx marks, attributes"};

/* Store a name, the `number`th, after the chunks. Return its reference in records. */
static uint64_t name_put(struct fake_spool *s, uint32_t number, const char *text)
{
	uint64_t at = SPOOL_HEADER_BYTES + LANE_BYTES + 200u * CHUNK_BYTES + number * 64u;
	struct nvtx_text *name = (void *)(s->map + at);
	name->bytes = (uint32_t)strlen(text);
	memcpy(name->text, text, name->bytes);
	return at / NVTX_NAME_UNIT;
}

/* Fill the lane; return the number of events. */
static uint64_t fill_nvtx(struct fake_spool *s, enum shape shape)
{
	uint64_t tick = s->header->first.tick + 1000, base = SPOOL_HEADER_BYTES + LANE_BYTES;
	uint64_t name = name_put(s, 0, "a registered string"), events = 0;
	bool registered = shape != TEXTS && shape != FRESH;
	uint64_t bytes = shape < TEXTS ? 0 : registered ? sizeof(struct nvtx_attributes) : 32;
	uint64_t kind = shape == RANGES ? REC_NVTX_RANGE : REC_NVTX_MARK;
	for (uint32_t i = 0; i < ROUND_EVENTS; i += bytes ? 2 : 1, events++) {
		struct record *r = (void *)(s->map + base + (uint64_t)i * RECORD_BYTES);
		uint64_t ticks = 10 + random_next() % 4000;
		char text[40];
		*r = (struct record){
			tick, bytes << RECORD_LENGTH_SHIFT | kind, registered ? name : 0, 0};
		if (shape == RANGES)
			r->b = ticks << 16 | (i & 3);
		if (shape == ATTRIBUTES) {
			r->b = NVTX_HAS_ATTRIBUTES;
			*(struct nvtx_attributes *)(void *)(r + 1) =
				(struct nvtx_attributes){3, 0xff112233, 1, 0, i};
		} else if (bytes) {
			snprintf(text, sizeof(text), "text, 32 bytes, number: %08u",
				shape == FRESH ? i : i / 2 % 64);
			memcpy(r + 1, text, 32);
		}
		tick += ticks + 30 + random_next() % 3000;
	}
	return events;
}

/* ---- functions of libraries ---- */

#define FUNCTIONS 256u

static void fill_functions(struct fake_spool *s, bool mixed)
{
	uint64_t tick = s->header->first.tick + 1000, base = SPOOL_HEADER_BYTES + LANE_BYTES;
	uint64_t library = name_put(s, 0, "libfunctions.so"), names[FUNCTIONS];
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		char text[40];
		snprintf(text, sizeof(text), "function_%u", i);
		names[i] = library << 32 | name_put(s, 1 + i, text);
	}
	for (uint32_t i = 0; i < ROUND_EVENTS; i++) {
		struct record *r = (void *)(s->map + base + (uint64_t)i * RECORD_BYTES);
		uint64_t ticks = 30 + random_next() % 400, level = mixed ? random_next() % 6 : 0;
		r->tick = tick;
		r->word = ticks << RECORD_LENGTH_SHIFT | (REC_FUNCTION + level);
		r->a = mixed ? UINT64_C(0x7f0012340000) + random_next() % 65536 * 16 : i;
		r->b = names[mixed ? random_next() % FUNCTIONS : 0];
		tick += ticks + 30 + random_next() % 300;
	}
}

static double seconds(void)
{
	struct timespec time;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Drain the lane until `events` are done, without a file: blocks are sealed and discarded. */
static void measure_of(struct writer *w, struct spool *spool, uint64_t events,
	uint64_t round_events, const char *name)
{
	double best = 1e9, bytes = 0;
	for (int attempt = 0; attempt < 3; attempt++) {
		uint64_t done = 0;
		double begin = seconds();
		bytes = 0;
		for (; done < events; done += round_events) {
			struct lane_view *view = spool->lanes[0];
			for (view->position = 0; view->position < ROUND_EVENTS * RECORD_BYTES;) {
				view->head = view->position + 16 * CHUNK_BYTES;
				if (view->head > ROUND_EVENTS * RECORD_BYTES)
					view->head = ROUND_EVENTS * RECORD_BYTES;
				lane_drain(w, spool, view, UINT64_MAX);
				struct block_identity identity = {
					.sequence = w->report.next_sequence++,
					.hostname = "h",
					.process_name = "p"};
				block_seal(&w->report.block, &w->report.strings, &identity);
				for (unsigned i = 0; i < BLOCK_PARTS; i++)
					bytes += (double)w->report.block.parts[i].iov_len;
				block_reset(&w->report.block);
			}
		}
		double ns = (seconds() - begin) * 1e9 / (double)done;
		bytes /= (double)done;
		best = ns < best ? ns : best;
	}
	printf("%-24s %6.2f ns/event %6.2f bytes/event\n", name, best, bytes);
}

static void measure(struct writer *w, struct spool *spool, uint64_t events, const char *name)
{
	measure_of(w, spool, events, ROUND_EVENTS, name);
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 4000000;
	static struct writer w;
	struct fake_tree t;
	struct fake_spool s;
	fake_tree_make(&t);
	fake_spool_make(&s, &t, (uint32_t)getpid(), clock_init());
	struct lane *lane = fake_lane(&s);
	usleep(20000);
	if (writer_init(&w, t.dir) || tree_open_control(&w) || block_init(&w.report.block, false))
		return 1;
	spools_guard(&w.spools);
	uint64_t fullest;
	tree_discover(&w);
	tree_look(&w, &fullest);
	writer_take_time(&w);
	fill(&s, lane, false);
	measure(&w, w.spools.all[0], events, "uniform");
	fill(&s, lane, true);
	measure(&w, w.spools.all[0], events, "mixed");
	for (enum shape shape = 0; shape < SHAPES; shape++) {
		uint64_t round_events = fill_nvtx(&s, shape);
		measure_of(&w, w.spools.all[0], events, round_events, shape_names[shape]);
	}
	fill_functions(&s, false);
	measure(&w, w.spools.all[0], events, "functions, one");
	fill_functions(&s, true);
	measure(&w, w.spools.all[0], events, "functions, 256");
	block_release(&w.report.block);
	if (block_init(&w.report.block, true))
		return 1;
	fill(&s, lane, false);
	measure(&w, w.spools.all[0], events, "uniform, zstd");
	fill(&s, lane, true);
	measure(&w, w.spools.all[0], events, "mixed, zstd");
	writer_release(&w);
	unlink(s.path);
	char path[200];
	snprintf(path, sizeof(path), "%s/control", t.dir);
	unlink(path);
	rmdir(t.dir);
	return 0;
}
