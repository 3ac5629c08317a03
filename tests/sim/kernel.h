/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.h - the interface by which a program defines what a kernel does on the simulated device:
 * it exports, under the name sim_kernel_NAME (NAME as in the cubin, mangled), a struct sim_kernel
 * (link the program with -rdynamic). A kernel without a struct takes its time and changes nothing.
 * A real GPU ignores the struct. A second function reports that the program touches managed memory.
 * Plain C and C++.
 */
#ifndef SIM_KERNEL_H
#define SIM_KERNEL_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

enum { SIM_KERNEL_MAX_ARGUMENTS = 16 };

struct sim_kernel {
	/* Do what the whole grid does. arguments: as cuLaunchKernel has them. */
	void (*run)(const uint32_t grid[3], const uint32_t block[3], void **arguments);
	/* The size of each argument; 0 ends the list. Graphs keep copies of arguments. */
	uint8_t argument_bytes[SIM_KERNEL_MAX_ARGUMENTS];
};

/* Report that the program is about to touch managed memory: pages on the device move back by faults
 * of the CPU, which a real driver notices by itself. With a real driver this does nothing. */
static inline void sim_host_touches(const void *address)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	void (*touched)(const void *) = NULL;

	if (driver)
		*(void **)(void *)&touched = dlsym(driver, "sim_host_touched");
	if (touched)
		touched(address);
}

#endif
