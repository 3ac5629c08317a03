/* SPDX-License-Identifier: Apache-2.0 */
/* edges.c - order of times on different hosts, by calls of MPI. */
#include "reader/merge/edges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

#define COMMUNICATORS_MAX (1u << 20)
#define COLUMNS EDGE_COLUMNS

/* What a function does with times; values of edges.calls. */
enum call {
	CALL_OTHER = 1, /* 0 is none in a map */
	CALL_SEND,
	CALL_SEND_SYNC, /* ends after the receive has begun */
	CALL_RECEIVE,
	CALL_RECEIVE_LATER,    /* MPI_Irecv: ends in a wait that is not looked for */
	CALL_SEND_RECEIVE,     /* sends; what it receives is not recorded */
	CALL_SEND_REPEATED,    /* a persistent request: the number of messages is not known */
	CALL_RECEIVE_REPEATED, /* likewise */
	CALL_BARRIER,
	CALL_ALL,       /* nobody leaves before all have entered, if there is data */
	CALL_ALL_LATER, /* likewise, but it ends in a wait */
	CALL_FROM_ROOT,
	CALL_TO_ROOT,
	CALL_FROM_ROOT_LATER,
	CALL_TO_ROOT_LATER,
	CALL_UNSEEN /* takes messages, or sends them, without an MPI_CALL event */
};

static const struct {
	const char *name;
	enum call call;
} calls[] = {
	{"MPI_Send", CALL_SEND},
	{"MPI_Ssend", CALL_SEND_SYNC},
	{"MPI_Bsend", CALL_SEND},
	{"MPI_Rsend", CALL_SEND},
	{"MPI_Isend", CALL_SEND},
	{"MPI_Issend", CALL_SEND},
	{"MPI_Ibsend", CALL_SEND},
	{"MPI_Irsend", CALL_SEND},
	{"MPI_Recv", CALL_RECEIVE},
	{"MPI_Irecv", CALL_RECEIVE_LATER},
	{"MPI_Sendrecv", CALL_SEND_RECEIVE},
	{"MPI_Sendrecv_replace", CALL_SEND_RECEIVE},
	{"MPI_Send_init", CALL_SEND_REPEATED},
	{"MPI_Ssend_init", CALL_SEND_REPEATED},
	{"MPI_Bsend_init", CALL_SEND_REPEATED},
	{"MPI_Rsend_init", CALL_SEND_REPEATED},
	{"MPI_Recv_init", CALL_RECEIVE_REPEATED},
	{"MPI_Barrier", CALL_BARRIER},
	{"MPI_Ibarrier", CALL_ALL_LATER},
	{"MPI_Allreduce", CALL_ALL},
	{"MPI_Iallreduce", CALL_ALL_LATER},
	{"MPI_Allgather", CALL_ALL},
	{"MPI_Iallgather", CALL_ALL_LATER},
	{"MPI_Alltoall", CALL_ALL},
	{"MPI_Ialltoall", CALL_ALL_LATER},
	{"MPI_Reduce_scatter_block", CALL_ALL},
	{"MPI_Ireduce_scatter_block", CALL_ALL_LATER},
	{"MPI_Bcast", CALL_FROM_ROOT},
	{"MPI_Ibcast", CALL_FROM_ROOT_LATER},
	{"MPI_Scatter", CALL_FROM_ROOT},
	{"MPI_Iscatter", CALL_FROM_ROOT_LATER},
	{"MPI_Reduce", CALL_TO_ROOT},
	{"MPI_Ireduce", CALL_TO_ROOT_LATER},
	{"MPI_Gather", CALL_TO_ROOT},
	{"MPI_Igather", CALL_TO_ROOT_LATER},
	{"MPI_Cancel", CALL_UNSEEN},
	{"MPI_Mrecv", CALL_UNSEEN},
	{"MPI_Imrecv", CALL_UNSEEN},
	{"MPI_Isendrecv", CALL_UNSEEN},
	{"MPI_Isendrecv_replace", CALL_UNSEEN},
	{"MPI_Psend_init", CALL_UNSEEN},
	{"MPI_Precv_init", CALL_UNSEEN},
};

enum { CLASS_MESSAGE = 1, CLASS_COLLECTIVE = 2 };

/* A row of MPI_CALL. */
struct mpi_row {
	uint32_t process, tid, class_;
	enum call call;
	int64_t start, end, tag, peer, root, bytes;
};

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t x =
		(a ^ (b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2))) * 0xbf58476d1ce4e5b9ull;
	x ^= x >> 29;
	x *= 0x94d049bb133111ebull;
	return x ^ x >> 32;
}

static void report_release(struct edges *e)
{
	free(e->communicators);
	e->communicators = NULL;
	e->communicator_count = e->communicator_capacity = 0;
	map_release(&e->channels);
	map_release(&e->calls);
	map_release(&e->disorderly);
	for (size_t i = 0; i < COLUMNS; i++) {
		free(e->columns[i]);
		e->columns[i] = NULL;
	}
}

void edges_release(struct edges *e)
{
	report_release(e);
	free(e->rows);
	*e = (struct edges){0};
}

/* Decode columns of a batch into e->columns. Returns 0, -EBADMSG or -ENOMEM. */
static int columns_decode(
	struct edges *e, const struct event_batch *b, const uint32_t *fields, size_t count)
{
	int error = 0;
	for (size_t i = 0; !error && i < count; i++) {
		if (!e->columns[i])
			e->columns[i] = malloc(BATCH_ROWS_MAX * sizeof(**e->columns));
		error = e->columns[i] ? event_batch_column(b, fields[i], e->columns[i]) : -ENOMEM;
	}
	return error;
}

int edges_note_batch(struct edges *e, const struct event_batch *b)
{
	static const uint32_t fields[] = {FIELD_MPI_COMMUNICATOR_START, FIELD_MPI_COMMUNICATOR_COMM,
		FIELD_MPI_COMMUNICATOR_LOCAL_RANK, FIELD_MPI_COMMUNICATOR_SIZE,
		FIELD_MPI_COMMUNICATOR_ROOT, FIELD_MPI_COMMUNICATOR_MEMBERS,
		FIELD_MPI_COMMUNICATOR_ORDINAL};
	if (b->kind != KIND_MPI_COMMUNICATOR)
		return 0;
	int error = columns_decode(e, b, fields, sizeof(fields) / sizeof(*fields));
	for (uint32_t i = 0; !error && i < b->count; i++) {
		if (e->communicator_count == COMMUNICATORS_MAX)
			return -EBADMSG;
		if (array_room(&e->communicators, e->communicator_count, &e->communicator_capacity,
			    sizeof(*e->communicators)))
			return -ENOMEM;
		int64_t *const *c = e->columns;
		uint64_t identity = mix((uint64_t)c[5][i], (uint64_t)c[3][i]);
		identity = mix(mix(identity, (uint64_t)c[4][i]), (uint64_t)c[6][i]);
		e->communicators[e->communicator_count++] =
			(struct edge_communicator){.process = b->process,
				.local_rank = (uint32_t)c[2][i],
				.handle = (uint64_t)c[1][i],
				.identity = c[5][i] ? identity : 0,
				.ns = c[0][i]};
	}
	return error;
}

static int compare_communicators(const void *a, const void *b)
{
	const struct edge_communicator *x = a, *y = b;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->handle != y->handle)
		return x->handle < y->handle ? -1 : 1;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Return the communicator that a handle of a process was at a time; NULL = not known. */
static struct edge_communicator *communicator_at(
	struct edges *e, uint32_t process, uint64_t handle, int64_t ns)
{
	const struct edge_communicator wanted = {.process = process, .handle = handle, .ns = ns};
	uint32_t low = 0, high = e->communicator_count;
	while (low < high) { /* the first one after it */
		const uint32_t middle = low + (high - low) / 2;
		if (compare_communicators(&e->communicators[middle], &wanted) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	struct edge_communicator *c = low ? &e->communicators[low - 1] : NULL;
	return c && c->process == process && c->handle == handle && c->identity ? c : NULL;
}

/* Return what a function is, by its name with MPI_ or PMPI_ in front. */
static enum call call_named(const char *name, size_t bytes)
{
	const size_t skip = bytes && *name == 'P';
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (strlen(calls[i].name) == bytes - skip &&
			!memcmp(calls[i].name, name + skip, bytes - skip))
			return calls[i].call;
	const bool is_mpi = bytes > 6 && !memcmp(name + skip, "MPI_", 4);
	/* functions with large counts have no MPI_CALL events */
	return is_mpi && !memcmp(name + bytes - 2, "_c", 2) ? CALL_UNSEEN : CALL_OTHER;
}

static enum call call_of(struct edges *e, uint32_t name)
{
	enum call call = (enum call)map_get(&e->calls, name, 0);
	if (call)
		return call;
	const struct string_ref text = string_table_get(&e->contents->strings, name);
	call = call_named(text.text, text.bytes);
	(void)map_put(&e->calls, name, 0, call); /* if it fails, names are compared again */
	return call;
}

/* Leave out rows whose keys have another bit, until the table is at most half full. */
static void rows_thin(struct edges *e)
{
	while (e->count > EDGES_MAX / 2) {
		uint32_t kept = 0, first = 0;
		e->mask = e->mask << 1 | 1;
		for (uint32_t i = 0; i < e->count; i++) {
			first = i == e->first ? kept : first;
			if (!(e->rows[i].key & e->mask))
				e->rows[kept++] = e->rows[i];
		}
		e->first = e->first < e->count ? first : kept;
		if (kept == e->count && e->mask == UINT64_MAX)
			break; /* keys of a hostile file */
		e->count = kept;
	}
}

static int row_add(struct edges *e, uint64_t key, enum edge_kind kind,
	const struct edge_communicator *c, int64_t enter_ns, int64_t leave_ns)
{
	if (key & e->mask || (enter_ns == INT64_MIN && leave_ns == INT64_MAX))
		return 0;
	if (e->count == EDGES_MAX)
		rows_thin(e);
	if (e->count == EDGES_MAX || array_room(&e->rows, e->count, &e->capacity, sizeof(*e->rows)))
		return -ENOMEM;
	e->rows[e->count++] = (struct edge){.key = key,
		.host = e->host,
		.kind = kind,
		.communicator = (uint32_t)(c - e->communicators) & (COMMUNICATORS_MAX - 1),
		.enter_ns = enter_ns,
		.leave_ns = leave_ns};
	return 0;
}

/* Add an edge of the next message of a channel (sender, receiver, tag). */
static int message_add(struct edges *e, const struct mpi_row *row, struct edge_communicator *c)
{
	const bool is_receive = row->call == CALL_RECEIVE || row->call == CALL_RECEIVE_LATER,
		   has_end = row->call == CALL_RECEIVE || row->call == CALL_SEND_SYNC;
	const uint64_t own = c->local_rank, peer = (uint32_t)row->peer;
	const uint64_t ranks = is_receive ? peer << 32 | own : own << 32 | peer;
	const uint64_t channel = mix(ranks, (uint64_t)row->tag),
		       at = (uint64_t)(c - e->communicators) << 1 | is_receive;
	const uint32_t number = map_get(&e->channels, channel, at) + 1;
	if (map_put(&e->channels, channel, at, number))
		return -ENOMEM;
	return row_add(e, mix(mix(c->identity, channel), number),
		is_receive ? EDGE_RECEIVE : EDGE_SEND, c, row->start,
		has_end ? row->end : INT64_MAX);
}

static int message_take(struct edges *e, const struct mpi_row *row, struct edge_communicator *c)
{
	const enum call call = row->call;
	const bool is_known = row->peer >= 0 && row->tag >= 0,
		   threads = c->message_tid && c->message_tid != row->tid,
		   sends = call == CALL_SEND || call == CALL_SEND_SYNC || call == CALL_SEND_RECEIVE,
		   receives = call == CALL_RECEIVE || call == CALL_RECEIVE_LATER;
	c->message_tid = row->tid;
	c->uncertain[EDGE_SEND] |= threads || call == CALL_SEND_REPEATED || (sends && !is_known);
	c->uncertain[EDGE_RECEIVE] |= threads || call == CALL_RECEIVE_REPEATED ||
		call == CALL_SEND_RECEIVE || (receives && !is_known);
	return is_known && (sends || receives) ? message_add(e, row, c) : 0;
}

/* Find out whether the others wait for this rank (enters), and whether it waits for others
 * (leaves). */
static void waits_find(const struct mpi_row *row, bool is_root, bool *ret_enters, bool *ret_leaves)
{
	const bool has_data = row->bytes > 0;
	*ret_enters = *ret_leaves = false;
	switch (row->call) {
	case CALL_BARRIER:
		*ret_enters = *ret_leaves = true;
		break;
	case CALL_ALL:
	case CALL_ALL_LATER:
		*ret_enters = has_data;
		*ret_leaves = has_data && row->call == CALL_ALL;
		break;
	case CALL_FROM_ROOT:
	case CALL_FROM_ROOT_LATER:
		*ret_enters = has_data && is_root;
		*ret_leaves = has_data && !is_root && row->call == CALL_FROM_ROOT;
		break;
	case CALL_TO_ROOT:
	case CALL_TO_ROOT_LATER:
		*ret_enters = has_data && !is_root;
		*ret_leaves = has_data && is_root && row->call == CALL_TO_ROOT;
		break;
	default:
		break;
	}
}

static int collective_take(struct edges *e, const struct mpi_row *row, struct edge_communicator *c)
{
	bool enters, leaves;
	waits_find(row, row->root == (int64_t)c->local_rank, &enters, &leaves);
	c->uncertain[EDGE_COLLECTIVE] |= c->collective_tid && c->collective_tid != row->tid;
	c->collective_tid = row->tid;
	c->collectives++;
	const uint64_t key = mix(mix(c->identity, row->call), ~(uint64_t)c->collectives);
	return row_add(e, key, EDGE_COLLECTIVE, c, enters ? row->start : INT64_MIN,
		leaves ? row->end : INT64_MAX);
}

static int row_take(struct edges *e, const struct mpi_row *row, uint64_t handle)
{
	if (row->class_ != CLASS_MESSAGE && row->class_ != CLASS_COLLECTIVE)
		return 0;
	struct edge_communicator *c = communicator_at(e, row->process, handle, row->start);
	if (!c)
		return 0;
	return row->class_ == CLASS_MESSAGE ? message_take(e, row, c) : collective_take(e, row, c);
}

/* Return whether all calls of a process since its start are in the report. */
static bool is_whole(const struct contents *c, const struct process *p)
{
	return p && !process_dropped(p) && !c->windows.last &&
		!(p->receipt && p->receipt->damaged_lanes);
}

static int mpi_calls_take(struct edges *e, const struct event_batch *b)
{
	static const uint32_t fields[COLUMNS] = {FIELD_MPI_CALL_START, FIELD_MPI_CALL_DURATION,
		FIELD_MPI_CALL_NAME, FIELD_MPI_CALL_CLASS, FIELD_MPI_CALL_COMM, FIELD_MPI_CALL_TAG,
		FIELD_MPI_CALL_PEER, FIELD_MPI_CALL_ROOT, FIELD_MPI_CALL_SIZE,
		FIELD_MPI_CALL_RECEIVED};
	int error = columns_decode(e, b, fields, COLUMNS);
	for (uint32_t i = 0; !error && i < b->count; i++) {
		int64_t *const *c = e->columns;
		const struct mpi_row row = {b->process, b->tid, (uint32_t)c[3][i],
			call_of(e, (uint32_t)c[2][i]), c[0][i],
			(int64_t)((uint64_t)c[0][i] + (uint64_t)c[1][i]), c[5][i], c[6][i], c[7][i],
			c[8][i] > c[9][i] ? c[8][i] : c[9][i]};
		error = row_take(e, &row, (uint64_t)c[4][i]);
	}
	return error;
}

/* Look for calls of MPI without an MPI_CALL event that sent or received something. */
static int functions_take(struct edges *e, const struct event_batch *b)
{
	static const uint32_t fields[] = {FIELD_FUNCTION_CALL_FUNCTION, FIELD_FUNCTION_CALL_RETURN};
	int error = columns_decode(e, b, fields, 2);
	for (uint32_t i = 0; !error && i < b->count; i++) {
		const enum call call = call_of(e, (uint32_t)e->columns[0][i]);
		const bool has_failed = call != CALL_OTHER && (uint32_t)e->columns[1][i];
		if (call == CALL_UNSEEN || has_failed)
			error = map_put(&e->disorderly, b->process, 0, 1);
	}
	return error;
}

static int calls_read(void *user, struct walk *walk, const struct event_batch *b)
{
	struct edges *e = user;
	(void)walk;
	if ((b->kind != KIND_MPI_CALL && b->kind != KIND_FUNCTION_CALL) ||
		!is_whole(e->contents, process_find(&e->contents->processes, b->process)))
		return 0;
	const int error = b->kind == KIND_MPI_CALL ? mpi_calls_take(e, b) : functions_take(e, b);
	return error == -EBADMSG ? 0 : error; /* reported by the first pass */
}

/* Remove rows of calls whose order turned out not to be certain. */
static void uncertain_remove(struct edges *e)
{
	uint32_t kept = e->first;
	for (uint32_t i = e->first; i < e->count; i++) {
		const struct edge *row = &e->rows[i];
		const struct edge_communicator *c = &e->communicators[row->communicator];
		if (!c->uncertain[row->kind] && !map_get(&e->disorderly, c->process, 0))
			e->rows[kept++] = *row;
	}
	e->count = kept;
}

int edges_read(struct edges *e, const struct report *r, struct contents *c, uint32_t host)
{
	const struct contents_visitor visitor = {.user = e, .batch = calls_read};
	e->contents = c;
	e->host = host;
	e->first = e->count;
	if (e->communicator_count)
		qsort(e->communicators, e->communicator_count, sizeof(*e->communicators),
			compare_communicators);
	const int error = contents_batches(r, &visitor);
	uncertain_remove(e);
	report_release(e);
	e->contents = NULL;
	return error;
}

static int compare_edges(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->host > y->host) - (x->host < y->host);
}

void edges_sort(struct edges *e)
{
	if (e->count)
		qsort(e->rows, e->count, sizeof(*e->rows), compare_edges);
}
