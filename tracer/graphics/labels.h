/* SPDX-License-Identifier: Apache-2.0 */
/*
 * labels.h - debug labels of Vulkan and debug groups of OpenGL, as ranges and marks.
 *
 * A range is open from the call that begins it to the one that ends it, on the same thread; it
 * becomes a row at its end. Owning thread, not yet busy; no allocation, lock or system call, but
 * for a text that was not seen before, and the end of a chunk.
 */
#ifndef TRACER_GRAPHICS_LABELS_H
#define TRACER_GRAPHICS_LABELS_H

#include <stdbool.h>
#include <stdint.h>

struct name;

/* GRAPHICS_LABEL.form */
enum label_form { VULKAN_RANGE = 1, VULKAN_MARK, OPENGL_RANGE, OPENGL_MARK };

struct graphics_label {
	const char *function; /* a constant */
	const char *text;     /* NULL = none */
	int64_t text_bytes;   /* negative: the text is terminated */
	enum label_form form;
	uint64_t object; /* command buffer or queue of Vulkan */
	uint32_t color, source, type, id, severity;
};

/* Map the table of open ranges. Before the other functions. Return false without memory. */
bool labels_start(void);

/* Begin a range at `tick`; 0 = it is not to be recorded. */
void label_begin(const struct graphics_label *label, uint64_t tick);

/* End the innermost range of the form and object that the thread began. */
void label_end(enum label_form form, uint64_t object, uint64_t tick);

/* Record a mark. */
void label_mark(const struct graphics_label *label, uint64_t tick);

/* Return the text of the innermost range of the form and object that the thread has open; NULL =
 * none. */
struct name *label_open(enum label_form form, uint64_t object);

#endif
