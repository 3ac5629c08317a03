/* SPDX-License-Identifier: Apache-2.0 */
/* nvdisasm.c - disassembly of a cubin with NVIDIA's nvdisasm. */
#define _GNU_SOURCE
#include "reader/ncu/code/nvdisasm.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/array.h"

#define SILENCE_MS 60000 /* nvdisasm may loop forever on a damaged cubin */
#define CUBIN_FD 3       /* descriptor in the program that is started */

extern char **environ;

/* Create a file without a name that contains the bytes. */
static int file_of(const uint8_t *cubin, size_t bytes)
{
	int fd = memfd_create("cubin", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (bytes) {
		ssize_t written = write(fd, cubin, bytes);
		if (written <= 0) {
			int error = written ? -errno : -EIO;
			close(fd);
			return error;
		}
		cubin += written;
		bytes -= (size_t)written;
	}
	return fd;
}

static int cubin_file(const struct cubin *c)
{
	uint8_t *copy;
	int error = cubin_unplace(c, &copy);
	int fd = error ? error : file_of(copy ? copy : c->data, c->bytes);
	free(copy);
	return fd;
}

static int spawn_one(const char *program, int cubin, int output, pid_t *ret_pid)
{
	static char name[] = "nvdisasm", code[] = "-c", path[] = "/proc/self/fd/3";
	char *arguments[] = {name, code, path, NULL};
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);
	if (error)
		return -error;
	error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (!error)
		error = posix_spawn_file_actions_addopen(
			&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, cubin, CUBIN_FD);
	if (!error)
		error = posix_spawnp(ret_pid, program, &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -error;
}

static int spawn_any(int cubin, int output, pid_t *ret_pid)
{
	int error = spawn_one("nvdisasm", cubin, output, ret_pid);
	return error == -ENOENT ? spawn_one("/usr/local/cuda/bin/nvdisasm", cubin, output, ret_pid)
				: error;
}

/* Read the whole output and append a NUL. */
static int output_read(struct nvdisasm *d, int fd)
{
	size_t used = 0, capacity = 0;
	for (;;) {
		struct pollfd ready = {fd, POLLIN, 0};
		if (used + 1 >= capacity) {
			capacity = capacity ? 2 * capacity : 65536;
			char *more = capacity <= NVDISASM_BYTES_MAX ? realloc(d->output, capacity)
								    : NULL;
			if (!more)
				return -ENOMEM;
			d->output = more;
		}
		if (!poll(&ready, 1, SILENCE_MS))
			return -EIO;
		ssize_t bytes = read(fd, d->output + used, capacity - used - 1);
		if (bytes < 0 && errno == EINTR)
			continue;
		if (bytes < 0)
			return -errno;
		used += (size_t)bytes;
		d->output[used] = 0;
		if (!bytes)
			return 0;
	}
}

static int line_add(struct nvdisasm *d, const struct nvdisasm_line *line)
{
	if (array_room(&d->lines, d->count, &d->capacity, sizeof(*d->lines)))
		return -ENOMEM;
	d->lines[d->count++] = *line;
	return 0;
}

/* Add a label. Its offset is that of the instruction after it, which is not known yet. */
static int label_add(struct nvdisasm *d, const char *name)
{
	if (array_room(&d->labels, d->label_count, &d->label_capacity, sizeof(*d->labels)))
		return -ENOMEM;
	d->labels[d->label_count++] = (struct nvdisasm_label){name, UINT64_MAX};
	return 0;
}

/* Parse an instruction: its offset in a comment, then its text up to ';'. Returns false if the
 * line is not an instruction. */
static int instruction_take(char *line, struct nvdisasm_line *l)
{
	char *end;
	line += strspn(line, " \t");
	if (strncmp(line, "/*", 2) != 0)
		return 0;
	l->offset = strtoull(line + 2, &end, 16);
	if (end == line + 2 || strncmp(end, "*/", 2) != 0)
		return 0;
	end += 2 + strspn(end + 2, " \t");
	l->text = end;
	end += strcspn(end, ";");
	while (end > l->text && end[-1] == ' ')
		end--;
	*end = 0;
	return *l->text != 0;
}

static int by_place(const void *a, const void *b)
{
	const struct nvdisasm_line *x = a, *y = b;
	int order = strcmp(x->section, y->section);
	return order ? order : x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int by_name(const void *a, const void *b)
{
	const struct nvdisasm_label *x = a, *y = b;
	return strcmp(x->name, y->name);
}

/* Return the line without the colon at its end; NULL if it does not start with `begin` or has no
 * colon. */
static char *heading_take(char *line, const char *begin)
{
	const size_t bytes = strlen(line);
	if (strncmp(line, begin, strlen(begin)) != 0 || line[bytes - 1] != ':')
		return NULL;
	line[bytes - 1] = 0;
	return line;
}

/* Parse the output, and split it into lines in place. */
static int output_parse(struct nvdisasm *d)
{
	struct nvdisasm_line line = {.section = NULL};
	size_t placed = 0; /* labels whose instruction was read, or does not exist */
	char *at = NULL, *name;
	int error = 0;
	for (char *text = strtok_r(d->output, "\n", &at); text && !error;
		text = strtok_r(NULL, "\n", &at)) {
		if ((name = heading_take(text, ".text."))) {
			line.section = name;
			placed = d->label_count;
		} else if ((name = heading_take(text, ".L"))) {
			error = label_add(d, name);
		} else if (line.section && instruction_take(text, &line)) {
			for (; placed < d->label_count; placed++)
				d->labels[placed].offset = line.offset;
			error = line_add(d, &line);
		}
	}
	if (d->count)
		qsort(d->lines, d->count, sizeof(*d->lines), by_place);
	if (d->label_count)
		qsort(d->labels, d->label_count, sizeof(*d->labels), by_name);
	return error;
}

int nvdisasm_run(struct nvdisasm *d, const struct cubin *cubin)
{
	int ends[2], status = 0;
	pid_t pid;
	*d = (struct nvdisasm){0};
	int file = cubin_file(cubin);
	if (file < 0)
		return file;
	if (pipe2(ends, O_CLOEXEC)) {
		close(file);
		return -errno;
	}
	int error = spawn_any(file, ends[1], &pid);
	close(ends[1]);
	close(file);
	if (!error) {
		error = output_read(d, ends[0]);
		close(ends[0]);
		if (error)
			kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (!error)
			error = status ? -EIO : output_parse(d);
	} else {
		close(ends[0]);
	}
	return error;
}

void nvdisasm_release(struct nvdisasm *d)
{
	free(d->output);
	free(d->lines);
	free(d->labels);
	*d = (struct nvdisasm){0};
}

/* Return the instruction at an offset of a section; NULL = unknown. */
static const char *nvdisasm_at(const struct nvdisasm *d, const char *section, uint64_t offset)
{
	const struct nvdisasm_line key = {.section = section, .offset = offset};
	const struct nvdisasm_line *found =
		d->count ? bsearch(&key, d->lines, d->count, sizeof(key), by_place) : NULL;
	return found ? found->text : NULL;
}

/* Return the label between "`(" and ")" at the start of the text; NULL if there is none or its
 * offset is unknown. */
static const struct nvdisasm_label *label_of(const struct nvdisasm *d, const char *text)
{
	char name[64];
	const size_t bytes = strncmp(text, "`(", 2) == 0 ? strcspn(text + 2, ")") : 0;
	if (!bytes || bytes >= sizeof(name) || !d->label_count)
		return NULL;
	memcpy(name, text + 2, bytes);
	name[bytes] = 0;
	const struct nvdisasm_label key = {.name = name}, *found;
	found = bsearch(&key, d->labels, d->label_count, sizeof(key), by_name);
	return found && found->offset != UINT64_MAX ? found : NULL;
}

static void text_spell(const struct nvdisasm *d, const char *text, uint64_t address, FILE *out)
{
	static const char hint[] = ".reuse";
	const struct nvdisasm_label *label;
	while (*text) {
		if ((label = label_of(d, text))) {
			fprintf(out, "0x%" PRIx64, address + label->offset);
			text = strchr(text, ')') + 1;
		} else if (!strncmp(text, hint, sizeof(hint) - 1)) {
			text += sizeof(hint) - 1;
		} else {
			fputc(*text++, out);
		}
	}
}

int nvdisasm_text(const struct nvdisasm *d, const char *section, uint64_t offset, uint64_t address,
	char **ret_text)
{
	const char *text = nvdisasm_at(d, section, offset);
	size_t bytes;
	*ret_text = NULL;
	if (!text)
		return 0;
	FILE *out = open_memstream(ret_text, &bytes);
	if (!out)
		return -ENOMEM;
	text_spell(d, text, address, out);
	if (!fclose(out))
		return 0;
	free(*ret_text);
	*ret_text = NULL;
	return -ENOMEM;
}
