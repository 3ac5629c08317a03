/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a file in an interpreter loaded at run time: python_embedded LIBPYTHON FILE [ROUNDS]. Each
 * round begins with Py_Initialize() and ends with Py_Finalize(); then the library is closed.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *need(void *library, const char *name)
{
	void *found = dlsym(library, name);
	if (!found) {
		fprintf(stderr, "%s: %s\n", name, dlerror());
		exit(2);
	}
	return found;
}

int main(int argc, char **argv)
{
	void (*initialize)(int);
	int (*run)(const char *), (*finalize)(void);
	if (argc < 3)
		return 2;
	for (int round = argc > 3 ? atoi(argv[3]) : 1; round > 0; round--) {
		void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
		char code[4200];
		if (!library) {
			fprintf(stderr, "%s\n", dlerror());
			return 2;
		}
		*(void **)&initialize = need(library, "Py_InitializeEx");
		*(void **)&run = need(library, "PyRun_SimpleString");
		*(void **)&finalize = need(library, "Py_FinalizeEx");
		lseek(0, 0, SEEK_CUR);
		initialize(0);
		snprintf(code, sizeof(code), "exec(compile(open('%s').read(), '%s', 'exec'))",
			argv[2], argv[2]);
		if (run(code) != 0 || finalize() != 0)
			return 1;
		dlclose(library);
	}
	puts("done");
	return 0;
}
