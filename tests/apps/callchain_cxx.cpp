/* SPDX-License-Identifier: Apache-2.0 */
// CFLAGS: -O2 -fno-optimize-sibling-calls -U_FORTIFY_SOURCE
/*
 * callchain_cxx.cpp - callchain.c in C++: callbacks through the C library, virtual functions, templates,
 * and calls during stack unwinding. callchain.c describes the output.
 */
extern "C" {
#include "app.h"
}

#include <fcntl.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <vector>

#define OWN_FRAME __attribute__((noinline, noclone))

static int zero_fd;
static volatile int after;

OWN_FRAME int leaf(int n)
{
	char bytes[256];
	ssize_t got = pread(zero_fd, bytes, (size_t)n, 0);
	after = after + 1;
	return require(got == n, "pread");
}

OWN_FRAME int compares(const void *a, const void *b)
{
	leaf(71);
	return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

OWN_FRAME void sorts()
{
	int numbers[] = {5, 3, 9, 1, 7, 2, 8};
	qsort(numbers, 7, sizeof(int), compares);
	require(numbers[0] == 1 && numbers[6] == 9, "sorted");
}

namespace shop
{
struct Thing {
	virtual ~Thing() {}
	virtual int call(int n) = 0;
};

template <class T> struct Real : Thing {
	OWN_FRAME int call(int n) override
	{
		int held = leaf(n);
		after = after + 1;
		return held;
	}
};

struct Guard {
	OWN_FRAME ~Guard()
	{
		leaf(74);
		after = after + 1;
	}
};
} // namespace shop

OWN_FRAME void calls_virtual(shop::Thing &thing)
{
	thing.call(72);
	after = after + 1;
}

OWN_FRAME void calls_function(const std::function<int(int)> &function)
{
	function(73);
	after = after + 1;
}

OWN_FRAME void throws()
{
	if (after)
		throw std::runtime_error("out");
}

OWN_FRAME void guarded()
{
	shop::Guard guard;
	throws();
}

OWN_FRAME void catches()
{
	try {
		guarded();
	} catch (const std::exception &) {
		leaf(75);
		after = after + 1;
	}
}

int main()
{
	zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	say("chain 71: leaf compares * sorts main");
	sorts();
	say("chain 72: leaf shop::Real<long>::call calls_virtual main");
	shop::Real<long> real;
	calls_virtual(real);
	say("chain 73: leaf * calls_function main");
	calls_function([](int n) { return leaf(n) + after; });
	say("chain 74: leaf shop::Guard::~Guard guarded catches main");
	say("chain 75: leaf catches main");
	catches();
	return app_result();
}
