/* SPDX-License-Identifier: Apache-2.0 */
/* open.c - opening of a report: waits for its writer and checks the file header. */
#define _GNU_SOURCE
#include "reader/file/open.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#include "reader/file/unpack.h"

#define POLL_NS 20000000u
#define FILE_HEADER_BYTES_MAX 4096u
#define FILE_VERSION 7u

/* Return true if a writer holds its exclusive lock. On a file system without locks, return
 * false. */
static bool is_being_written(int fd)
{
	if (flock(fd, LOCK_SH | LOCK_NB) == 0) {
		flock(fd, LOCK_UN);
		return false;
	}
	return errno == EWOULDBLOCK;
}

static bool wait_for_writer(int fd, uint64_t wait_ns)
{
	const struct timespec pause = {.tv_nsec = POLL_NS};
	for (uint64_t waited = 0; is_being_written(fd); waited += POLL_NS) {
		if (waited >= wait_ns)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

static int file_header_read(struct report *r, const char **ret_cause)
{
	uint8_t start[8], message[FILE_HEADER_BYTES_MAX];
	uint32_t bytes;
	*ret_cause = REPORT_IS_NONE;
	if (r->source.size < sizeof(start))
		return -EBADMSG;
	int error = source_read(&r->source, 0, start, sizeof(start));
	if (error)
		return error;
	memcpy(&bytes, start + 4, 4);
	bytes = le32toh(bytes);
	if (memcmp(start, "NVR", 4) || bytes > sizeof(message) ||
		bytes > r->source.size - sizeof(start))
		return -EBADMSG;
	error = source_read(&r->source, sizeof(start), message, bytes);
	if (error)
		return error;
	Libtrace__FileHeader *header = libtrace__file_header__unpack(NULL, bytes, message);
	*ret_cause = header ? "report of an unknown version" : "malformed file header";
	error = header && header->version == FILE_VERSION ? 0 : -EBADMSG;
	if (header)
		libtrace__file_header__free_unpacked(header, NULL);
	r->first_block = sizeof(start) + bytes;
	return error;
}

/* Check the file header of an open report and store its name. */
static int report_begin(struct report *r, const char *path, bool may_unpack, const char **ret_cause)
{
	int error = source_refresh(&r->source);
	if (!error && source_is_packed(&r->source) && !may_unpack) {
		*ret_cause = "compressed; unpack it with 'zstd -d' to change it";
		error = -EBADMSG;
	} else if (!error && source_is_packed(&r->source)) {
		error = source_unpack(&r->source, ret_cause);
	}
	if (!error)
		error = file_header_read(r, ret_cause);
	r->name = error ? NULL : strdup(path);
	return !error && !r->name ? -ENOMEM : error;
}

int report_open(struct report *r, const char *path, uint64_t wait_ns, const char **ret_cause)
{
	*r = (struct report){.source.fd = -1};
	*ret_cause = NULL;
	int error = source_open(&r->source, path);
	if (error)
		return error;
	r->unfinished = !wait_for_writer(r->source.fd, wait_ns);
	error = report_begin(r, path, true, ret_cause);
	if (error)
		report_close(r);
	return error;
}

int report_open_fd(struct report *r, int fd, const char *path, const char **ret_cause)
{
	*r = (struct report){.source.fd = fd};
	*ret_cause = NULL;
	int error = report_begin(r, path, false, ret_cause);
	if (error)
		r->source.fd = -1;
	return error;
}

int report_open_memory(struct report *r, const void *data, size_t bytes, const char **ret_cause)
{
	*r = (struct report){.source.fd = -1};
	source_from_memory(&r->source, data, bytes);
	return file_header_read(r, ret_cause);
}

void report_close(struct report *r)
{
	source_close(&r->source);
	free(r->name);
	r->name = NULL;
}
