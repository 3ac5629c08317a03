/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h - the names of a spool, stored once and referred to by records: of NVTX, CUDA, threads.
 *
 * A spool is hostile input: its records may refer to any text of the file, any number of times, and
 * texts may overlap. So the texts of a spool that are written into the report are bounded by the
 * amount of data in its file. A lookup may remap the file: keep no pointer into a spool across it.
 * One thread.
 */
#ifndef WRITER_BASE_NAMES_H
#define WRITER_BASE_NAMES_H

#include <stdint.h>

struct spool;
struct writer;

#define NAMES_CACHED 1024u

/* String ids of names that were looked up recently. All zero = empty. */
struct name_cache {
	struct {
		uint32_t process, ref, string_id;
	} rows[NAMES_CACHED];
};

/* Return the row of the cache for name `ref`. */
static inline uint32_t name_cache_row(uint32_t ref)
{
	return (ref ^ ref >> 10) % NAMES_CACHED;
}

/* Return the string id of a name that was looked up recently, and do not remap the spool; 0 = not
 * known. */
static inline uint32_t name_cache_id(const struct name_cache *names, uint32_t process, uint32_t ref)
{
	uint32_t row = name_cache_row(ref);
	return names->rows[row].process == process && names->rows[row].ref == ref
		? names->rows[row].string_id
		: 0;
}

/* Find the text of name `ref` of the spool. *ret_text is valid until the spool is remapped.
 * Return its length in bytes; 0 if there is no such name. */
uint32_t spool_name_text(struct spool *spool, uint32_t ref, const char **ret_text);

/* Return the string id of name `ref` of the spool. Return 0 if there is no such name, or if the
 * spool's names exceed the bound above, which is counted in spool->texts_refused. */
uint32_t spool_name_id(struct writer *w, struct spool *spool, uint32_t ref);

#endif
