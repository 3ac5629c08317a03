/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_path_ranks.c - tests the search for operations of other ranks: each wait finds its
 * own among many streams, and the search for one wait looks at no other stream.
 */
#define _GNU_SOURCE
#include "tests/unit/tap.h"

#ifndef HAVE_SQLITE

int main(void)
{
	printf("1..0 # SKIP no SQLite in this build\n");
	return 0;
}

#else

#include "reader/sql/path/ranks.h"

#define STREAMS 64u
#define OPERATIONS 3u
#define RANKS (STREAMS * OPERATIONS)
#define PROCESS 77

static struct path_call calls[STREAMS][OPERATIONS], decoys[STREAMS];
static struct path_track tracks[STREAMS];
static struct path_rank ranks[RANKS];
static struct path_graph graph;

/* The first streams are of another process; operation n of a stream begins at the same time in all
 * streams. Wait n is for operation n % OPERATIONS of stream n / OPERATIONS. */
static void graph_make(void)
{
	graph = (struct path_graph){.spill.limit = 1 << 20,
		.tracks = tracks,
		.track_count = STREAMS,
		.ranks = ranks,
		.rank_count = RANKS};
	for (uint32_t i = 0; i < RANKS; i++) {
		const uint32_t stream = i / OPERATIONS, operation = i % OPERATIONS;
		const int64_t start = 100 * (1 + operation);
		tracks[stream] = (struct path_track){.process = PROCESS + (stream >= STREAMS / 2),
			.is_stream = true,
			.calls = calls[stream],
			.outer = OPERATIONS,
			.count = OPERATIONS};
		calls[stream][operation] = (struct path_call){
			.start = start, .end = start + 50, .object = 1000 + stream % (STREAMS / 2)};
		ranks[i] = (struct path_rank){.process = tracks[stream].process,
			.time = start,
			.correlation = calls[stream][operation].object,
			.cause = PATH_NOWHERE,
			.track = PATH_NOWHERE,
			.how = HOW_EXACT};
	}
}

/* Return whether the search for a wait finds an operation of a stream; operation = OPERATIONS:
 * none. */
static bool finds(uint32_t rank, uint32_t stream, uint32_t operation)
{
	struct path_wait wait;
	const struct path_call *found =
		path_rank_find(&graph, &(struct path_call){.holder = rank + 1}, &wait);
	if (operation == OPERATIONS)
		return !found && wait.track == PATH_NOWHERE && wait.how == HOW_UNKNOWN;
	return found == &calls[stream][operation] && wait.track == stream &&
		wait.time == found->start && wait.how == ranks[rank].how;
}

static void each_wait_finds_its_operation(void)
{
	uint32_t right = 0;
	graph_make();
	ranks[0].how = HOW_LIKELY;
	ranks[1].how = HOW_UNKNOWN;
	ranks[2].time += 1;
	ranks[3].correlation = 999;
	ranks[4].process = 1;
	ranks[5] = ranks[RANKS - 1];
	check(!path_ranks_read(&graph), "the operations are found");
	check(finds(0, 0, 0), "a likely one stays likely");
	check(finds(1, 0, OPERATIONS), "of a wait that nobody is known to have ended, none");
	check(finds(2, 0, OPERATIONS) && finds(3, 0, OPERATIONS) && finds(4, 0, OPERATIONS),
		"nor one of another time, correlation id or process");
	check(finds(5, STREAMS - 1, OPERATIONS - 1), "two waits are for the same operation");
	for (uint32_t i = 6; i < RANKS; i++)
		right += finds(i, i / OPERATIONS, i % OPERATIONS);
	check(right == RANKS - 6, "each of %u waits finds its own: %u", RANKS - 6, right);
	spill_release(&graph.spill);
}

/* Each other stream gets an operation that is the one looked for, too: who looks at it takes it. */
static void search_looks_at_no_other_stream(void)
{
	uint32_t right = 0;
	graph_make();
	check(!path_ranks_read(&graph), "the operations are found");
	for (uint32_t i = 0; i < RANKS; i++) {
		const uint32_t stream = i / OPERATIONS, operation = i % OPERATIONS;
		for (uint32_t other = 0; other < STREAMS; other++) {
			decoys[other] = calls[stream][operation];
			tracks[other].process = tracks[stream].process;
			tracks[other].calls = other == stream ? calls[stream] : &decoys[other];
			tracks[other].outer = other == stream ? OPERATIONS : 1;
		}
		right += finds(i, stream, operation);
	}
	check(right == RANKS, "%u of %u searches look at no stream but the operation's", right,
		RANKS);
	spill_release(&graph.spill);
}

/* Of operations that do not differ, the first is taken. */
static void first_of_equal_ones_is_taken(void)
{
	graph_make();
	for (uint32_t i = 0; i < STREAMS; i++) {
		tracks[i].process = PROCESS;
		calls[i][0] = calls[0][0];
	}
	for (uint32_t i = 0; i < RANKS; i++)
		ranks[i] = ranks[0];
	uint32_t right = 0;
	check(!path_ranks_read(&graph), "the operations are found");
	for (uint32_t i = 0; i < RANKS; i++)
		right += finds(i, 0, 0);
	check(right == RANKS, "%u of %u waits have the first of equal operations", right, RANKS);
	spill_release(&graph.spill);
}

int main(void)
{
	each_wait_finds_its_operation();
	search_looks_at_no_other_stream();
	first_of_equal_ones_is_taken();
	return tap_done();
}

#endif
