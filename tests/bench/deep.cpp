/* SPDX-License-Identifier: Apache-2.0 */
// CFLAGS: -O2 -fno-optimize-sibling-calls
/*
 * deep.cpp - calls from many depths of C++ functions, for the section `depth` of run: a
 * pseudo-random tree of objects is visited by virtual functions, two frames a level, and each leaf
 * writes a byte to /dev/null. A leaf is 4 to 100 frames below main().
 *
 * deep [CALLS]: prints "calls N".
 */
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define OWN_FRAME __attribute__((noinline))

static uint64_t state = 1;
static long left;
static int null_fd;

static uint32_t random_below(uint32_t limit)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % limit;
}

struct Visitor {
	virtual ~Visitor()
	{
	}
	virtual long visit(unsigned depth) = 0;
	OWN_FRAME long descend(unsigned depth);
};

template <int Kind> struct Branch : Visitor {
	OWN_FRAME long visit(unsigned depth) override
	{
		long sum = Kind;
		for (uint32_t children = 1 + random_below(3); children && left > 0; children--)
			sum += descend(depth + 1);
		return sum;
	}
};

static Visitor *const kinds[] = {new Branch<0>, new Branch<1>, new Branch<2>, new Branch<3>};

long Visitor::descend(unsigned depth)
{
	if (depth < 48 && random_below(20))
		return kinds[random_below(4)]->visit(depth) + 1;
	left--;
	return write(null_fd, "", 1);
}

int main(int argc, char **argv)
{
	long calls = argc > 1 ? atol(argv[1]) : 200000, sum = 0;
	left = calls;
	null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	while (left > 0)
		sum += kinds[0]->descend(0);
	printf("calls\t%ld\t%ld\n", calls - left, sum);
	return 0;
}
