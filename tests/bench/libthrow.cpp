/* SPDX-License-Identifier: Apache-2.0 */
// libthrow.cpp - C++ code that the C program life.c loads by dlopen, as Python loads extension modules.
#include <stdexcept>

static __attribute__((noinline)) void thrower(int value)
{
	if (value >= 0)
		throw std::runtime_error("thrown");
}

// Throw and catch `count` times; return `count`.
extern "C" int throw_catch(int count)
{
	int caught = 0;
	for (int i = 0; i < count; i++) {
		try {
			thrower(i);
		} catch (const std::exception &) {
			caught++;
		}
	}
	return caught;
}
