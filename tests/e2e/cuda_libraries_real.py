#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
"""Calls of NVIDIA's own libraries as far as they answer without a GPU: cuRAND's generators of the host, a cublasCreate() that fails.

The libraries have 60 to 600 megabytes: a test runs if CURAND_LIBRARY or CUBLAS_LIBRARY names the file, or in the torture run, which fetches the wheel.
"""
import glob
import os
import platform
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _packages import PACKAGES, fetch  # noqa: E402
from lib import Report, clean_env, folder, main, receipts_agree, run, tap, trace  # noqa: E402

# Programs that print "FUNCTION STATUS" for each call.
CURAND = """
#include <stdio.h>
int curandCreateGenerator(void **, int), curandCreateGeneratorHost(void **, int), curandSetPseudoRandomGeneratorSeed(void *, unsigned long long);
int curandGenerateUniform(void *, float *, unsigned long), curandGenerateNormal(void *, float *, unsigned long, float, float), curandDestroyGenerator(void *);
#define CALL(function, ...) printf(#function " %d\\n", function(__VA_ARGS__))
int main(void)
{
	void *generator = 0;
	float out[8];
	CALL(curandCreateGenerator, &generator, 100);
	CALL(curandCreateGeneratorHost, &generator, 100);
	CALL(curandSetPseudoRandomGeneratorSeed, generator, 1234);
	CALL(curandGenerateUniform, generator, out, 8);
	CALL(curandGenerateNormal, generator, out, 8, 1.5f, 2.f);
	for (int i = 0; i < 8; i++)
		printf("# %a\\n", out[i]);
	CALL(curandDestroyGenerator, generator);
}
"""
CUBLAS = """
#include <stdio.h>
int cublasCreate_v2(void **), cublasGetProperty(int, int *);
int cublasSgemm_v2(void *, int, int, int, int, int, const float *, const float *, int, const float *, int, const float *, float *, int);
#define CALL(function, ...) printf(#function " %d\\n", function(__VA_ARGS__))
int main(void)
{
	void *handle = 0;
	float one = 1;
	int value;
	CALL(cublasGetProperty, 0, &value);
	CALL(cublasCreate_v2, &handle);
	CALL(cublasSgemm_v2, NULL, 0, 0, 4, 5, 6, &one, NULL, 4, NULL, 6, &one, NULL, 4);
}
"""


def library(variable, package, pattern):
    """Return the path of a library; None after a test that is skipped."""
    path = os.environ.get(variable)
    if not path and os.environ.get("TORTURE"):
        missing = fetch((package,))
        path = next(iter(glob.glob(os.path.join(PACKAGES, "nvidia", "*", "lib", pattern))), None)
        if not path:
            tap.skip(package, missing or "not in the wheel")
            return None
    if not path:
        tap.skip(package, f"{variable} is not set (the torture run fetches it)")
    return path


def real(name, source, variable, package, pattern):
    """Compare what a program prints, and the statuses that it prints with those of the report."""
    path = library(variable, package, pattern)
    if not path:
        return
    work = folder()
    program, report = os.path.join(work, name), Report(os.path.join(work, "report.rep"))
    with open(program + ".c", "w", encoding="utf-8") as file:
        file.write(source)
    place = os.path.dirname(os.path.realpath(path))
    built = run([shutil.which("cc") or "gcc", "-o", program, program + ".c", "-L" + place, "-l:" + os.path.basename(path), "-Wl,--allow-shlib-undefined",
                 "-Wl,-rpath," + place])
    if built.status:
        tap.ok(False, f"{name}: the program is built", repr(built.err))
        return
    plain = run([program], env=clean_env())
    traced = trace("run", "-t", name, "-o", report.path, "--", program, env=clean_env())
    tap.ok(plain.status == 0 and traced.status == 0 and traced.out == plain.out and receipts_agree(report) is None, f"{name}: the output is unchanged", repr(traced))
    printed = [tuple(line.split()) for line in plain.out.decode().splitlines() if not line.startswith("#")]
    calls = sorted(report.events("--kind", "function_call"), key=lambda c: c["start_ns"])
    seen = [(c["function"], str(int(str(c["return_word"]), 0) & 0xffffffff)) for c in calls]
    tap.ok(seen == printed and {c["library_api"] for c in calls} == {name}, f"{name}: each call is recorded with its status", f"{seen}\n{printed}")
    tap.ok(any(status != "0" for _, status in printed), f"{name}: a call that needs a device fails", str(printed))
    words = [c["arguments"] for c in calls if c["function"] in ("curandGenerateNormal", "cublasSgemm_v2")]
    tap.ok(words and all({"count": 8}.items() <= w.items() or {"m": 4, "n": 5, "k": 6}.items() <= w.items() for w in words), f"{name}: sizes", str(words))


def curand():
    real("curand", CURAND, "CURAND_LIBRARY", "nvidia-curand-cu12==10.3.10.19", "libcurand.so.10")


def cublas():
    real("cublas", CUBLAS, "CUBLAS_LIBRARY", "nvidia-cublas-cu12==12.9.3.13", "libcublas.so.12")


if platform.machine() != "x86_64" or os.path.exists("/dev/nvidiactl") or not (shutil.which("cc") or shutil.which("gcc")):
    print("1..0 # SKIP for x86-64, a C compiler, and no GPU")
    sys.exit(0)
main(curand, cublas)
