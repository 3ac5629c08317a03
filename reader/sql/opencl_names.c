/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencl_names.c - SQL functions for names of OpenCL.
 */
#include "reader/sql/opencl_names.h"

#ifdef HAVE_SQLITE

#include <errno.h>
#include <sqlite3.h>
#include <string.h>

static void command(sqlite3_context *context, int count, sqlite3_value **values)
{
	static const struct {
		int64_t type;
		const char *name;
	} names[] = {
#define OPENCL_ENQUEUE(function, type, command, ...) {type, "CL_COMMAND_" #command},
#include "common/schema/opencl_calls.def"
	};
	int64_t type = sqlite3_value_int64(values[0]);
	(void)count;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].type == type) {
			sqlite3_result_text(context, names[i].name, -1, SQLITE_STATIC);
			return;
		}
}

static void function(sqlite3_context *context, int count, sqlite3_value **values)
{
	static const char *const names[] = {
#define OPENCL_FUNCTION(number, name) [number] = #name,
#include "reader/sql/opencl_functions.def"
	};
	const char *name = (const char *)sqlite3_value_text(values[0]);
	(void)count;
	for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name)) {
			sqlite3_result_int64(context, (int64_t)i);
			return;
		}
}

static const char *error_name(int32_t error)
{
	switch (error) {
#define OPENCL_ERROR(number, name) \
	case number:               \
		return #name;
#include "common/schema/opencl_calls.def"
	default:
		return NULL;
	}
}

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

static bool returns_address(const char *name)
{
	return (begins(name, "clCreate") && !begins(name, "clCreateKernelsInProgram") &&
		       !begins(name, "clCreateSubDevices")) ||
		begins(name, "clEnqueueMap") || begins(name, "clSVMAlloc") ||
		begins(name, "clLinkProgram") || begins(name, "clCloneKernel") ||
		begins(name, "clGetExtensionFunctionAddress");
}

static void result(sqlite3_context *context, int count, sqlite3_value **values)
{
	const char *name = (const char *)sqlite3_value_text(values[0]);
	int64_t word = sqlite3_value_int64(values[1]);
	int32_t error = (int32_t)(uint32_t)(uint64_t)word;
	char text[32];
	(void)count;
	if (!name)
		return;
	if (returns_address(name))
		sqlite3_snprintf(sizeof(text), text, word ? "0x%llX" : "NULL", word);
	else if (begins(name, "clSVMFree"))
		sqlite3_snprintf(sizeof(text), text, "void");
	else
		sqlite3_snprintf(sizeof(text), text, "%d", error);
	const char *known =
		returns_address(name) || begins(name, "clSVMFree") ? NULL : error_name(error);
	sqlite3_result_text(context, known ? known : text, -1, SQLITE_TRANSIENT);
}

int opencl_names_add(struct sql *s)
{
	static const struct {
		const char *name;
		int arguments;
		void (*call)(sqlite3_context *context, int count, sqlite3_value **values);
	} functions[] = {{"opencl_command", 1, command}, {"opencl_function", 1, function},
		{"opencl_result", 2, result}};
	int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, code = SQLITE_OK;
	for (size_t i = 0; code == SQLITE_OK && i < sizeof(functions) / sizeof(functions[0]); i++)
		code = sqlite3_create_function(s->connection, functions[i].name,
			functions[i].arguments, flags, NULL, functions[i].call, NULL, NULL);
	return code == SQLITE_OK ? 0 : -ENOMEM;
}

#else

int opencl_names_add(struct sql *s)
{
	(void)s;
	return 0;
}

#endif
