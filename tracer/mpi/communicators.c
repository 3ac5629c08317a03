/* SPDX-License-Identifier: Apache-2.0 */
/*
 * communicators.c - communicators that were recorded, and the rank of the process.
 *
 * A communicator is the same one in all its ranks if its members are, and if it is the same one of
 * those with these members: creation is collective. So no message is needed to number it.
 */
#include "tracer/mpi/mpi.h"

#include "common/clock.h"
#include "common/sys.h"
#include "tracer/core/bounded_lock.h"
#include "tracer/core/muted.h"
#include "tracer/core/names.h"

#define KNOWN_MAX 1024u /* of the table, which is never filled to more than half */
#define MEMBERS_MAX 4096u
#define FORGOTTEN UINT64_MAX /* in place of a handle: the place is free, the search goes on */

struct known_group {
	uint64_t members; /* hash */
	uint32_t count;   /* communicators with these members so far */
};

struct known_communicator {
	uint64_t comm; /* handle; 0 = free; stored last */
	struct mpi_place place;
};

struct communicators {
	struct known_communicator known[KNOWN_MAX]; /* by a hash of the handle */
	struct known_group groups[KNOWN_MAX];
	uint32_t known_count, group_count;
	uint32_t lock;  /* bounded: of additions */
	uint32_t epoch; /* names_epoch of the spool that has the rank and these communicators */
	int ranks[2][MEMBERS_MAX];
};
static struct communicators *table;

bool mpi_communicators_start(void)
{
	static void *place;
	table = sys_mmap_table(&place, sizeof(*table));
	return table != NULL;
}

void mpi_communicators_forked(void)
{
	if (table)
		table->lock = LOCK_FREE;
}

/* ---- the table ---- */

static uint32_t first_of(uint64_t handle)
{
	return (uint32_t)(handle * UINT64_C(0x9e3779b97f4a7c15) >> 40);
}

static struct known_communicator *entry_at(uint64_t comm, uint32_t i)
{
	return &table->known[(first_of(comm) + i) % KNOWN_MAX];
}

/* Return what is remembered of a communicator; NULL = it is not known. */
static const struct mpi_place *known_find(uint64_t comm)
{
	for (uint32_t i = 0; i < KNOWN_MAX; i++) {
		const struct known_communicator *k = entry_at(comm, i);
		uint64_t known = __atomic_load_n(&k->comm, __ATOMIC_ACQUIRE);
		if (known == comm)
			return &k->place;
		if (!known)
			break;
	}
	return NULL;
}

/* Return an entry for a communicator that is not known, under the lock; NULL = the table is full.
 */
static struct known_communicator *entry_find(uint64_t comm)
{
	for (uint32_t i = 0; i < KNOWN_MAX; i++) {
		struct known_communicator *k = entry_at(comm, i);
		if (k->comm == FORGOTTEN)
			return k;
		if (!k->comm)
			return table->known_count < KNOWN_MAX / 2 ? k : NULL;
	}
	return NULL;
}

static void entry_take(struct known_communicator *k, uint64_t comm, const struct mpi_place *place)
{
	table->known_count += !k->comm;
	k->place = *place;
	__atomic_store_n(&k->comm, comm, __ATOMIC_RELEASE);
}

void mpi_communicator_forget(uint64_t comm)
{
	for (uint32_t i = 0; table && comm && i < KNOWN_MAX; i++) {
		uint64_t *handle = &entry_at(comm, i)->comm, known = comm;
		if (!*handle ||
			__atomic_compare_exchange_n(handle, &known, FORGOTTEN, false,
				__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return;
	}
}

static void known_clear(void)
{
	for (uint32_t i = 0; i < KNOWN_MAX; i++)
		table->known[i].comm = 0;
	table->known_count = 0;
	table->epoch = names_epoch;
}

/* Return the number of communicators with these members before this one. */
static uint32_t ordinal_of(uint64_t members)
{
	uint32_t i = 0;
	while (i < table->group_count && table->groups[i].members != members)
		i++;
	if (i == KNOWN_MAX)
		return 0;
	table->groups[i].members = members;
	table->group_count += i == table->group_count;
	return table->groups[i].count++;
}

/* ---- what the implementation says ---- */

static uint64_t hash_of(const int *members, int count)
{
	uint64_t hash = UINT64_C(1469598103934665603);
	for (int i = 0; i < count; i++)
		hash = (hash ^ (uint32_t)members[i]) * UINT64_C(1099511628211);
	return hash;
}

/* Find the ranks in MPI_COMM_WORLD of the members. */
static void members_find(struct mpi_communicator *c)
{
	const struct mpi_library *m = &mpi_library;
	uint64_t world = 0, group = 0;
	if (c->size <= 0 || (uint32_t)c->size > MEMBERS_MAX || m->comm_group(m->world, &world))
		return;
	for (int i = 0; i < c->size; i++)
		table->ranks[0][i] = i;
	if (!m->comm_group(c->comm, &group)) {
		if (!m->translate(group, c->size, table->ranks[0], world, table->ranks[1])) {
			c->group_root = table->ranks[1][0];
			c->members = hash_of(table->ranks[1], c->size);
		}
		m->group_free(&group);
	}
	m->group_free(&world);
}

static bool communicator_ask(struct mpi_communicator *c, struct mpi_place *ret_place)
{
	const struct mpi_library *m = &mpi_library;
	int rank = -1, is_inter = 1;
	if (m->comm_size(c->comm, &ret_place->size) || m->comm_rank(c->comm, &ret_place->rank) ||
		m->comm_rank(m->world, &rank))
		return false;
	ret_place->is_inter = m->comm_test_inter(c->comm, &is_inter) || is_inter;
	c->size = ret_place->size;
	c->local_rank = ret_place->rank;
	c->rank = rank;
	if (!ret_place->is_inter)
		members_find(c);
	c->ordinal = c->members ? ordinal_of(c->members) : 0;
	return true;
}

/* Return what is to be recorded of a communicator that is not known; false = nothing. */
static bool communicator_add(struct mpi_communicator *c)
{
	struct muted muted;
	bool added = false;
	if (!muted_enter(&muted))
		return false;
	if (bounded_lock_take(&table->lock)) {
		if (table->epoch != names_epoch)
			known_clear();
		struct known_communicator *k = known_find(c->comm) ? NULL : entry_find(c->comm);
		struct mpi_place place = {.rank = -1};
		if (k && communicator_ask(c, &place)) {
			entry_take(k, c->comm, &place);
			added = true;
		}
		bounded_lock_give(&table->lock);
	}
	muted_leave(&muted);
	return added;
}

static void record(uint64_t comm, uint64_t parent, uint64_t tick)
{
	struct mpi_communicator c = {
		.comm = comm, .parent = parent, .rank = -1, .local_rank = -1, .group_root = -1};
	if (!communicator_add(&c))
		return;
	if (comm == mpi_library.world)
		mpi_record(tick, REC_MPI_RANK, (uint64_t)(uint32_t)c.rank << 32 | (uint32_t)c.size,
			mpi_library.implementation, NULL, 0);
	mpi_record(tick, REC_MPI_COMMUNICATOR, 0, 0, &c, sizeof(c));
}

/* Return false before MPI_Init() (a program with sessions only never calls it) and after
 * MPI_Finalize(): there is no MPI_COMM_WORLD to ask. */
static bool may_ask(void)
{
	int is_initialized = 0, is_finalized = 1;
	return !mpi_library.initialized(&is_initialized) && is_initialized &&
		!mpi_library.finalized(&is_finalized) && !is_finalized;
}

static __attribute__((noinline, cold)) const struct mpi_place *note_first(
	uint64_t comm, uint64_t parent, uint64_t tick)
{
	if (table->epoch != names_epoch || !known_find(mpi_library.world)) {
		if (!may_ask())
			return NULL;
		record(mpi_library.world, 0, tick);
	}
	if (table->epoch != names_epoch || !known_find(mpi_library.world))
		return NULL;
	if (!known_find(comm))
		record(comm, parent, tick);
	return known_find(comm);
}

const struct mpi_place *mpi_communicator_note(uint64_t comm, uint64_t parent, uint64_t tick)
{
	if (!table || !comm || comm == mpi_library.null)
		return NULL;
	/* Another epoch: what is known is in the spool of a forked child's parent. */
	const struct mpi_place *place = table->epoch == names_epoch ? known_find(comm) : NULL;
	return __builtin_expect(place != NULL, 1) ? place : note_first(comm, parent, tick);
}
