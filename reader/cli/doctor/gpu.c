/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu.c - checks of CUDA: driver, CUPTI, the permission for counters.
 *
 * The driver's files in /proc are those of NVIDIA's open kernel modules (nv-procfs.c). Libraries
 * are loaded by libtrace-host.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/base/companion.h"
#include "reader/cli/doctor/checks.h"

#define PATIENCE_MS 20000
#define CUPTI_OLDEST 13u /* cuptiGetVersion() of CUDA 11.0 */
#define CAP_SYS_ADMIN_BIT 21

/* Return the answer of libtrace-host about CUDA, requested once. */
static const char *cuda_answer(void)
{
	static char answer[4096];
	static bool is_asked;
	const char *const arguments[] = {"cuda", getenv("LIBTRACE_CUPTI"), NULL};
	if (!is_asked)
		companion_ask(arguments, PATIENCE_MS, answer, sizeof(answer));
	is_asked = true;
	return answer;
}

void check_driver(struct finding *f)
{
	char kernel[160] = "", version[32] = "unknown", devices[16], error[16];
	const char *answer = cuda_answer();
	bool has_kernel = line_read("/proc/driver/nvidia/version", kernel, sizeof(kernel));
	if (!answer_find(answer, "libcuda", version, sizeof(version))) {
		finding_set(f, has_kernel ? FINDING_NO : FINDING_ABSENT, "no libcuda.so.1%s%s",
			has_kernel ? "; " : "", kernel);
		if (has_kernel)
			finding_advise(f,
				"start the container with the driver's libraries: docker "
				"run --gpus all");
		return;
	}
	snprintf(version, sizeof(version), "unknown");
	answer_find(answer, "driver_cuda", version, sizeof(version));
	if (answer_find(answer, "cuda_devices", devices, sizeof(devices))) {
		finding_set(f, FINDING_YES, "CUDA %s, %s device%s", version, devices,
			strcmp(devices, "1") ? "s" : "");
		return;
	}
	if (!answer_find(answer, "cuda_error", error, sizeof(error)))
		snprintf(error, sizeof(error), "no answer");
	finding_set(f, FINDING_NO, "CUDA %s, but cuInit() failed: %s", version, error);
	finding_advise(f,
		"run nvidia-smi; error 100: no device is visible; error 803: libcuda.so.1 does "
		"not match the kernel's driver");
}

void check_cupti(struct finding *f)
{
	char path[512], version[16] = "0", libcuda[32];
	const char *answer = cuda_answer(), *given = getenv("LIBTRACE_CUPTI");
	if (!answer_find(answer, "cupti", path, sizeof(path))) {
		bool has_driver = answer_find(answer, "libcuda", libcuda, sizeof(libcuda));
		if (given && *given)
			finding_set(f, FINDING_NO, "LIBTRACE_CUPTI is '%s', which cannot be loaded",
				given);
		else
			finding_set(f, has_driver ? FINDING_PARTLY : FINDING_ABSENT,
				"libcupti.so is not in the loader's path or in /usr/local/cuda");
		if (has_driver)
			finding_advise(f,
				"a program that loads CUDA with a CUPTI beside it is recorded "
				"nevertheless (PyTorch's packages); for others, set "
				"LIBTRACE_CUPTI to the path of libcupti.so");
		return;
	}
	answer_find(answer, "cupti_version", version, sizeof(version));
	bool is_old = strtoul(version, NULL, 10) < CUPTI_OLDEST;
	finding_set(f, is_old ? FINDING_NO : FINDING_YES, "%s, interface %s", path, version);
	if (is_old)
		finding_advise(f, "install CUPTI of CUDA 11 or later, or set LIBTRACE_CUPTI");
}

/* Return whether this process has a capability. */
static bool has_capability(int number)
{
	char bits[24];
	return field_read("/proc/self/status", "CapEff", bits, sizeof(bits)) &&
		(strtoull(bits, NULL, 16) >> number & 1);
}

static const char params[] = "/proc/driver/nvidia/params";

void check_counters(struct finding *f)
{
	char found[8] = "";
	if (access(params, R_OK)) {
		finding_set(f, FINDING_ABSENT, "no NVIDIA driver in this kernel");
		return;
	}
	field_read(params, "RmProfilingAdminOnly", found, sizeof(found));
	if (!strcmp(found, "0") || has_capability(CAP_SYS_ADMIN_BIT)) {
		finding_set(f, FINDING_YES, "permitted; only ncu needs them");
		return;
	}
	finding_set(f, FINDING_NO,
		"the driver permits them to administrators only (RmProfilingAdminOnly: %s); only "
		"ncu needs them",
		*found ? found : "unknown");
	finding_advise(f,
		"put 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' into a file in "
		"/etc/modprobe.d, then reload the driver");
}

void check_fecs(struct finding *f)
{
	bool is_root = has_capability(CAP_SYS_ADMIN_BIT);
	if (access(params, R_OK)) {
		finding_set(f, FINDING_ABSENT, "no NVIDIA driver in this kernel");
		return;
	}
	finding_set(f, FINDING_NO,
		"context switches of the GPU (FECS) are not recorded: the driver gives them to "
		"root alone (this is %s), in a format that is not published",
		is_root ? "root" : "not root");
	finding_advise(f,
		"kernels and copies of each context and stream are recorded without them: "
		"trace run -t cuda");
}
