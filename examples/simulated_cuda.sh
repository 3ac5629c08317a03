#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Traces a CUDA program on the simulated device: kernels and copies without a GPU. The times of the device are invented.
set -eu
cd "$(dirname "$0")/.."
out=${BUILD:-build}
[ -x "$out/tests/cuda/vector_add" ] || { echo "simulated_cuda: run 'make cuda-apps' first (needs nvcc)" >&2; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
LD_LIBRARY_PATH=${SIM:-build/sim}/cuda13 "$out/bin/trace" run -t cuda -o "$folder/v" -- "$out/tests/cuda/vector_add"
"$out/bin/trace" stats -r cuda_gpu_kern_sum "$folder/v.rep"
