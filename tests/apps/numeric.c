/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numeric.c - a benchmark of two numeric functions without annotations, one of which may take
 * longer (tests/proof/functions.py, tests/e2e/diff_functions.py).
 *
 *     numeric PERCENT STEPS SWEEPS
 *
 * Each of STEPS calls transform() and solve(), each with SWEEPS passes over a small array; solve()
 * does PERCENT more of them.
 */
#include "app.h"

#define POINTS 512

static double field[POINTS], spectrum[POINTS];
static volatile double result;

/* Relax a one-dimensional Poisson equation. */
__attribute__((noinline)) static void solve(int sweeps)
{
	for (int sweep = 0; sweep < sweeps; sweep++)
		for (int i = 1; i < POINTS - 1; i++)
			field[i] = 0.5 * (field[i - 1] + field[i + 1] - 1e-3);
	result += field[POINTS / 2];
}

/* Filter a spectrum recursively. */
__attribute__((noinline)) static void transform(int sweeps)
{
	for (int sweep = 0; sweep < sweeps; sweep++)
		for (int i = 1; i < POINTS - 1; i++)
			spectrum[i] = 0.5 * (spectrum[i - 1] - 0.25 * spectrum[i + 1] + 1.0);
	result += spectrum[POINTS / 2];
}

int main(int argc, char **argv)
{
	const int percent = argc > 1 ? atoi(argv[1]) : 0, steps = argc > 2 ? atoi(argv[2]) : 100,
		  sweeps = argc > 3 ? atoi(argv[3]) : 100;
	for (int step = 0; step < steps; step++) {
		transform(sweeps);
		solve(sweeps + sweeps * percent / 100);
	}
	return 0;
}
