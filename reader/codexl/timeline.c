/* Timelines: sections, and blocks of threads. Lines are those of timeline_lines.c. */
#include <inttypes.h>
#include <stdio.h>

#include "reader/codexl/state.h"

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

/* `=====TITLE=====`; older ones have the product's name in front. */
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
			s->told_at, s->told, s->left);
	if (s->wants_count)
		return codexl_wrong(f, "the number of lines of thread %u is missing", s->tid);
	return 0;
}

/* What the header says of the lines that follow. */
static int version_take(struct codexl_file *f)
{
	const char *version = codexl_file_header(f, "TraceFileVersion");
	unsigned major = 0;
	if (sscanf(version, "%3u", &major) < 1)
		return codexl_wrong(f, "no timeline: the header has no number TraceFileVersion");
	if (major < 2)
		return codexl_wrong(f,
			"version %s is a trace of graphics (DirectX, Vulkan), "
			"which is not read",
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
		return codexl_wrong(f, "a section begins with =====TITLE=====");
	title.at += 5;
	title.bytes -= 10;
	s->section = section_of(title, &s->is_opencl);
	f->lost.sections += s->section == SECTION_UNKNOWN;
	return 0;
}

/* The number of a thread, or of lines. Kernels belong to no thread. */
static int number_line(struct codexl_file *f, struct codexl_words line)
{
	struct codexl_state *s = f->state;
	struct codexl_word word = codexl_rest(&line);
	uint64_t number = 0;
	if (!word.bytes && !s->wants_count)
		return 0;
	if (!s->wants_count && s->section != SECTION_KERNELS) {
		if (!codexl_number(word, CODEXL_TID_MAX, &number))
			return codexl_wrong(f, "not the number of a thread (0 to %u): %.*s",
				CODEXL_TID_MAX, word.bytes < 40 ? (int)word.bytes : 40, word.at);
		s->tid = (uint32_t)number;
		s->wants_count = true;
		return 0;
	}
	if (!codexl_number(word, UINT32_MAX, &number))
		return codexl_wrong(f, "not a number of lines: %.*s",
			word.bytes < 40 ? (int)word.bytes : 40, word.at);
	s->wants_count = false;
	s->left = s->told = number;
	s->told_at = f->line;
	return 0;
}

static int data_line(struct codexl_file *f, struct codexl_words line)
{
	struct codexl_state *s = f->state;
	s->left--;
	if (!codexl_rest(&line).bytes)
		return codexl_wrong(
			f, "an empty line among those that line %u announces", s->told_at);
	switch (s->section) {
	case SECTION_CALLS:
		return codexl_call_line(f, line);
	case SECTION_TIMES:
		return codexl_time_line(f, line);
	case SECTION_STACK:
		return codexl_stack_line(f, line);
	case SECTION_KERNELS:
		return codexl_kernel_line(f, line);
	default:
		return codexl_marker_line(f, line);
	}
}

int codexl_timeline_line(struct codexl_file *f, struct codexl_words line)
{
	struct codexl_state *s = f->state;
	const struct codexl_word word = {line.at, (size_t)(line.end - line.at)};
	const bool is_title = starts_with(word, s->section == SECTION_HEADER ? "=" : "=====");
	if (f->line == 1 && starts_with(word, "//"))
		return codexl_wrong(f, "a trace of graphics (DirectX, Vulkan), which is not read");
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

struct codexl_thread *codexl_thread(struct codexl_file *f, bool is_opencl, uint32_t tid)
{
	struct codexl_state *s = f->state;
	uint32_t known = map_get(&s->thread_ids, is_opencl, tid);
	if (known)
		return &s->threads.rows[known - 1];
	struct codexl_thread *t = CODEXL_ADD(s->threads);
	return t && !map_put(&s->thread_ids, is_opencl, tid, s->threads.count) ? t : NULL;
}
