/*
 * bench_writer - what the writer costs per event: a spool in memory, drained again and again into
 * blocks.
 *
 *   bench_writer [EVENTS]      (default 4 million; in rounds of as many as a lane holds)
 *
 * uniform: one thread reads one descriptor. mixed: several functions, descriptors, sizes and
 * errors. Prints ns of processor time and bytes per event, best of 3.
 */
#include "tests/unit/test_writer.h"

#include <time.h>

#include "writer/writer.h"

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
		lane->chunk[n] = base + (uint64_t)n * CHUNK_BYTES;
	lane->chunk_count = 200;
}

static double seconds(void)
{
	struct timespec time;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Drains the lane as often as it takes, without a file: blocks are sealed and thrown away. */
static void measure(struct writer *w, struct spool *spool, uint64_t events, const char *name)
{
	double best = 1e9, bytes = 0;
	for (int attempt = 0; attempt < 3; attempt++) {
		uint64_t done = 0;
		double begin = seconds();
		bytes = 0;
		for (; done < events; done += ROUND_EVENTS) {
			struct lane_view *view = spool->lanes[0];
			for (view->position = 0; view->position < ROUND_EVENTS * RECORD_BYTES;) {
				view->head = view->position + 16 * CHUNK_BYTES;
				if (view->head > ROUND_EVENTS * RECORD_BYTES)
					view->head = ROUND_EVENTS * RECORD_BYTES;
				lane_drain(w, spool, view);
				struct block_identity identity = {.sequence = w->next_sequence++,
					.hostname = "h",
					.process_name = "p"};
				block_seal(&w->block, &w->strings, &identity);
				for (int i = 0; i < 3; i++)
					bytes += (double)w->block.parts[i].iov_len;
				block_reset(&w->block);
			}
		}
		double ns = (seconds() - begin) * 1e9 / (double)done;
		bytes /= (double)done;
		best = ns < best ? ns : best;
	}
	printf("%-22s %6.2f ns/event %6.2f bytes/event\n", name, best, bytes);
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
	if (writer_init(&w, t.dir) || tree_open_control(&w) || block_init(&w.block, false))
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
	block_release(&w.block);
	if (block_init(&w.block, true))
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
