/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thresholds.c - which calls are recorded: the duration that a call of each function must reach,
 * and the descriptors whose close() always is.
 */
#include "tracer/osrt/osrt.h"

#include "common/schema/fn_groups.h"
#include "tracer/core/gate.h"
#include "tracer/core/state.h"

bool osrt_off;

enum rule { OVER, CONTENDED, ALWAYS, MADE, OPENS, CLOSES, QUIET };

struct row {
	uint8_t rule, group;
};

static const struct row rows[] = {
	{QUIET, ADMIN}, /* ids begin at 1 */
#define FN(ret, name, version, group, rule, ...) {rule, group},
#define FNV(name, version, group, rule, ...) {rule, group},
#define HAND(ret, name, version, group, rule, ...) {rule, group},
#include "common/schema/libc.def"
};

static bool touches_files(enum group group)
{
	return group == OPEN || group == IO || group == SYNC || group == STDIO;
}

static bool is_always(enum rule rule)
{
	return rule == ALWAYS || rule == CONTENDED || rule == MADE;
}

static uint64_t threshold;
uint64_t osrt_quick_ticks, osrt_alone_ticks;

#define QUICK_NS 3000u   /* two switches of threads take longer */
#define ALONE_NS 100000u /* the check of a longer call is cheap: it takes 2 us */

uint64_t osrt_followed[FOLLOWED_BITS / 64];

void osrt_follow(int descriptor)
{
	if (descriptor >= 0 && (unsigned)descriptor < FOLLOWED_BITS &&
		!osrt_is_followed((uint64_t)descriptor))
		__atomic_fetch_or(&osrt_followed[descriptor / 64], UINT64_C(1) << (descriptor % 64),
			__ATOMIC_RELAXED);
}

uint64_t osrt_threshold_of(unsigned fn, uint64_t object, bool failed)
{
	const uint64_t usual = own_words.osrt_threshold[fn];
	if (usual == UINT64_MAX)
		return usual;
	if (rows[fn].rule == MADE && failed && !session.config.file_access)
		return threshold;
	return rows[fn].rule == CLOSES && !failed && osrt_is_followed(object) ? 0 : usual;
}

void osrt_start(void)
{
	threshold = session_ticks(session.config.threshold_ns);
	osrt_quick_ticks = session_ticks(QUICK_NS);
	osrt_alone_ticks = session_ticks(ALONE_NS);
	osrt_forked();
}

void osrt_forked(void)
{
	osrt_off = session.spool->osrt_off;
	for (unsigned fn = 0; fn < sizeof(rows) / sizeof(rows[0]); fn++) {
		enum rule rule = rows[fn].rule;
		own_words.osrt_threshold[fn] = is_always(rule) ? 0 : threshold;
		if (rule == QUIET && !session.config.all_locks)
			own_words.osrt_threshold[fn] = UINT64_MAX;
		if (rule == CONTENDED && session.config.all_locks)
			own_words.osrt_threshold[fn] = threshold;
		if (session.config.file_access && touches_files(rows[fn].group))
			own_words.osrt_threshold[fn] = 0;
		if (session.spool->osrt_off)
			own_words.osrt_threshold[fn] = UINT64_MAX;
	}
}
