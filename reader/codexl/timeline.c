/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.c - parser for timelines of CodeXL: sections, blocks of threads, and their lines. */
#define _GNU_SOURCE
#include "reader/codexl/timeline.h"

#include <inttypes.h>
#include <stdio.h>

#include "reader/codexl/state.h"
#include "reader/codexl/words.h"

#define HEAD(word) ((word).bytes < 60 ? (int)(word).bytes : 60), (word).at

/* cl_command_type */
enum {
	COMMAND_KERNEL = 4592,
	COMMAND_TASK = 4593,
	COMMAND_NATIVE = 4594,
};

/* Return the entry of a thread; NULL = out of memory. */
static struct codexl_thread *thread_of(struct codexl_file *f, bool is_opencl, uint32_t tid)
{
	struct codexl_state *s = f->state;
	uint32_t known = map_get(&s->thread_ids, is_opencl, tid);
	if (known)
		return &s->threads.rows[known - 1];
	struct codexl_thread *t = CODEXL_ADD(s->threads);
	return t && !map_put(&s->thread_ids, is_opencl, tid, s->threads.count) ? t : NULL;
}

/* Find the number of a device by its name; a new device is numbered. Returns 0 or -ENOMEM. */
static int device_number(struct codexl_file *f, const char *name, uint32_t *ret_id)
{
	struct codexl_state *s = f->state;
	uint32_t known = map_get(&s->device_ids, (uint64_t)(uintptr_t)name, 0);
	*ret_id = known ? known - 1 : s->device_count;
	return known ? 0 : map_put(&s->device_ids, (uint64_t)(uintptr_t)name, 0, ++s->device_count);
}

/* Return the call that the next line of a thread describes: the next call of the thread, which is
 * created if needed. `section`: 0 calls, 1 times, 2 stack. NULL = out of memory. */
static struct codexl_call *call_next(struct codexl_file *f, unsigned section)
{
	const struct codexl_state *s = f->state;
	struct codexl_thread *t = thread_of(f, s->is_opencl, s->tid);
	if (!t)
		return NULL;
	uint32_t *cursor = &t->cursor[section];
	uint32_t next = *cursor ? f->calls.rows[*cursor - 1].next : t->first;
	if (!next) {
		const char *none = pool_text(f->pool, "", 0);
		struct codexl_call *call = none ? CODEXL_ADD(f->calls) : NULL;
		if (!call)
			return NULL;
		*call = (struct codexl_call){.tid = s->tid,
			.is_opencl = s->is_opencl,
			.name = none,
			.result = none,
			.arguments = none,
			.caller = none,
			.caller_file = none};
		next = f->calls.count;
		if (t->last)
			f->calls.rows[t->last - 1].next = next;
		t->first = t->first ? t->first : next;
		t->last = next;
	}
	*cursor = next;
	return &f->calls.rows[next - 1];
}

/* Check that the name of a call is the same in all sections. */
static int call_named(
	struct codexl_file *f, struct codexl_call *call, unsigned part, struct codexl_word word)
{
	const char *name = codexl_text(f, word);
	if (!name)
		return -ENOMEM;
	if (!word.bytes)
		return codexl_wrong(f, "the name of the call is missing");
	if (*call->name && strcmp(call->name, name))
		return codexl_wrong(f, "line for %.*s, but another section has %s for this call",
			HEAD(word), call->name);
	call->name = name;
	call->parts |= part;
	return 0;
}

/* ---- calls ---- */

/* Remove the comment at the end of a line. */
static void comment_cut(struct codexl_file *f, struct codexl_words *line)
{
	const struct codexl_word all = codexl_rest(line);
	if (all.bytes < 4 || memcmp(all.at + all.bytes - 2, "*/", 2))
		return;
	for (size_t at = all.bytes - 3; at > 0; at--)
		if (!memcmp(all.at + at - 1, "/*", 2)) {
			line->end = all.at + at - 1;
			f->lost.comments++;
			return;
		}
}

/* Return the end of the arguments: the first closing parenthesis for OpenCL, else the last. */
static const char *closing(const struct codexl_words *w, bool is_opencl)
{
	size_t bytes = (size_t)(w->end - w->at);
	return is_opencl ? memchr(w->at, ')', bytes) : memrchr(w->at, ')', bytes);
}

static int result_take(
	struct codexl_file *f, struct codexl_call *call, struct codexl_words *ret_name)
{
	const char *equals = memmem(ret_name->at, (size_t)(ret_name->end - ret_name->at), " = ", 3);
	const struct codexl_words result = {ret_name->at, equals};
	const struct codexl_word all = codexl_rest(ret_name);
	if (!equals && all.bytes >= 2 && !memcmp(all.at + all.bytes - 2, " =", 2))
		return codexl_wrong(f, "the name of the call is missing");
	if (!equals)
		return call->is_opencl ? codexl_wrong(f, "expected RESULT = NAME ( ARGUMENTS )")
				       : 0;
	call->result = codexl_text(f, codexl_rest(&result));
	call->parts |= CODEXL_HAS_RESULT;
	ret_name->at = equals + 3;
	return call->result ? 0 : -ENOMEM;
}

static int call_line(struct codexl_file *f, struct codexl_words line)
{
	struct codexl_call *call = call_next(f, 0);
	if (!call)
		return -ENOMEM;
	comment_cut(f, &line);
	const char *open = memchr(line.at, '(', (size_t)(line.end - line.at));
	struct codexl_words name = {line.at, open}, arguments = {open, line.end};
	const char *close = open ? closing(&arguments, call->is_opencl) : NULL;
	if (!close)
		return codexl_wrong(f, "expected RESULT = NAME ( ARGUMENTS )");
	arguments = (struct codexl_words){open + 1, close};
	int error = result_take(f, call, &name);
	if (!error)
		error = call_named(f, call, CODEXL_HAS_CALL, codexl_rest(&name));
	if (error)
		return error;
	const struct codexl_words rest = {close + 1, line.end};
	f->lost.texts += codexl_rest(&rest).bytes > 0;
	call->arguments = codexl_text(f, codexl_rest(&arguments));
	return call->arguments ? 0 : -ENOMEM;
}

/* ---- times ---- */

static int number_take(struct codexl_file *f, struct codexl_words *line, const char *what,
	uint64_t most, uint64_t *ret_number)
{
	struct codexl_word word = codexl_word(line);
	if (codexl_number(word, most, ret_number))
		return 0;
	return word.bytes ? codexl_wrong(f, "%s is not a number up to %llu: %.*s", what,
				    (unsigned long long)most, HEAD(word))
			  : codexl_wrong(f, "the line ends before its %s", what);
}

static int handle_take(
	struct codexl_file *f, struct codexl_words *line, const char *what, uint64_t *ret_handle)
{
	struct codexl_word word = codexl_word(line);
	if (codexl_handle(word, ret_handle))
		return 0;
	return word.bytes
		? codexl_wrong(f, "%s is neither 0x and digits nor NULL: %.*s", what, HEAD(word))
		: codexl_wrong(f, "the line ends before its %s", what);
}

static int span_take(struct codexl_file *f, struct codexl_words *line, const char *what,
	uint64_t *ret_start, uint64_t *ret_end)
{
	int error = number_take(f, line, what, INT64_MAX, ret_start);
	if (!error)
		error = number_take(f, line, what, INT64_MAX, ret_end);
	if (!error && *ret_end < *ret_start)
		return codexl_wrong(f, "%s ends before it starts", what);
	return error;
}

static int word_take(struct codexl_file *f, struct codexl_words *line, const char **ret_text)
{
	*ret_text = codexl_text(f, codexl_word(line));
	return *ret_text ? 0 : -ENOMEM;
}

static uint32_t operation_of(uint64_t type)
{
	switch (type) {
	case COMMAND_KERNEL:
	case COMMAND_TASK:
	case COMMAND_NATIVE:
		return CODEXL_RUN_KERNEL;
	case 4595: /* READ_BUFFER, READ_IMAGE, READ_BUFFER_RECT */
	case 4598:
	case 4609:
		return CODEXL_COPY_FROM_DEVICE;
	case 4596: /* WRITE_BUFFER, WRITE_IMAGE, WRITE_BUFFER_RECT */
	case 4599:
	case 4610:
		return CODEXL_COPY_TO_DEVICE;
	case 4597: /* COPY_BUFFER, COPY_IMAGE, IMAGE_TO_BUFFER, BUFFER_TO_IMAGE, BUFFER_RECT */
	case 4600:
	case 4601:
	case 4602:
	case 4611:
		return CODEXL_COPY_ON_DEVICE;
	case 4615: /* FILL_BUFFER, FILL_IMAGE */
	case 4616:
		return CODEXL_FILL;
	default:
		return CODEXL_NO_OPERATION;
	}
}

/* Read the columns after the device: handle, name and sizes of a kernel; the function of a native
 * kernel; the bytes of a copy. */
static int command_end_take(
	struct codexl_file *f, struct codexl_command *c, struct codexl_words *line)
{
	const bool is_kernel = c->type == COMMAND_KERNEL || c->type == COMMAND_TASK;
	if (!codexl_rest(line).bytes)
		return 0;
	if (!is_kernel && c->type != COMMAND_NATIVE) {
		c->columns = CODEXL_BYTES_COLUMN;
		return number_take(f, line, "number of bytes", INT64_MAX, &c->bytes);
	}
	int error = handle_take(f, line, "handle of the kernel", &c->handle);
	c->columns = CODEXL_HANDLE_COLUMN;
	if (error || !is_kernel)
		return error;
	error = word_take(f, line, &c->kernel);
	struct codexl_word global = codexl_word(line), group = codexl_word(line);
	if (!global.bytes || !group.bytes)
		return codexl_wrong(f, "the line ends before the sizes of the kernel");
	c->columns = CODEXL_KERNEL_COLUMNS;
	codexl_sizes(global, group, &c->sizes);
	c->global_size = codexl_text(f, global);
	c->group_size = codexl_text(f, group);
	return !error && c->global_size && c->group_size ? 0 : -ENOMEM;
}

static int command_take(struct codexl_file *f, uint32_t call, struct codexl_words *line)
{
	const char *none = pool_text(f->pool, "", 0);
	struct codexl_command c = {
		.call = call, .kernel = none, .global_size = none, .group_size = none};
	int error = number_take(f, line, "command type", UINT32_MAX, &c.type);
	if (!error)
		error = word_take(f, line, &c.command);
	if (!error)
		error = number_take(f, line, "time of queueing", INT64_MAX, &c.queued_ns);
	if (!error)
		error = number_take(f, line, "time of submission", INT64_MAX, &c.submitted_ns);
	if (!error)
		error = span_take(f, line, "command", &c.start_ns, &c.end_ns);
	if (!error)
		error = number_take(f, line, "number of the queue", UINT32_MAX, &c.queue_id);
	if (!error)
		error = handle_take(f, line, "handle of the queue", &c.queue);
	if (!error)
		error = number_take(f, line, "number of the context", UINT32_MAX, &c.context_id);
	if (!error)
		error = handle_take(f, line, "handle of the context", &c.context);
	if (!error)
		error = word_take(f, line, &c.device);
	if (!error)
		error = command_end_take(f, &c, line);
	if (!error)
		error = device_number(f, c.device, &c.device_id);
	if (error)
		return error;
	c.operation = operation_of(c.type);
	struct codexl_command *added = CODEXL_ADD(f->commands);
	if (!added)
		return -ENOMEM;
	*added = c;
	return 0;
}

static int time_line(struct codexl_file *f, struct codexl_words line)
{
	struct codexl_call *call = call_next(f, 1);
	struct codexl_word type = codexl_word(&line), name = codexl_word(&line);
	const bool negative = type.bytes && *type.at == '-';
	const struct codexl_word digits = {type.at + negative, type.bytes - negative};
	uint64_t number;
	if (!call)
		return -ENOMEM;
	if (!codexl_number(digits, INT32_MAX, &number))
		return codexl_wrong(f, "call type is not a number: %.*s", HEAD(type));
	call->type = negative ? -(int64_t)number : (int64_t)number;
	int error = call_named(f, call, CODEXL_HAS_TIMES, name);
	if (!error)
		error = span_take(f, &line, "call", &call->start_ns, &call->end_ns);
	if (error || !codexl_rest(&line).bytes)
		return error;
	if (call->is_opencl) {
		error = command_take(f, (uint32_t)(call - f->calls.rows), &line);
	} else {
		error = span_take(
			f, &line, "transfer", &call->transfer_start_ns, &call->transfer_end_ns);
		if (!error)
			error = number_take(f, &line, "identifier of the transfer", INT64_MAX,
				&call->transfer_id);
		call->parts |= CODEXL_HAS_TRANSFER;
	}
	f->lost.texts += !error && codexl_rest(&line).bytes;
	return error;
}

/* ---- callers ---- */

static struct codexl_word column_take(struct codexl_words *line)
{
	const char *begin = line->at, *tab = memchr(line->at, '\t', (size_t)(line->end - line->at));
	const char *end = tab ? tab : line->end;
	line->at = tab ? tab + 1 : line->end;
	return (struct codexl_word){begin, (size_t)(end - begin)};
}

static int stack_line(struct codexl_file *f, struct codexl_words line)
{
	struct codexl_call *call = call_next(f, 2);
	uint64_t number = 0;
	if (!call)
		return -ENOMEM;
	int error = call_named(f, call, CODEXL_HAS_STACK, column_take(&line));
	if (error || line.at == line.end)
		return error;
	call->parts |= CODEXL_HAS_CALLER;
	call->caller = codexl_text(f, column_take(&line));
	if (!call->caller)
		return -ENOMEM;
	if (line.at == line.end)
		return 0;
	struct codexl_word at = column_take(&line);
	if (!codexl_number(at, UINT32_MAX, &number))
		return codexl_wrong(f, "source line is not a number: %.*s", HEAD(at));
	call->caller_line = (uint32_t)number;
	call->parts |= CODEXL_HAS_SOURCE;
	call->caller_file = codexl_decoded(f, column_take(&line), false);
	f->lost.texts += line.at < line.end;
	return call->caller_file ? 0 : -ENOMEM;
}

/* ---- kernels ---- */

/* Read the sizes from `{grid_size={x,y,z};workgroup_size={x,y,z}}`, if the packet has that form. */
static void packet_sizes(struct codexl_word packet, struct codexl_sizes *ret_sizes)
{
	static const char grid[] = "{grid_size=", group[] = ";workgroup_size=";
	const char *middle = memmem(packet.at, packet.bytes, group, sizeof(group) - 1);
	if (!middle || packet.bytes < sizeof(grid) || memcmp(packet.at, grid, sizeof(grid) - 1) ||
		middle < packet.at + sizeof(grid) - 1)
		return;
	const char *begin = middle + sizeof(group) - 1,
		   *end = memchr(begin, '}', packet.bytes - (size_t)(begin - packet.at));
	const char *first = packet.at + sizeof(grid) - 1;
	if (end)
		codexl_sizes((struct codexl_word){first, (size_t)(middle - first)},
			(struct codexl_word){begin, (size_t)(end + 1 - begin)}, ret_sizes);
}

static int kernel_line(struct codexl_file *f, struct codexl_words line)
{
	struct codexl_kernel k = {0};
	k.name = codexl_decoded(f, codexl_word(&line), true);
	int error = k.name ? handle_take(f, &line, "handle of the kernel", &k.handle) : -ENOMEM;
	if (!error)
		error = span_take(f, &line, "kernel", &k.start_ns, &k.end_ns);
	if (!error)
		error = word_take(f, &line, &k.device);
	if (!error)
		error = handle_take(f, &line, "handle of the agent", &k.agent);
	if (!error && f->state->has_queue_index)
		error = number_take(f, &line, "index of the queue", UINT32_MAX, &k.queue_id);
	if (!error && !codexl_rest(&line).bytes)
		return codexl_wrong(f, "the line ends before the handle of its queue");
	if (!error)
		error = word_take(f, &line, &k.queue);
	if (!error)
		error = word_take(f, &line, &k.packet_type);
	if (!error)
		error = word_take(f, &line, &k.packet_id);
	if (!error)
		error = device_number(f, k.device, &k.device_id);
	if (error)
		return error;
	packet_sizes(codexl_rest(&line), &k.sizes);
	k.packet = codexl_text(f, codexl_rest(&line));
	struct codexl_kernel *added = CODEXL_ADD(f->kernels);
	if (!added || !k.packet)
		return -ENOMEM;
	*added = k;
	return 0;
}

/* ---- perf markers ---- */

/* Return the number of open markers of the same thread and group. */
static uint32_t marker_depth(const struct codexl_file *f, const struct codexl_marker *m)
{
	uint32_t depth = map_get(&f->state->marker_depths, m->tid, (uint64_t)(uintptr_t)m->group);
	return depth ? depth - 1 : 0;
}

static int marker_depth_set(struct codexl_file *f, const struct codexl_marker *m, uint32_t depth)
{
	return map_put(&f->state->marker_depths, m->tid, (uint64_t)(uintptr_t)m->group, depth + 1);
}

/* Return the group of a marker; "" is the default group. */
static const char *marker_group(struct codexl_file *f, struct codexl_word word)
{
	const char *group = codexl_decoded(f, word, false);
	return group && !strcmp(group, CODEXL_DEFAULT_GROUP) ? pool_text(f->pool, "", 0) : group;
}

static int marker_begin(struct codexl_file *f, struct codexl_words line)
{
	struct codexl_thread *t = thread_of(f, true, f->state->tid);
	struct codexl_marker m = {.tid = f->state->tid, .outer = t ? t->open_marker : 0};
	m.name = t ? codexl_decoded(f, codexl_word(&line), false) : NULL;
	int error = m.name ? number_take(f, &line, "time of the marker", INT64_MAX, &m.start_ns)
			   : -ENOMEM;
	if (error)
		return error;
	m.group = marker_group(f, codexl_rest(&line));
	if (!m.group)
		return -ENOMEM;
	if (m.outer && f->markers.rows[m.outer - 1].start_ns > m.start_ns)
		return codexl_wrong(f, "the marker begins before its enclosing marker");
	if (m.start_ns < t->marker_ns)
		return codexl_wrong(f, "the marker begins before an earlier marker has ended");
	m.level = marker_depth(f, &m);
	struct codexl_marker *added = CODEXL_ADD(f->markers);
	if (!added || marker_depth_set(f, &m, m.level + 1))
		return -ENOMEM;
	*added = m;
	t->open_marker = f->markers.count;
	return 0;
}

static int marker_end(struct codexl_file *f, struct codexl_words line, bool is_named)
{
	struct codexl_thread *t = thread_of(f, true, f->state->tid);
	uint64_t end_ns;
	int error = t ? number_take(f, &line, "time of the marker", INT64_MAX, &end_ns) : -ENOMEM;
	if (error)
		return error;
	if (!t->open_marker) {
		f->lost.ends++;
		return 0;
	}
	struct codexl_marker *m = &f->markers.rows[t->open_marker - 1];
	if (end_ns < m->start_ns)
		return codexl_wrong(f, "the marker ends before it begins");
	if (is_named) {
		const char *name = codexl_decoded(f, codexl_word(&line), false),
			   *group = marker_group(f, codexl_rest(&line));
		if (!name || !group)
			return -ENOMEM;
		f->lost.end_names += name != m->name || group != m->group;
	}
	t->marker_ns = end_ns > t->marker_ns ? end_ns : t->marker_ns;
	m->end_ns = end_ns;
	m->ended = true;
	t->open_marker = m->outer;
	return marker_depth_set(f, m, m->level);
}

static int marker_line(struct codexl_file *f, struct codexl_words line)
{
	struct codexl_word what = codexl_word(&line);
	const char *text = codexl_text(f, what);
	if (!text)
		return -ENOMEM;
	if (!strcmp(text, "clBeginPerfMarker"))
		return marker_begin(f, line);
	if (!strcmp(text, "clEndPerfMarker") || !strcmp(text, "clEndPerfMarkerEx"))
		return marker_end(f, line, text[15]);
	return codexl_wrong(f, "expected the start or end of a perf marker: %.*s", HEAD(what));
}

/* ---- sections and blocks ---- */

static bool starts_with(struct codexl_word word, const char *text)
{
	size_t bytes = strlen(text);
	return word.bytes >= bytes && !memcmp(word.at, text, bytes);
}

static bool is_text(struct codexl_word word, const char *text)
{
	return word.bytes == strlen(text) && starts_with(word, text);
}

static bool take_text(struct codexl_word *word, const char *text)
{
	if (!starts_with(*word, text))
		return false;
	word->at += strlen(text);
	word->bytes -= strlen(text);
	return true;
}

/* Return the section of a title `=====TITLE=====`. Older files put the product name before the
 * title. */
static enum codexl_section section_of(struct codexl_word title, bool *ret_is_opencl)
{
	static const struct {
		const char *title;
		enum codexl_section section;
	} of_api[] = {{"API Trace Output", SECTION_CALLS}, {"Timestamp Output", SECTION_TIMES},
		{"Stack Trace Output", SECTION_STACK}};
	*ret_is_opencl = true;
	if (is_text(title, "AMD APP Profiler Trace Output"))
		return SECTION_CALLS;
	if (is_text(title, "AMD APP Profiler Timestamp Output"))
		return SECTION_TIMES;
	if (!take_text(&title, "CodeXL "))
		take_text(&title, "AMD ");
	if (is_text(title, "Perfmarker Output") || is_text(title, "OpenCL Perfmarker Output"))
		return SECTION_MARKERS;
	if (is_text(title, "hsa Kernel Timestamp Output"))
		return SECTION_KERNELS;
	*ret_is_opencl = take_text(&title, "ocl ");
	if (!*ret_is_opencl && !take_text(&title, "hsa "))
		return SECTION_UNKNOWN;
	for (size_t i = 0; i < sizeof(of_api) / sizeof(of_api[0]); i++)
		if (is_text(title, of_api[i].title))
			return of_api[i].section;
	return SECTION_UNKNOWN;
}

static int block_missing(struct codexl_file *f)
{
	const struct codexl_state *s = f->state;
	if (s->left)
		return codexl_wrong(f,
			"line %u announces %" PRIu64 " lines, %" PRIu64 " of them are missing",
			s->announced_at, s->announced, s->left);
	if (s->wants_count)
		return codexl_wrong(f, "the number of lines of thread %u is missing", s->tid);
	return 0;
}

/* Check the version of the format, which determines the columns of kernel lines. */
static int version_take(struct codexl_file *f)
{
	const char *version = codexl_file_header(f, "TraceFileVersion");
	unsigned major = 0;
	if (sscanf(version, "%3u", &major) < 1)
		return codexl_wrong(f, "not a timeline: the header has no TraceFileVersion");
	if (major < 2)
		return codexl_wrong(f,
			"version %s is a graphics trace (DirectX, Vulkan), which is not supported",
			version);
	f->state->has_queue_index = codexl_has_queue_index(version);
	return 0;
}

bool codexl_has_queue_index(const char *version)
{
	unsigned major = 0, minor = 0;
	return sscanf(version, "%3u.%3u", &major, &minor) < 1 || major > 3 ||
		(major == 3 && minor >= 2);
}

static int section_begin(struct codexl_file *f, struct codexl_words line)
{
	struct codexl_state *s = f->state;
	struct codexl_word title = codexl_rest(&line);
	int error = block_missing(f);
	if (!error && s->section == SECTION_HEADER)
		error = version_take(f);
	if (error)
		return error;
	if (title.bytes < 10 || !starts_with(title, "=====") ||
		memcmp(title.at + title.bytes - 5, "=====", 5))
		return codexl_wrong(f, "expected =====TITLE===== at the start of a section");
	title.at += 5;
	title.bytes -= 10;
	s->section = section_of(title, &s->is_opencl);
	f->lost.sections += s->section == SECTION_UNKNOWN;
	return 0;
}

/* Read a thread id or a number of lines. Kernels have no thread. */
static int number_line(struct codexl_file *f, struct codexl_words line)
{
	struct codexl_state *s = f->state;
	struct codexl_word word = codexl_rest(&line);
	uint64_t number = 0;
	if (!word.bytes && !s->wants_count)
		return 0;
	if (!s->wants_count && s->section != SECTION_KERNELS) {
		if (!codexl_number(word, CODEXL_TID_MAX, &number))
			return codexl_wrong(f, "not a thread id (0 to %u): %.*s", CODEXL_TID_MAX,
				word.bytes < 40 ? (int)word.bytes : 40, word.at);
		s->tid = (uint32_t)number;
		s->wants_count = true;
		return 0;
	}
	if (!codexl_number(word, UINT32_MAX, &number))
		return codexl_wrong(f, "not a number of lines: %.*s",
			word.bytes < 40 ? (int)word.bytes : 40, word.at);
	s->wants_count = false;
	s->left = s->announced = number;
	s->announced_at = f->line;
	return 0;
}

static int data_line(struct codexl_file *f, struct codexl_words line)
{
	struct codexl_state *s = f->state;
	s->left--;
	if (!codexl_rest(&line).bytes)
		return codexl_wrong(
			f, "empty line among the lines that line %u announces", s->announced_at);
	switch (s->section) {
	case SECTION_CALLS:
		return call_line(f, line);
	case SECTION_TIMES:
		return time_line(f, line);
	case SECTION_STACK:
		return stack_line(f, line);
	case SECTION_KERNELS:
		return kernel_line(f, line);
	default:
		return marker_line(f, line);
	}
}

int codexl_timeline_line(struct codexl_file *f, struct codexl_words line)
{
	struct codexl_state *s = f->state;
	const struct codexl_word word = {line.at, (size_t)(line.end - line.at)};
	const bool is_title = starts_with(word, s->section == SECTION_HEADER ? "=" : "=====");
	if (f->line == 1 && starts_with(word, "//"))
		return codexl_wrong(
			f, "a graphics trace (DirectX, Vulkan), which is not supported");
	if (is_title)
		return section_begin(f, line);
	if (s->section == SECTION_HEADER)
		return codexl_rest(&line).bytes ? codexl_header_line(f, line) : 0;
	if (s->section == SECTION_UNKNOWN) {
		f->lost.lines++;
		return 0;
	}
	return s->left ? data_line(f, line) : number_line(f, line);
}

int codexl_timeline_end(struct codexl_file *f)
{
	int error = block_missing(f);
	if (error)
		return error;
	if (f->state->section != SECTION_HEADER)
		return 0;
	return f->headers.count ? version_take(f) : codexl_wrong(f, "the file is empty");
}
