/* SPDX-License-Identifier: Apache-2.0 */
// libthrow.cpp - C++ that comes into a C program by dlopen, as Python's extension modules do; life.c loads it.
// CFLAGS: -O2
#include <stdexcept>

static __attribute__((noinline)) void thrower(int value)
{
	if (value >= 0)
		throw std::runtime_error("thrown");
}

// Throws and catches `count` times; what it returns is `count`.
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
