/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.c - what NCCL calls: events of communicators, forwarded to the user's plug-in, and their
 * rows.
 */
#include "tracer/nccl/nccl.h"

#include "common/clock.h"
#include "tracer/core/plain_row.h"
#include "tracer/core/state.h"
#include "tracer/nccl/contexts.h"
#include "tracer/nccl/old_events.h"
#include "tracer/session/entry.h"
#include "tracer/session/fork.h"

#define BIT(kind) (1 << (kind))

const struct nccl_plugin *nccl_user[NCCL_VERSION_LAST + 1];

/* The user's plug-in that has begun events without an entry here. */
static const struct nccl_plugin *plugin_of_lost;

static const struct nccl_plugin *lost_plugin(void)
{
	return __atomic_load_n(&plugin_of_lost, __ATOMIC_ACQUIRE);
}

static const char *const names[NCCL_KINDS] = {
#define NCCL_KIND(bit, id, name) [bit] = name,
#include "common/schema/nccl.def"
};

/* Return the events that are recorded. Steps of the network are many. */
static int mask_of_ours(void)
{
	int mask = BIT(NCCL_COLL) | BIT(NCCL_P2P) | BIT(NCCL_PROXY_OP) | BIT(NCCL_KERNEL_CHANNEL);
	return session.config.nccl_steps ? mask | BIT(NCCL_PROXY_STEP) : mask;
}

/* The user's plug-in may change its mask at any time. */
static int mask_of_theirs(const struct nccl_context *c)
{
	return c->plugin ? __atomic_load_n(&c->their_mask, __ATOMIC_RELAXED) : 0;
}

static void mask_set(const struct nccl_context *c)
{
	int mask = mask_of_ours() | mask_of_theirs(c);
	if (__atomic_load_n(c->mask, __ATOMIC_RELAXED) != mask)
		__atomic_store_n(c->mask, mask, __ATOMIC_RELAXED);
}

/* ---- communicators ---- */

static void communicator_record(
	uint64_t tick, const struct nccl_context *c, const char *name, int nodes, int ranks)
{
	struct thread *t = gate_is_open() ? event_enter() : NULL;
	struct plain_row r = {.names = 0};
	if (!t)
		return;
	plain_set_text(&r, COLUMN_NCCL_COMMUNICATOR_NAME, name);
	plain_set(&r, COLUMN_NCCL_COMMUNICATOR_COMM, c->comm);
	plain_set_signed(&r, COLUMN_NCCL_COMMUNICATOR_RANK, c->rank);
	plain_set(&r, COLUMN_NCCL_COMMUNICATOR_RANKS, (uint64_t)ranks);
	plain_set(&r, COLUMN_NCCL_COMMUNICATOR_NODES, (uint64_t)nodes);
	plain_set(&r, COLUMN_NCCL_COMMUNICATOR_VERSION, (uint64_t)c->version);
	plain_put(t, PLAIN_NCCL_COMMUNICATOR, tick, c->plugin ? clock_ticks() - tick : 0, &r);
	thread_leave(t);
}

/* What a version of the interface says about a new communicator. */
struct communicator {
	uint64_t comm;
	const char *name;
	int nodes, ranks, rank, version;
	nccl_log *log;
};

/* Return the version of the user's plug-in that NCCL would have used for lack of ours, among those
 * that its events can be given to: the layouts of the old ones differ. */
static int their_version(int version)
{
	int least = version < NCCL_VERSION_NEW ? version : NCCL_VERSION_NEW;
	while (version > least && !nccl_user[version])
		version--;
	return version;
}

static void theirs_init(struct nccl_context *c, const struct communicator *n)
{
	int version = their_version(n->version), result;
	const struct nccl_plugin *p = nccl_user[version];
	c->plugin = NULL;
	c->their_version = version;
	c->their_mask = 0;
	if (!p)
		return;
	result = version < NCCL_VERSION_NEW ? p->init_1(&c->theirs, &c->their_mask)
		: version == 4 ? p->init_4(&c->theirs, &c->their_mask, n->name, n->comm, n->nodes,
					 n->ranks, n->rank, n->log)
			       : p->init_5(&c->theirs, n->comm, &c->their_mask, n->name, n->nodes,
					 n->ranks, n->rank, n->log);
	c->plugin = result ? NULL : p;
}

static int context_new(void **ret_context, int *mask, const struct communicator *n)
{
	uint64_t tick = clock_ticks();
	struct nccl_context *c = nccl_context_take();
	*ret_context = c; /* *mask is one for all communicators */
	if (!c) {
		session_count_drop(DROP_NO_LANE);
		return 0;
	}
	c->comm = n->comm;
	c->rank = n->rank;
	c->version = n->version;
	c->mask = mask;
	theirs_init(c, n);
	mask_set(c);
	if (n->version >= NCCL_VERSION_NEW)
		communicator_record(tick, c, n->name, n->nodes, n->ranks);
	return 0;
}

/* What the old versions do not say is in their events. */
static int context_old(void **ret_context, int *mask, int version)
{
	return context_new(
		ret_context, mask, &(struct communicator){.rank = -1, .version = version});
}

int nccl_context_1(void **ret_context, int *mask)
{
	return context_old(ret_context, mask, 1);
}

int nccl_context_2(void **ret_context, int *mask)
{
	return context_old(ret_context, mask, 2);
}

int nccl_context_3(void **ret_context, int *mask)
{
	return context_old(ret_context, mask, 3);
}

int nccl_context_4(void **ret_context, int *mask, const char *name, uint64_t comm, int nodes,
	int ranks, int rank, nccl_log *log)
{
	return context_new(
		ret_context, mask, &(struct communicator){comm, name, nodes, ranks, rank, 4, log});
}

int nccl_context_5(void **ret_context, uint64_t comm, int *mask, const char *name, int nodes,
	int ranks, int rank, nccl_log *log)
{
	return context_new(
		ret_context, mask, &(struct communicator){comm, name, nodes, ranks, rank, 5, log});
}

int nccl_context_6(void **ret_context, uint64_t comm, int *mask, const char *name, int nodes,
	int ranks, int rank, nccl_log *log)
{
	return context_new(
		ret_context, mask, &(struct communicator){comm, name, nodes, ranks, rank, 6, log});
}

int nccl_context_7(void **ret_context, uint64_t comm, int *mask, const char *name, int nodes,
	int ranks, int rank, nccl_log *log)
{
	return context_new(
		ret_context, mask, &(struct communicator){comm, name, nodes, ranks, rank, 7, log});
}

int nccl_finalize(void *context)
{
	struct nccl_context *c = context;
	int result = 0;
	if (!c)
		return 0;
	if (c->plugin)
		result = c->plugin->finalize(c->theirs);
	__atomic_store_n(&c->is_used, 0, __ATOMIC_RELEASE);
	return result;
}

/* ---- events that begin ---- */

static void details_set(struct nccl_open *e, const struct nccl_event *d)
{
	const char *name = e->kind < NCCL_KINDS ? names[e->kind] : NULL;
	switch (e->kind) {
	case NCCL_COLL:
		name = d->coll.function;
		e->sequence = d->coll.sequence;
		e->count = d->coll.count;
		e->peer = d->coll.root;
		e->type = names_ref_of(d->coll.type);
		e->channels = d->coll.channels;
		e->algorithm = names_ref_of(d->coll.algorithm);
		e->protocol = names_ref_of(d->coll.protocol);
		break;
	case NCCL_P2P:
		name = d->p2p.function;
		e->count = d->p2p.count;
		e->peer = d->p2p.peer;
		e->type = names_ref_of(d->p2p.type);
		e->channels = d->p2p.channels;
		break;
	case NCCL_PROXY_OP:
		name = d->proxy.is_send ? "Network Send" : "Network Receive";
		e->peer = d->proxy.peer;
		e->channels = d->proxy.channel;
		e->steps = (uint32_t)d->proxy.steps;
		e->bytes = (uint64_t)(int64_t)d->proxy.chunk_bytes;
		break;
	case NCCL_PROXY_STEP:
		e->steps = (uint32_t)d->step.step;
		break;
	case NCCL_KERNEL_CHANNEL:
		e->channels = d->kernel.channel;
		e->device_start = d->kernel.timer;
		break;
	default:
		break;
	}
	e->name = names_ref_of(name);
}

/* Take what is recorded of an event at its begin. */
static void begin(struct nccl_open *e, const struct nccl_event *d, const struct nccl_open *parent)
{
	struct thread *t = mask_of_ours() & BIT(e->kind) && gate_is_open() ? event_enter() : NULL;
	if (!t)
		return;
	e->parent = parent ? parent->number : 0;
	e->sequence = parent ? parent->sequence : 0;
	details_set(e, d);
	e->tick = clock_ticks();
	thread_leave(t);
}

static void begin_old(const struct nccl_context *c, struct nccl_open *e,
	const struct nccl_event *event, const struct nccl_open *parent)
{
	struct nccl_event d;
	nccl_old_event(c->version, e->kind, event, &d);
	e->comm = nccl_old_comm(e->kind, event);
	if (!e->comm && parent)
		e->comm = parent->comm;
	e->rank = event->rank;
	begin(e, &d, parent);
}

/* Return whether the parent is in another process, whose handle it is. */
static bool is_foreign(uint8_t kind, const struct nccl_event *d)
{
	return kind == NCCL_PROXY_OP && d->proxy.pid != (int32_t)session.pid;
}

/* Return the handle of the user's plug-in for a parent. A parent in another process is none of
 * ours; nor of theirs, as they know by its pid. */
static void *theirs_of(void *parent, bool foreign)
{
	const struct nccl_open *e = foreign ? NULL : nccl_event_of(parent);
	return foreign || nccl_is_theirs(parent) ? parent : e ? e->theirs : NULL;
}

/* Call the user's plug-in with its own handles in place of ours. Version 4 knows the group as the
 * parent of collectives and messages. */
static void theirs_start(struct nccl_context *c, struct nccl_open *e, struct nccl_event *d)
{
	if (e->kind >= 31 || !(mask_of_theirs(c) & BIT(e->kind)))
		return;
	void *const parent = d->parent;
	void **const group = c->version < 5 ? NULL
		: e->kind == NCCL_COLL      ? &d->coll.group
		: e->kind == NCCL_P2P       ? &d->p2p.group
					    : NULL;
	void *const their_group = group ? *group : NULL;
	d->parent = theirs_of(parent, is_foreign(e->kind, d));
	if (group)
		*group = theirs_of(their_group, false);
	if (group && c->their_version < 5)
		d->parent = *group;
	c->plugin->start(c->theirs, &e->theirs, d);
	d->parent = parent;
	if (group)
		*group = their_group;
}

static uint8_t kind_of(const struct nccl_context *c, const struct nccl_event *d)
{
	uint64_t type = c->version < 5 ? d->type & 0xff : d->type;
	return type ? (uint8_t)__builtin_ctzll(type) : 63;
}

/* Begin an event that has no entry: it is the user's plug-in's alone. */
static void *start_lost(struct nccl_context *c, struct nccl_event *event)
{
	struct nccl_open lost = {.kind = kind_of(c, event)};
	session_count_drop(DROP_NO_LANE);
	theirs_start(c, &lost, event);
	if (!lost.theirs)
		return NULL;
	if (!nccl_is_theirs(lost.theirs)) { /* it looks like ours */
		c->plugin->stop(lost.theirs);
		return NULL;
	}
	__atomic_store_n(&plugin_of_lost, c->plugin, __ATOMIC_RELEASE);
	return lost.theirs;
}

int nccl_start(void *context, void **ret_handle, struct nccl_event *event)
{
	struct nccl_context *c = context;
	uint64_t number = 0;
	struct nccl_open *e = c ? nccl_event_take(&number) : NULL;
	*ret_handle = NULL;
	if (!c)
		session_count_drop(DROP_NO_LANE);
	else if (!e)
		*ret_handle = start_lost(c, event);
	if (!e)
		return 0;
	*e = (struct nccl_open){.plugin = c->plugin,
		.comm = c->comm,
		.rank = c->rank,
		.is_open = 1,
		.peer = -1,
		.kind = kind_of(c, event)};
	const struct nccl_open *parent =
		is_foreign(e->kind, event) ? NULL : nccl_event_of(event->parent);
	if (c->version < NCCL_VERSION_NEW)
		begin_old(c, e, event, parent);
	else
		begin(e, event, parent);
	theirs_start(c, e, event);
	__atomic_store_n(&e->number, number, __ATOMIC_RELEASE);
	*ret_handle = nccl_handle(number);
	mask_set(c);
	return 0;
}

/* ---- events that go on, and end ---- */

int nccl_state(void *handle, int state, void *arguments)
{
	struct nccl_open *e = nccl_event_of(handle);
	if (nccl_is_theirs(handle))
		return lost_plugin()->state(handle, state, arguments);
	if (!e)
		return 0;
	if (arguments && e->kind == NCCL_KERNEL_CHANNEL && state == NCCL_STATE_KERNEL_STOP)
		e->device_end = *(const uint64_t *)arguments;
	if (arguments && e->kind == NCCL_PROXY_STEP)
		e->bytes = *(const size_t *)arguments;
	return e->theirs ? e->plugin->state(e->theirs, state, arguments) : 0;
}

static void name_set(struct plain_row *r, enum plain_column column, uint32_t name)
{
	plain_set(r, column, name);
	r->names |= 1u << ((uint32_t)column - PLAIN_FIRST);
}

static void event_record(const struct nccl_open *e, uint64_t number)
{
	struct plain_row r = {.names = 0};
	struct thread *t = e->tick ? event_enter() : NULL;
	if (!t)
		return;
	name_set(&r, COLUMN_NCCL_NAME, e->name);
	plain_set(&r, COLUMN_NCCL_KIND, e->kind);
	plain_set(&r, COLUMN_NCCL_COMM, e->comm);
	plain_set_signed(&r, COLUMN_NCCL_RANK, e->rank);
	plain_set(&r, COLUMN_NCCL_SEQUENCE, e->sequence);
	plain_set(&r, COLUMN_NCCL_NUMBER, number);
	plain_set(&r, COLUMN_NCCL_PARENT, e->parent);
	plain_set(&r, COLUMN_NCCL_COUNT, e->count);
	name_set(&r, COLUMN_NCCL_TYPE, e->type);
	plain_set_signed(&r, COLUMN_NCCL_PEER, e->peer);
	name_set(&r, COLUMN_NCCL_ALGORITHM, e->algorithm);
	name_set(&r, COLUMN_NCCL_PROTOCOL, e->protocol);
	plain_set(&r, COLUMN_NCCL_CHANNELS, e->channels);
	plain_set(&r, COLUMN_NCCL_STEPS, e->steps);
	plain_set(&r, COLUMN_NCCL_BYTES, e->bytes);
	plain_set(&r, COLUMN_NCCL_DEVICE_START, e->device_start);
	plain_set(&r, COLUMN_NCCL_DEVICE_END, e->device_end);
	plain_put(t, PLAIN_NCCL, e->tick, clock_ticks() - e->tick, &r);
	thread_leave(t);
}

int nccl_stop(void *handle)
{
	struct nccl_open *e = nccl_event_of(handle);
	int result = 0;
	if (nccl_is_theirs(handle))
		return lost_plugin()->stop(handle);
	if (!e || !e->is_open)
		return 0;
	if (e->theirs)
		result = e->plugin->stop(e->theirs);
	event_record(e, e->number);
	__atomic_store_n(&e->is_open, 0, __ATOMIC_RELEASE);
	return result;
}
