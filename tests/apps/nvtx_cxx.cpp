/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: nvtx
/*
 * nvtx_cxx.cpp - the C++ interface: scoped ranges, a domain given by a type, a registered string, an exception that leaves
 * a scope.
 */
#include <nvtx3/nvtx3.hpp>

struct my_domain {
	static constexpr char const *name{"C++ domain"};
};
struct my_message {
	static constexpr char const *message{"registered in C++"};
};

static void thrower()
{
	nvtx3::scoped_range_in<my_domain> range{"left by an exception", nvtx3::rgb{255, 0, 1},
		nvtx3::payload{42}};
	throw 1;
}

int main()
{
	nvtx3::scoped_range outer{"C++ outer"};
	try {
		thrower();
	} catch (int) {
	}
	nvtx3::mark_in<my_domain>(nvtx3::registered_string_in<my_domain>::get<my_message>());
	nvtx3::unique_range_in<my_domain> unique{"C++ unique"};
	return 0;
}
