// SPDX-License-Identifier: Apache-2.0
/*
 * numeric_template.cpp - a benchmark of two instances of a template, one of which may take longer
 * (tests/proof/functions.py).
 *
 *     numeric_template PERCENT STEPS SWEEPS
 *
 * Each of STEPS calls relax<float>() and relax<double>(), each with SWEEPS passes over a small
 * array; relax<double>() does PERCENT more of them.
 */
#include <cstdlib>

static constexpr int points = 512;

template <typename Number> static Number field[points];

static volatile double result;

/* Relax a one-dimensional Poisson equation. */
template <typename Number> __attribute__((noinline)) static void relax(int sweeps)
{
	Number *f = field<Number>;
	for (int sweep = 0; sweep < sweeps; sweep++)
		for (int i = 1; i < points - 1; i++)
			f[i] = Number(0.5) * (f[i - 1] + f[i + 1] - Number(1e-3));
	result = result + f[points / 2];
}

int main(int argc, char **argv)
{
	const int percent = argc > 1 ? std::atoi(argv[1]) : 0,
		  steps = argc > 2 ? std::atoi(argv[2]) : 100,
		  sweeps = argc > 3 ? std::atoi(argv[3]) : 100;
	for (int step = 0; step < steps; step++) {
		relax<float>(sweeps);
		relax<double>(sweeps + sweeps * percent / 100);
	}
	return 0;
}
