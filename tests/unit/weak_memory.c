/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weak_memory.c - the model: messages, views, clocks, and the search through all choices.
 *
 * A store appends a message to its word. Each thread has a view, the oldest message of each word
 * that it may still load, and a vector clock. A message of a release store carries both, and an
 * acquire load joins them. A thread can only be interrupted where it loads a word of the other one,
 * or stores one by SEQ_CST: anywhere else the order of both makes no difference, since a load may
 * return old values.
 */
#define _GNU_SOURCE
#include "weak_memory.h"

#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { WORDS_MAX = 16, MESSAGES_MAX = 96, CHOICES_MAX = 512, REGIONS_MAX = 2 };
#define STACK_BYTES 65536u
#define OTHER(thread) (1 - (thread))

struct message {
	uint64_t value;
	uint32_t clock[2];
	uint8_t view[WORDS_MAX];
};

struct word {
	const void *address;
	const char *name;
	unsigned bytes, writer, count, last_seq_cst;
	struct message messages[MESSAGES_MAX];
};

/* The clocks of the last accesses of each thread to 8 bytes. */
struct shadow {
	uint64_t execution;
	uint32_t loaded[2], stored[2], atomic_loaded[2], atomic_stored[2];
};

static struct region {
	uintptr_t begin;
	size_t bytes;
	struct shadow *shadows;
} regions[REGIONS_MAX];

static struct word words[WORDS_MAX];
static unsigned word_count, region_count;

static struct state {
	ucontext_t context;
	uint32_t clock[2];
	uint8_t view[WORDS_MAX];
	bool is_done, was_switched_to;
	char stack[STACK_BYTES];
} threads_now[2];

static ucontext_t explorer;
static unsigned running; /* 0 or 1 */
static bool is_active;
static const char *fault;
static uint64_t execution;
static struct weakening weak_order;
static void (*const *thread_functions)(void);

static struct {
	unsigned taken[CHOICES_MAX], options[CHOICES_MAX], count, at;
} choices;

void weak_share(const void *begin, size_t bytes)
{
	struct region *r = &regions[region_count++];
	*r = (struct region){(uintptr_t)begin, bytes, calloc(bytes / 8 + 1, sizeof(*r->shadows))};
	if (region_count > REGIONS_MAX || !r->shadows)
		abort();
}

void weak_name(const void *address, unsigned bytes, const char *name, unsigned writer)
{
	if (word_count == WORDS_MAX)
		abort();
	struct word *w = &words[word_count++];
	w->address = address;
	w->bytes = bytes;
	w->name = name;
	w->writer = writer;
}

static _Noreturn void leave(void)
{
	is_active = false;
	setcontext(&explorer);
	abort();
}

void weak_fault(const char *what)
{
	if (!fault)
		fault = what;
	leave();
}

/* ---- choices ---- */

static unsigned choose(unsigned options)
{
	if (options < 2)
		return 0;
	if (choices.at == CHOICES_MAX)
		weak_fault("too many choices");
	if (choices.at == choices.count) {
		choices.taken[choices.count] = 0;
		choices.options[choices.count++] = options;
	}
	return choices.taken[choices.at++];
}

/* Go to the next execution. Return false if that was the last. */
static bool choices_advance(void)
{
	while (choices.count &&
		choices.taken[choices.count - 1] + 1 == choices.options[choices.count - 1])
		choices.count--;
	if (choices.count)
		choices.taken[choices.count - 1]++;
	choices.at = 0;
	return choices.count;
}

static void switch_threads(void)
{
	unsigned from = running;
	running = OTHER(from);
	threads_now[running].was_switched_to = true;
	swapcontext(&threads_now[from].context, &threads_now[running].context);
}

/* ---- plain accesses ---- */

static struct shadow *shadow_of(uintptr_t address)
{
	for (unsigned i = 0; i < region_count; i++) {
		if (address - regions[i].begin >= regions[i].bytes)
			continue;
		struct shadow *s = &regions[i].shadows[(address - regions[i].begin) / 8];
		if (s->execution != execution)
			*s = (struct shadow){.execution = execution};
		return s;
	}
	return NULL;
}

static void access_check(const volatile void *address, bool stores, bool is_atomic)
{
	struct shadow *s = is_active ? shadow_of((uintptr_t)address) : NULL;
	if (!s)
		return;
	const struct state *t = &threads_now[running];
	unsigned other = OTHER(running);
	uint32_t known = t->clock[other];
	if (s->stored[other] > known || (!is_atomic && s->atomic_stored[other] > known))
		weak_fault("an access is not ordered after a store of the other thread");
	if (stores && (s->loaded[other] > known || (!is_atomic && s->atomic_loaded[other] > known)))
		weak_fault("a store is not ordered after a load of the other thread");
	uint32_t *own = stores ? (is_atomic ? s->atomic_stored : s->stored)
			       : (is_atomic ? s->atomic_loaded : s->loaded);
	own[running] = t->clock[running];
}

static void range_check(const volatile void *address, size_t bytes, bool stores)
{
	uintptr_t first = (uintptr_t)address & ~(uintptr_t)7, end = (uintptr_t)address + bytes;
	for (; is_active && first < end; first += 8)
		access_check((const volatile void *)first, stores, false);
}

/* ---- atomic accesses ---- */

static struct word *word_of(const volatile void *address)
{
	for (unsigned i = 0; is_active && i < word_count; i++)
		if (words[i].address == address)
			return &words[i];
	return NULL;
}

static bool acquires(int order)
{
	return order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME ||
		order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static bool releases(int order)
{
	return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static int order_here(const struct word *w, int order)
{
	if (!weak_order.name || strcmp(weak_order.name, w->name) || weak_order.thread != running)
		return order;
	return order == __ATOMIC_SEQ_CST ? __ATOMIC_ACQ_REL : __ATOMIC_RELAXED;
}

static void join(struct state *t, const struct message *m)
{
	for (unsigned i = 0; i < 2; i++)
		if (t->clock[i] < m->clock[i])
			t->clock[i] = m->clock[i];
	for (unsigned i = 0; i < word_count; i++)
		if (t->view[i] < m->view[i])
			t->view[i] = m->view[i];
}

/* Let the other thread run first, or not. A thread that just got its turn goes on. */
static void switch_perhaps(void)
{
	struct state *t = &threads_now[running];
	if (!threads_now[OTHER(running)].is_done && !t->was_switched_to && choose(2))
		switch_threads();
	t->was_switched_to = false;
}

static uint64_t word_load(struct word *w, int order)
{
	struct state *t = &threads_now[running];
	unsigned at = (unsigned)(w - words);
	if (w->writer != running)
		switch_perhaps();
	order = order_here(w, order);
	unsigned first = t->view[at];
	if (order == __ATOMIC_SEQ_CST && first < w->last_seq_cst)
		first = w->last_seq_cst;
	first += choose(w->count - first);
	t->view[at] = (uint8_t)first;
	if (acquires(order))
		join(t, &w->messages[first]);
	access_check(w->address, false, true);
	return w->messages[first].value;
}

static void word_store(struct word *w, uint64_t value, int order)
{
	struct state *t = &threads_now[running];
	unsigned at = (unsigned)(w - words);
	if (order == __ATOMIC_SEQ_CST)
		switch_perhaps();
	if (w->count == MESSAGES_MAX || w->writer != running)
		weak_fault("the model has no room, or another writer of a word");
	order = order_here(w, order);
	access_check(w->address, true, true);
	struct message *m = &w->messages[w->count];
	*m = (struct message){.value = value};
	t->view[at] = (uint8_t)w->count;
	m->view[at] = t->view[at];
	if (releases(order)) {
		memcpy(m->clock, t->clock, sizeof(m->clock));
		memcpy(m->view, t->view, sizeof(m->view));
	}
	if (order == __ATOMIC_SEQ_CST)
		w->last_seq_cst = w->count;
	w->count++;
	t->clock[running]++;
}

/* ---- what the compiler calls ---- */

#define ATOMIC(bits)                                                                              \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *p, int order)    \
	{                                                                                         \
		struct word *w = word_of(p);                                                      \
		return w ? (uint##bits##_t)word_load(w, order)                                    \
			 : __atomic_load_n(p, __ATOMIC_SEQ_CST);                                  \
	}                                                                                         \
	void __tsan_atomic##bits##_store(volatile uint##bits##_t *p, uint##bits##_t v, int order) \
	{                                                                                         \
		struct word *w = word_of(p);                                                      \
		if (w)                                                                            \
			word_store(w, v, order);                                                  \
		__atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                         \
	}                                                                                         \
	uint##bits##_t __tsan_atomic##bits##_fetch_add(                                           \
		volatile uint##bits##_t *p, uint##bits##_t v, int order)                          \
	{                                                                                         \
		struct word *w = word_of(p);                                                      \
		if (w)                                                                            \
			word_store(w, (uint##bits##_t)(*p + v), order);                           \
		return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);                                \
	}                                                                                         \
	int __tsan_atomic##bits##_compare_exchange_strong(volatile uint##bits##_t *p,             \
		uint##bits##_t *expected, uint##bits##_t v, int order, int failed)                \
	{                                                                                         \
		struct word *w = word_of(p);                                                      \
		(void)failed;                                                                     \
		if (w && *p == *expected)                                                         \
			word_store(w, v, order);                                                  \
		return __atomic_compare_exchange_n(                                               \
			p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);               \
	}                                                                                         \
	uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(volatile uint##bits##_t *p,     \
		uint##bits##_t expected, uint##bits##_t v, int order, int failed)                 \
	{                                                                                         \
		__tsan_atomic##bits##_compare_exchange_strong(p, &expected, v, order, failed);    \
		return expected;                                                                  \
	}

#define PLAIN(bytes)                            \
	void __tsan_read##bytes(const void *p)  \
	{                                       \
		range_check(p, bytes, false);   \
	}                                       \
	void __tsan_write##bytes(const void *p) \
	{                                       \
		range_check(p, bytes, true);    \
	}

#define UNALIGNED(bytes)                                  \
	void __tsan_unaligned_read##bytes(const void *p)  \
	{                                                 \
		range_check(p, bytes, false);             \
	}                                                 \
	void __tsan_unaligned_write##bytes(const void *p) \
	{                                                 \
		range_check(p, bytes, true);              \
	}

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
ATOMIC(8)
ATOMIC(32)
ATOMIC(64)
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)
UNALIGNED(2)
UNALIGNED(4)
UNALIGNED(8)
UNALIGNED(16)

void __tsan_read_range(const void *p, size_t bytes)
{
	range_check(p, bytes, false);
}

void __tsan_write_range(const void *p, size_t bytes)
{
	range_check(p, bytes, true);
}

void *__tsan_memcpy(void *to, const void *from, size_t bytes)
{
	range_check(from, bytes, false);
	range_check(to, bytes, true);
	return memcpy(to, from, bytes);
}

void *__tsan_memset(void *to, int byte, size_t bytes)
{
	range_check(to, bytes, true);
	return memset(to, byte, bytes);
}

void __tsan_init(void)
{
}

void __tsan_func_entry(void *caller)
{
	(void)caller;
}

void __tsan_func_exit(void)
{
}

/* ---- executions ---- */

static void thread_main(void)
{
	thread_functions[running]();
	threads_now[running].is_done = true;
	if (threads_now[OTHER(running)].is_done)
		leave();
	switch_threads();
	abort();
}

static void execution_begin(void)
{
	execution++;
	for (unsigned i = 0; i < word_count; i++) {
		struct word *w = &words[i];
		w->count = 1;
		w->last_seq_cst = 0;
		w->messages[0] = (struct message){0};
		memcpy(&w->messages[0].value, w->address, w->bytes);
	}
	for (unsigned i = 0; i < 2; i++) {
		struct state *t = &threads_now[i];
		t->is_done = t->was_switched_to = false;
		memset(t->view, 0, sizeof(t->view));
		t->clock[i] = 1;
		t->clock[OTHER(i)] = 0;
		getcontext(&t->context);
		t->context.uc_stack.ss_sp = t->stack;
		t->context.uc_stack.ss_size = sizeof(t->stack);
		t->context.uc_link = NULL;
		makecontext(&t->context, thread_main, 0);
	}
	running = 0;
}

struct exploration weak_explore(void (*reset)(void), void (*const threads[2])(void),
	void (*finish)(void), struct weakening weakened)
{
	struct exploration e = {0};
	weak_order = weakened;
	thread_functions = threads;
	choices.count = choices.at = 0;
	fault = NULL;
	do {
		reset();
		execution_begin();
		is_active = true;
		swapcontext(&explorer, &threads_now[0].context);
		if (!fault)
			finish();
		e.executions++;
	} while (!fault && choices_advance());
	e.fault = fault;
	return e;
}
