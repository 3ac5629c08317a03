/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.c - when events are recorded: parsing of capture ranges, the capture gate, its windows.
 */
#include "common/capture.h"

#include "common/clock.h"
#include "common/text.h"
#include "common/tree.h"

/* ---- options ---- */

static const struct {
	const char *name;
	uint32_t number;
} signals[] = {{"HUP", 1}, {"USR1", 10}, {"USR2", 12}, {"URG", 23}, {"WINCH", 28}, {"IO", 29},
	{"PWR", 30}};
#define SIGNAL_REALTIME_FIRST 34u /* signals 32 and 33 are the C library's */
#define SIGNAL_REALTIME_LAST 64u

static bool signal_parse(const char *name, uint32_t *ret_signal)
{
	uint64_t number = 0;
	if (text_begins(name, "SIG"))
		name += 3;
	bool is_number = text_to_number(name, &number);
	*ret_signal = (uint32_t)number;
	if (is_number && number >= SIGNAL_REALTIME_FIRST && number <= SIGNAL_REALTIME_LAST)
		return true;
	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (is_number ? number == signals[i].number : text_equal(name, signals[i].name)) {
			*ret_signal = signals[i].number;
			return true;
		}
	return false;
}

/* Copy up to an '@' without a backslash before it. Return the position where the copy stopped,
 * NULL = too long. */
static const char *name_copy(const char *from, char *to)
{
	uint32_t at = 0;
	while (*from && *from != '@') {
		if (*from == '\\' && from[1])
			from++;
		if (at + 1 >= CAPTURE_NAME_BYTES)
			return 0;
		to[at++] = *from++;
	}
	to[at] = 0;
	return from;
}

/* Parse NAME, NAME@DOMAIN or NAME@*. */
static const char *nvtx_parse(const char *text, struct capture_spec *s)
{
	const char *end = name_copy(text, s->range);
	s->kind = CAPTURE_NVTX;
	if (end && *end == '@') {
		s->is_any_domain = text_equal(end + 1, "*");
		end = s->is_any_domain ? end + 2 : name_copy(end + 1, s->domain);
	}
	if (!end)
		return "the name of the NVTX range is too long";
	if (*end)
		return "write an '@' in the name of an NVTX range or domain as '\\@'";
	return s->range[0] ? NULL
			   : "the name of the NVTX range is missing; expected nvtx:NAME[@DOMAIN]";
}

static const char *range_parse(const char *range, const char *nvtx_capture, struct capture_spec *s)
{
	if (text_equal(range, "nvtx"))
		return nvtx_parse(nvtx_capture ? nvtx_capture : "", s);
	if (text_begins(range, "nvtx:"))
		return nvtx_parse(range + 5, s);
	if (text_begins(range, "signal:")) {
		s->kind = CAPTURE_SIGNAL;
		return signal_parse(range + 7, &s->signal)
			? NULL
			: "unsupported signal; expected HUP, USR1, USR2, URG, WINCH, IO, PWR, or "
			  "34 to "
			  "64";
	}
	if (text_equal(range, "cudaProfilerApi"))
		s->kind = CAPTURE_CUDA_PROFILER;
	else if (text_equal(range, "libtraceApi"))
		s->kind = CAPTURE_LIBTRACE_API;
	else if (!text_equal(range, "none"))
		return "expected none, nvtx:NAME[@DOMAIN], cudaProfilerApi, libtraceApi or "
		       "signal:NAME";
	return NULL;
}

static const char *end_parse(const char *end, struct capture_spec *s)
{
	uint64_t number = 0;
	if (text_equal(end, "none"))
		s->windows_max = 0;
	else if (text_equal(end, "stop"))
		s->windows_max = 1;
	else if (text_equal(end, "repeat"))
		s->windows_max = CAPTURE_UNLIMITED;
	else if (text_begins(end, "repeat:") && text_to_number(end + 7, &number) && number &&
		number <= CAPTURE_WINDOWS_MAX)
		s->windows_max = (uint32_t)number;
	else
		return "unknown end of a capture range; expected none, stop, repeat or repeat:N";
	return NULL;
}

bool capture_parse(const char *range, const char *nvtx_capture, const char *end,
	struct capture_spec *ret_spec, const char **ret_why)
{
	*ret_spec = (struct capture_spec){.windows_max = 1};
	const char *why = range && *range ? range_parse(range, nvtx_capture, ret_spec) : NULL;
	if (!why && end && *end)
		why = end_parse(end, ret_spec);
	if (why)
		*ret_spec = (struct capture_spec){.windows_max = 1};
	*ret_why = why;
	return !why;
}

/* ---- the gate ---- */

/*
 * Hold the whole state in one word, so that each change is one compare and exchange. Bit 0 is the
 * gate; wrappers read the lower half of the word.
 */
#define STATE_OPEN UINT64_C(1)
#define STATE_UNTIMELY (UINT64_C(1) << 32) /* the time is before --delay or after --duration */
#define STATE_STAYS (UINT64_C(1) << 33)    /* a capture range was opened that does not end */
#define STATE_ENDED_SHIFT 34 /* windows of capture ranges so far, 15 bits of the state */
#define STATE_ENDED_MASK UINT64_C(0x7fff)
#define STATE_HOLDERS_SHIFT 49 /* capture ranges open now, 15 bits */
#define STATE_HOLDERS_LIMIT                                                                      \
	UINT64_C(0x7000) /* the rest of the 15 bits is for threads that begin ranges at the same \
			    time */

static uint64_t holders_of(uint64_t state)
{
	return state >> STATE_HOLDERS_SHIFT;
}

/* Return the state with the gate bit that the rest of the state requires. */
static uint64_t decided(const struct tree_control *c, uint64_t state)
{
	const struct capture_spec *s = &c->capture;
	uint64_t ended = state >> STATE_ENDED_SHIFT & STATE_ENDED_MASK;
	bool may = s->windows_max == CAPTURE_UNLIMITED || !s->windows_max || ended < s->windows_max;
	bool captured =
		s->kind == CAPTURE_NONE || state & STATE_STAYS || (holders_of(state) && may);
	bool open = captured && !(state & STATE_UNTIMELY);
	if (open && !s->windows_max)
		state |= STATE_STAYS;
	if (!open && state & STATE_OPEN && !captured && s->windows_max != CAPTURE_UNLIMITED)
		state += UINT64_C(1) << STATE_ENDED_SHIFT;
	return (state & ~STATE_OPEN) | (open ? STATE_OPEN : 0);
}

static const struct capture_state *in_force(const struct tree_control *c)
{
	return c->capture.kind == CAPTURE_NONE ? &c->by_time : &c->by_range;
}

static struct capture_state *state_of(struct tree_control *c)
{
	return c->capture.kind == CAPTURE_NONE ? &c->by_time : &c->by_range;
}

const uint32_t *capture_gate(const struct tree_control *control)
{
	return &in_force(control)->gate;
}

static void window_put(struct capture_state *s, uint64_t begin_tick, uint64_t end_tick)
{
	uint64_t number = __atomic_add_fetch(&s->window_count, 1, __ATOMIC_RELAXED);
	struct capture_window *w = &s->windows[number % CAPTURE_WINDOWS_KEPT];
	__atomic_exchange_n(&w->number, 0, __ATOMIC_ACQ_REL);
	__atomic_store_n(&w->begin_tick, begin_tick ? begin_tick : end_tick, __ATOMIC_RELEASE);
	__atomic_store_n(&w->end_tick, end_tick, __ATOMIC_RELEASE);
	__atomic_store_n(&w->number, number, __ATOMIC_RELEASE);
}

/* A change of the gate's state. */
struct change {
	uint64_t set, clear;   /* bits */
	uint32_t begun, ended; /* capture ranges */
	uint64_t tick;         /* the time of the change; 0 = now */
};

static uint64_t changed(const struct tree_control *c, uint64_t state, const struct change *by)
{
	uint64_t ended = by->ended < holders_of(state) ? by->ended : holders_of(state);
	state = (state | by->set) & ~by->clear;
	state += by->begun * (UINT64_C(1) << STATE_HOLDERS_SHIFT);
	return decided(c, state - (ended << STATE_HOLDERS_SHIFT));
}

static void change(struct tree_control *c, const struct change *by)
{
	struct capture_state *s = state_of(c);
	uint64_t old = __atomic_load_n(&s->gate_state, __ATOMIC_RELAXED), next;
	do
		next = changed(c, old, by);
	while (!__atomic_compare_exchange_n(
		&s->gate_state, &old, next, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	if (!c->keeps_windows || !((old ^ next) & STATE_OPEN))
		return;
	uint64_t tick = by->tick ? by->tick : clock_ticks();
	if (next & STATE_OPEN)
		__atomic_store_n(&s->window_begin_tick, tick, __ATOMIC_RELEASE);
	else
		window_put(
			s, __atomic_exchange_n(&s->window_begin_tick, 0, __ATOMIC_ACQ_REL), tick);
}

void capture_init(
	struct tree_control *control, const struct capture_spec *spec, bool delayed, bool limited)
{
	static const struct capture_spec everything = {.windows_max = 1};
	control->capture = spec ? *spec : everything;
	control->keeps_windows = delayed || limited || control->capture.kind != CAPTURE_NONE;
	change(control, &(struct change){.set = delayed ? STATE_UNTIMELY : 0});
}

void capture_set_time(struct tree_control *control, bool is_right)
{
	const struct change by = {
		.set = is_right ? 0 : STATE_UNTIMELY, .clear = is_right ? STATE_UNTIMELY : 0};
	__atomic_store_n(&control->time_is_over, !is_right, __ATOMIC_RELEASE);
	change(control, &by);
}

bool capture_is_over(const struct tree_control *control)
{
	const struct capture_spec *s = &control->capture;
	uint64_t state = __atomic_load_n(&in_force(control)->gate_state, __ATOMIC_ACQUIRE);
	bool is_counted =
		s->kind != CAPTURE_NONE && s->windows_max && s->windows_max != CAPTURE_UNLIMITED;
	return __atomic_load_n(&control->time_is_over, __ATOMIC_ACQUIRE) ||
		(is_counted && !(state & STATE_OPEN) &&
			(state >> STATE_ENDED_SHIFT & STATE_ENDED_MASK) >= s->windows_max);
}

bool capture_begin(struct tree_control *control)
{
	if (control->capture.kind == CAPTURE_NONE)
		return false; /* only the writer changes that gate */
	if (holders_of(__atomic_load_n(&in_force(control)->gate_state, __ATOMIC_RELAXED)) >=
		STATE_HOLDERS_LIMIT)
		return false;
	change(control, &(struct change){.begun = 1});
	return true;
}

void capture_end(struct tree_control *control, uint32_t count, uint64_t tick)
{
	if (count && control->capture.kind != CAPTURE_NONE)
		change(control, &(struct change){.ended = count, .tick = tick});
}

void capture_toggle(struct tree_control *control)
{
	struct capture_state *s = state_of(control);
	uint64_t now = clock_monotonic_ns(),
		 last = __atomic_load_n(&s->toggled_ns, __ATOMIC_RELAXED);
	if (control->capture.kind == CAPTURE_NONE || (last && now - last < CAPTURE_SIGNAL_NS) ||
		!__atomic_compare_exchange_n(
			&s->toggled_ns, &last, now, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	if (holders_of(__atomic_load_n(&s->gate_state, __ATOMIC_RELAXED)))
		capture_end(control, 1, 0);
	else
		capture_begin(control);
}

/* ---- windows ---- */

uint64_t capture_windows(const struct tree_control *control)
{
	return __atomic_load_n(&in_force(control)->window_count, __ATOMIC_ACQUIRE);
}

bool capture_window_get(
	const struct tree_control *control, uint64_t number, struct capture_window *ret_window)
{
	const struct capture_window *w = &in_force(control)->windows[number % CAPTURE_WINDOWS_KEPT];
	if (__atomic_load_n(&w->number, __ATOMIC_ACQUIRE) != number)
		return false;
	ret_window->number = number;
	ret_window->begin_tick = __atomic_load_n(&w->begin_tick, __ATOMIC_ACQUIRE);
	ret_window->end_tick = __atomic_load_n(&w->end_tick, __ATOMIC_ACQUIRE);
	return __atomic_load_n(&w->number, __ATOMIC_RELAXED) == number;
}

bool capture_is_open(const struct tree_control *control, uint64_t *ret_begin_tick)
{
	*ret_begin_tick = __atomic_load_n(&in_force(control)->window_begin_tick, __ATOMIC_ACQUIRE);
	return __atomic_load_n(&in_force(control)->gate_state, __ATOMIC_ACQUIRE) & STATE_OPEN;
}
