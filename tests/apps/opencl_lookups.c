// NEEDS: opencl
// LINK: -lOpenCL
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencl_lookups.c - functions of OpenCL that a program asks the loader, or its driver, for. Prints
 * their results, and whether a second lookup gives the same address.
 *
 * Usage: opencl_lookups [NAME...]: functions that are only looked up
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>

#define TIMES 3

typedef cl_int platform_info(
	cl_platform_id platform, cl_platform_info name, size_t room, void *value, size_t *bytes);
typedef cl_int platform_ids(cl_uint room, cl_platform_id *platforms, cl_uint *count);

static cl_platform_id platform;

static void *of_platform(const char *name)
{
	void *found = clGetExtensionFunctionAddressForPlatform(platform, name);
	printf("%s: %s, %s\n", name, found ? "found" : "none",
		found == clGetExtensionFunctionAddressForPlatform(platform, name)
			? "always the same"
			: "another one");
	return found;
}

int main(int argc, char **argv)
{
	char text[2][256] = {"", ""};
	cl_uint count = 0;
	if (clGetPlatformIDs(1, &platform, NULL) ||
		clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(text[0]), text[0], NULL))
		return 1;
	platform_info *info = (platform_info *)of_platform("clGetPlatformInfo");
	platform_ids *ids = (platform_ids *)of_platform("clIcdGetPlatformIDsKHR");
	for (int i = 0; i < TIMES && info && ids; i++) {
		cl_int first = info(platform, CL_PLATFORM_NAME, sizeof(text[1]), text[1], NULL);
		cl_int second = ids(0, NULL, &count);
		printf("%d %d %u %d\n", first, second, count, strcmp(text[0], text[1]));
	}
	for (int i = 1; i < argc; i++) {
		void *found = clGetExtensionFunctionAddress(argv[i]);
		printf("%s: %s, %s\n", argv[i], found ? "found" : "none",
			found == clGetExtensionFunctionAddress(argv[i]) ? "always the same"
									: "another one");
		of_platform(argv[i]);
	}
	return 0;
}
