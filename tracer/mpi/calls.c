/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - the hooks: what is recorded of calls of MPI.
 */
#include "tracer/mpi/mpi.h"

#include <stddef.h>

#include "common/schema/prototype.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/core/diagnostic.h"
#include "tracer/core/names.h"
#include "tracer/core/state.h"
#include "tracer/mpi/hooks.h"

/* ---- what the functions and their arguments are ---- */

enum mpi_rule {
#define MPI_RULE(id, text) RULE_##id,
#include "common/schema/mpi_calls.def"
};

enum hook_class {
	CLASS_P2P = MPI_P2P,
	CLASS_COLLECTIVE,
	CLASS_WAIT,
	CLASS_INIT,
	CLASS_OTHER,
	CLASS_ONE_SIDED,
	CLASS_COMM,
	CLASS_TYPE,
	CLASS_FREE
};

static const struct {
	const char *name;
	enum hook_class class;
	enum mpi_rule rule;
} rows[] = {
#define MPI_HOOK(name, class, rule) {#name, CLASS_##class, RULE_##rule},
#include "common/schema/mpi_calls.def"
};
#define HOOKS (sizeof(rows) / sizeof(rows[0]))

/* Arguments by the names that they have in libraries/mpi.def. */
enum mpi_role {
	ROLE_BUFFER, /* that is sent */
	ROLE_RECEIVE_BUFFER,
	ROLE_COUNT,
	ROLE_COUNTS,
	ROLE_TYPE,
	ROLE_RECEIVE_COUNT,
	ROLE_RECEIVE_COUNTS,
	ROLE_RECEIVE_TYPE,
	ROLE_PEER,
	ROLE_TAG,
	ROLE_ROOT,
	ROLE_COMM,
	ROLE_NEW_COMM,  /* address */
	ROLE_REQUEST,   /* address */
	ROLE_REQUESTS,  /* address of `count`, or of one */
	ROLE_FLAG,      /* address */
	ROLE_INDEX,     /* address: which of the requests has completed; negative = none */
	ROLE_COMPLETED, /* address: how many have; negative = there are none */
	ROLE_INDICES,   /* address of their indices */
	ROLE_STATUS,    /* address */
	ROLES
};
static const char *const role_names[ROLES] = {"buffer", "receive_buffer", "count", "counts", "type",
	"receive_count", "receive_counts", "receive_type", "peer", "tag", "root", "comm",
	"new_comm", "request", "requests", "flag", "index", "completed", "indices", "status"};

#define REQUESTS_MAX 4096u /* of one call; rows of further ones are counted as dropped */
#define RANKS_MAX 65536    /* of a communicator whose counts are added */

struct hook_state {
	struct name *name;    /* NULL until the first call */
	uint8_t place[ROLES]; /* 1 + index among the words that are kept; 0 = it has none */
	uint8_t status;       /* index of the argument */
	uint8_t words;        /* that are kept */
	bool is_read;
};

struct state {
	struct hook_state hooks[1 + HOOKS];
	uint64_t *requests[SPOOL_LANES_MAX]; /* of each lane; NULL = none */
};
static struct state *state;

static uint32_t role_find(const struct prototype_word *word)
{
	uint32_t role = 0;
	for (; role < ROLES; role++) {
		const char *name = role_names[role];
		uint32_t i = 0;
		while (i < word->name_bytes && name[i] == word->name[i])
			i++;
		if (i == word->name_bytes && !name[i])
			break;
	}
	return role;
}

static void hook_read(uint32_t hook)
{
	struct hook_state *h = &state->hooks[hook];
	const struct library_call *call = library_call_find(LIBRARY_mpi, rows[hook - 1].name);
	const char *text = call ? call->arguments : NULL;
	struct prototype p = {0};
	if (h->is_read || (text && !prototype_read(text, text + text_length(text), &p)))
		return;
	for (uint32_t i = 0; i < p.count; i++) {
		uint32_t role = role_find(&p.words[i]);
		if (role < ROLES)
			h->place[role] = (uint8_t)(i + 1);
		if (role == ROLE_STATUS)
			h->status = p.words[i].index;
	}
	h->words = (uint8_t)p.count;
	h->is_read = true;
}

static uint32_t hook_find(const char *name)
{
	name += name[0] == 'P';
	for (uint32_t i = 0; state && i < HOOKS; i++)
		if (text_equal(name, rows[i].name)) {
			hook_read(i + 1);
			return i + 1;
		}
	return 0;
}

/* A call that has ended, and its arguments. */
struct ended {
	const uint64_t *kept;
	uint64_t *scratch;
	uint64_t begin_tick, end_tick; /* end_tick 0: its row is part of the call's record */
	uint64_t added;                /* what end() returns */
	const struct hook_state *hook;
	enum mpi_rule rule;
	struct mpi_call out;
};

static bool has(const struct ended *e, enum mpi_role role)
{
	return e->hook->place[role];
}

/* Return the argument; 0 = it has none. */
static uint64_t word(const struct ended *e, enum mpi_role role)
{
	return has(e, role) ? e->kept[e->hook->place[role] - 1] : 0;
}

static int32_t number(const struct ended *e, enum mpi_role role)
{
	return (int32_t)(uint32_t)word(e, role);
}

static uint64_t handle(const struct ended *e, enum mpi_role role)
{
	return mpi_handle(word(e, role));
}

/* ---- records ---- */

static __attribute__((noinline, cold)) uint32_t name_first(uint32_t hook)
{
	struct thread *t = &thread_self;
	const char *text = rows[hook - 1].name;
	if (!thread_try_enter(t))
		return 0;
	struct name *name =
		names_intern(false, NULL, text, (uint32_t)text_length(text), false, NULL);
	uint32_t ref = names_ref(name);
	__atomic_store_n(&state->hooks[hook].name, name, __ATOMIC_RELEASE);
	thread_give(t);
	return ref;
}

static uint32_t name_of(uint32_t hook)
{
	const struct name *name = __atomic_load_n(&state->hooks[hook].name, __ATOMIC_ACQUIRE);
	bool is_written = name && __atomic_load_n(&name->epoch, __ATOMIC_ACQUIRE) == names_epoch;
	return __builtin_expect(is_written, 1) ? name->ref : name_first(hook);
}

/* Clear all but the name. */
static inline void out_clear(struct mpi_call *out)
{
	out->comm = out->request = 0;
	out->size = out->received = -1;
	out->tag = out->peer = out->root = -1;
}

static void call_record(const struct ended *e, enum mpi_class class)
{
	mpi_call_record(e->begin_tick, e->end_tick - e->begin_tick, class, &e->out);
}

static uint64_t pair(uint32_t low, int32_t high)
{
	return (uint64_t)(uint32_t)high << 32 | low;
}

/* Record the only row of a call: as part of the call's own record if it has one. */
static void call_end(struct ended *e, enum mpi_class class)
{
	const struct mpi_call *out = &e->out;
	uint64_t *to = e->scratch;
	if (e->end_tick) {
		call_record(e, class);
		return;
	}
	/* In whole words, which are then copied without waiting for narrower stores. */
	_Static_assert(sizeof(*out) == 48 && offsetof(struct mpi_call, name) == 32, "its layout");
	to[0] = out->comm;
	to[1] = out->request;
	to[2] = (uint64_t)out->size;
	to[3] = (uint64_t)out->received;
	to[4] = pair(out->name, out->tag);
	to[5] = pair((uint32_t)out->peer, out->root);
	e->added = CALL_ADDED(REC_MPI_CALL, class, 6);
}

/* ---- sizes ---- */

/* Return the bytes of one item; -1 = unknown. */
static int64_t item_bytes(const struct ended *e, enum mpi_role role)
{
	uint64_t type = has(e, role) ? handle(e, role) : 0;
	return type ? mpi_type_bytes(type) : -1;
}

static int64_t sum(const struct ended *e, enum mpi_role counts, int ranks)
{
	const int *values = (const int *)(uintptr_t)word(e, counts);
	int64_t all = 0;
	for (int i = 0; values && i < ranks && ranks <= RANKS_MAX; i++)
		all += values[i];
	return all;
}

/* Return the bytes that a collective moves of `counts`, or `ranks` times those of `count`. */
static int64_t total(const struct ended *e, enum mpi_role count, enum mpi_role counts,
	enum mpi_role type, int ranks, int times)
{
	int64_t bytes = item_bytes(e, type);
	if (bytes < 0)
		return -1;
	return bytes * (has(e, counts) ? sum(e, counts, ranks) : (int64_t)number(e, count) * times);
}

static int64_t sent(const struct ended *e, int ranks, int times)
{
	return total(e, ROLE_COUNT, ROLE_COUNTS, ROLE_TYPE, ranks, times);
}

/* The receive side has a count and a type of its own, or those of the send side. */
static int64_t received(const struct ended *e, int ranks, int times)
{
	return has(e, ROLE_RECEIVE_TYPE)
		? total(e, ROLE_RECEIVE_COUNT, ROLE_RECEIVE_COUNTS, ROLE_RECEIVE_TYPE, ranks, times)
		: sent(e, ranks, times);
}

/* Arguments that the standard ignores are not looked at: those of a side that is in place. */
static bool is_in_place(const struct ended *e, enum mpi_role buffer)
{
	return has(e, buffer) && word(e, buffer) == mpi_library.in_place;
}

static void sizes_set(struct ended *e, int ranks, int rank)
{
	bool is_root = rank == e->out.root, in_place = is_in_place(e, ROLE_BUFFER);
	int others = in_place ? ranks - 1 : ranks;
	switch (e->rule) {
	case RULE_BCAST:
		e->out.size = is_root ? sent(e, ranks, ranks) : -1;
		e->out.received = is_root ? -1 : received(e, ranks, 1);
		break;
	case RULE_REDUCE:
	case RULE_GATHER:
		e->out.size = in_place ? -1 : sent(e, ranks, 1);
		e->out.received = is_root ? received(e, ranks, ranks) : -1;
		break;
	case RULE_SCATTER:
		e->out.size = is_root ? sent(e, ranks, ranks) : -1;
		e->out.received = is_in_place(e, ROLE_RECEIVE_BUFFER) ? -1 : received(e, ranks, 1);
		break;
	case RULE_ALL:
		e->out.received = received(e, ranks, others);
		e->out.size = in_place ? e->out.received : sent(e, ranks, ranks);
		break;
	case RULE_SCAN:
		e->out.size = sent(e, ranks, ranks - rank);
		e->out.received = received(e, ranks, rank + 1);
		break;
	default:
		break;
	}
}

/* ---- after a call ---- */

static void point_to_point(struct ended *e)
{
	const struct mpi_library *m = &mpi_library;
	int64_t bytes = item_bytes(e, ROLE_TYPE);
	int32_t peer = number(e, ROLE_PEER);
	const int32_t *status = (const int32_t *)(uintptr_t)word(e, ROLE_STATUS);
	if ((uintptr_t)status <= 1) /* ignored: see before() */
		status = (const int32_t *)(const void *)e->scratch;
	int32_t tag = number(e, ROLE_TAG);
	if (has(e, ROLE_STATUS)) {
		peer = status[m->status_source];
		tag = status[m->status_tag];
	}
	e->out.tag = tag == m->any_tag ? -1 : tag;
	e->out.peer = peer == m->any_source ? -1 : peer;
	e->out.size = bytes < 0 ? -1 : bytes * number(e, ROLE_COUNT);
	e->out.request = mpi_handle_at(word(e, ROLE_REQUEST));
	if (peer != m->proc_null) {
		call_end(e, MPI_P2P);
		return;
	}
	out_clear(&e->out);
	call_end(e, MPI_OTHER);
}

/* A message to or from the memory of a rank that makes no call. */
static void one_sided(struct ended *e)
{
	int64_t bytes = item_bytes(e, ROLE_TYPE);
	int32_t peer = number(e, ROLE_PEER);
	e->out.peer = peer == mpi_library.proc_null ? -1 : peer;
	e->out.size = bytes < 0 ? -1 : bytes * (has(e, ROLE_COUNT) ? number(e, ROLE_COUNT) : 1);
	e->out.request = mpi_handle_at(word(e, ROLE_REQUEST));
	call_end(e, MPI_OTHER);
}

static bool place_ask(uint64_t comm, struct mpi_place *ret_place)
{
	int is_inter = 1;
	if (mpi_library.comm_test_inter(comm, &is_inter) ||
		mpi_library.comm_size(comm, &ret_place->size) ||
		mpi_library.comm_rank(comm, &ret_place->rank))
		return false;
	ret_place->is_inter = is_inter;
	return true;
}

static void collective(struct ended *e, const struct mpi_place *place)
{
	struct mpi_place asked;
	e->out.root = has(e, ROLE_ROOT) ? number(e, ROLE_ROOT) : -1;
	if (e->rule != RULE_NONE && !place && place_ask(e->out.comm, &asked))
		place = &asked;
	/* Between two groups, counts are of the other one. */
	if (e->rule != RULE_NONE && place && !place->is_inter)
		sizes_set(e, place->size, place->rank);
	e->out.request = mpi_handle_at(word(e, ROLE_REQUEST));
	call_end(e, MPI_COLLECTIVE);
}

static uint32_t request_count(const struct ended *e)
{
	int32_t count = has(e, ROLE_COUNT) ? number(e, ROLE_COUNT) : 1;
	return count > 0 ? (uint32_t)count : 0;
}

/* Return where the requests of the thread's call are kept; NULL = no memory, or it has no lane. */
static uint64_t *requests_of_thread(void)
{
	const struct lane *lane = thread_self.lane;
	if (!lane)
		return NULL;
	uint64_t **requests = &state->requests[lane->index % SPOOL_LANES_MAX];
	if (!*requests)
		*requests = sys_mmap_beyond_data(REQUESTS_MAX * sizeof(**requests));
	return *requests;
}

/* Keep the requests of a call that begins: when it ends, the program's are those of calls that have
 * ended. */
static void requests_keep(const struct ended *e)
{
	uint64_t *requests = requests_of_thread();
	uint32_t bytes = mpi_handle_bytes();
	uint64_t array = word(e, ROLE_REQUESTS);
	for (uint32_t i = 0; requests && array && i < request_count(e) && i < REQUESTS_MAX; i++)
		requests[i] = mpi_handle_at(array + i * bytes);
}

static const int *integers(const struct ended *e, enum mpi_role role)
{
	return (const int *)(uintptr_t)word(e, role);
}

/* Find which requests have completed. Return their number; *ret_indices: which, NULL = the first
 * ones, in order. */
static uint32_t completed_find(const struct ended *e, const int **ret_indices)
{
	const int *flag = integers(e, ROLE_FLAG), *index = integers(e, ROLE_INDEX),
		  *completed = integers(e, ROLE_COMPLETED);
	*ret_indices = NULL;
	if (has(e, ROLE_FLAG) && (!flag || !*flag))
		return 0;
	if (has(e, ROLE_INDEX)) {
		*ret_indices = index;
		return index && *index >= 0;
	}
	if (!has(e, ROLE_COMPLETED))
		return request_count(e);
	*ret_indices = integers(e, ROLE_INDICES);
	return *ret_indices && completed && *completed > 0 ? (uint32_t)*completed : 0;
}

static void waited(struct ended *e)
{
	const int *indices = NULL;
	const uint64_t *requests = requests_of_thread();
	const uint32_t all = request_count(e), count = completed_find(e, &indices);
	for (uint32_t i = 0; requests && i < count && i < all; i++) {
		uint32_t at = indices ? (uint32_t)indices[i] : i;
		if (at >= REQUESTS_MAX || at >= all) {
			session_count_drop(DROP_NO_LANE);
			continue;
		}
		e->out.request = requests[at];
		call_record(e, MPI_WAIT);
	}
}

static void ended_record(struct ended *e, enum hook_class class)
{
	uint64_t tick = e->begin_tick;
	e->out.comm = has(e, ROLE_COMM) ? handle(e, ROLE_COMM) : 0;
	switch (class) {
	case CLASS_P2P:
		mpi_communicator_note(e->out.comm, 0, tick);
		point_to_point(e);
		break;
	case CLASS_COLLECTIVE:
		collective(e, mpi_communicator_note(e->out.comm, 0, tick));
		break;
	case CLASS_WAIT:
		waited(e);
		break;
	case CLASS_COMM:
		mpi_communicator_forget(mpi_handle_at(word(e, ROLE_NEW_COMM)));
		if (!has(e, ROLE_REQUEST)) /* otherwise it may not be used yet */
			mpi_communicator_note(
				mpi_handle_at(word(e, ROLE_NEW_COMM)), e->out.comm, tick);
		break;
	case CLASS_ONE_SIDED:
		one_sided(e);
		break;
	case CLASS_INIT:
		mpi_communicator_note(mpi_library.world, 0, tick);
		call_end(e, MPI_OTHER);
		break;
	case CLASS_OTHER:
		e->out.request = mpi_handle_at(word(e, ROLE_REQUEST));
		call_end(e, MPI_OTHER);
		break;
	case CLASS_TYPE:
	case CLASS_FREE:
		break;
	}
}

/* Fill what is common to all calls. By member, since an initializer would clear the structure with
 * an instruction that takes longer than all of this. */
static inline __attribute__((always_inline)) void ended_set(
	struct ended *e, uint32_t hook, const uint64_t *kept)
{
	e->kept = kept;
	e->hook = &state->hooks[hook];
	e->rule = rows[hook - 1].rule;
	e->added = 0;
	e->out.name = name_of(hook);
	out_clear(&e->out);
}

/* ---- the hooks ---- */

/* Return true for a hook that does something before its calls. */
static bool has_before(uint32_t hook)
{
	enum hook_class class = rows[hook - 1].class;
	return class == CLASS_FREE || class == CLASS_TYPE || class == CLASS_WAIT ||
		(class == CLASS_P2P && state->hooks[hook].place[ROLE_STATUS]);
}

static void found(uint32_t hook, uint64_t real)
{
	(void)hook;
	mpi_library_find(real);
}

static void before(uint32_t hook, struct hooked_call *call)
{
	const struct hook_state *h = &state->hooks[hook];
	struct ended e = {.kept = call->kept, .hook = h};
	if (!mpi_is_known())
		return;
	if (rows[hook - 1].class == CLASS_FREE) {
		mpi_communicator_forget(mpi_handle_at(call->words[0]));
		mpi_type_forget(mpi_handle_at(call->words[0]));
	}
	if (rows[hook - 1].class == CLASS_TYPE)
		call->scratch[0] = call->words[0];
	if (!call->is_recorded || !h->is_read || call->kept_count < h->words)
		return;
	if (rows[hook - 1].class == CLASS_WAIT && has(&e, ROLE_REQUESTS))
		requests_keep(&e);
	/* A receive that ignores the status (0 or 1) gets one of ours: the sender and the tag. */
	if (rows[hook - 1].class == CLASS_P2P && has(&e, ROLE_STATUS) &&
		word(&e, ROLE_STATUS) <= 1 && h->status < call->count)
		*call_argument(call, h->status) = (uint64_t)(uintptr_t)call->scratch;
}

/* Return true for a call that has one row. */
static bool has_one_row(enum hook_class class)
{
	return class == CLASS_P2P || class == CLASS_COLLECTIVE || class == CLASS_ONE_SIDED ||
		class == CLASS_OTHER;
}

static uint64_t end(uint32_t hook, const struct ended_call *call)
{
	enum hook_class class = rows[hook - 1].class;
	if (!has_one_row(class))
		return CALL_AFTER;
	if ((uint32_t)call->result || !mpi_is_known() || !state->hooks[hook].is_read)
		return 0;
	if (call->kept_count < state->hooks[hook].words)
		return CALL_AFTER;
	struct ended e;
	ended_set(&e, hook, call->kept);
	e.scratch = call->scratch;
	e.begin_tick = call->begin_tick;
	e.end_tick = 0;
	ended_record(&e, class);
	return e.added;
}

static void after(uint32_t hook, struct hooked_call *call)
{
	if ((uint32_t)call->words[0] || !mpi_is_known())
		return;
	if (rows[hook - 1].class == CLASS_TYPE)
		mpi_type_note(mpi_handle_at(call->scratch[0]));
	if (!call->is_recorded || !state->hooks[hook].is_read)
		return;
	if (call->kept_count < state->hooks[hook].words) { /* its arguments could not be read */
		session_count_drop(DROP_NO_LANE);
		return;
	}
	struct ended e;
	ended_set(&e, hook, call->kept);
	e.scratch = call->scratch;
	e.begin_tick = call->begin_tick;
	e.end_tick = call->end_tick;
	ended_record(&e, rows[hook - 1].class);
}

void mpi_start(void)
{
	static const struct call_hooks hooks = {.row = LIBRARY_mpi,
		.find = hook_find,
		.found = found,
		.has_before = has_before,
		.before = before,
		.after = after,
		.end = end,
		.is_plain = true};
	static void *place;
	if (!session.config.mpi)
		return;
	state = sys_mmap_table(&place, sizeof(*state));
	if (state && mpi_types_start() && mpi_communicators_start())
		call_hooks[CALL_HOOKS_MPI] = &hooks;
	else
		diagnostic_line("no memory for the messages of MPI; only its calls are recorded");
}

void mpi_forked(void)
{
	mpi_communicators_forked();
}
