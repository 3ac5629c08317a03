-- SPDX-License-Identifier: Apache-2.0
-- Throttled GPU
-- severity: warning
-- columns: Throttled (%), By Power (%), By Temperature (%), By Hardware (%), Clock When Throttled (MHz), Clock Otherwise (MHz), Samples, GPU, Name text
-- needs: LIBTRACE_GPU_SAMPLE
-- data: samples of the machine (--machine-samples)
-- before: gpu_clocks
-- advice: NVML reported that the clocks of the GPU were held down in at least 5 % of the samples, and 5 samples: times of kernels vary with them, and runs cannot be compared.
-- advice: Look at its power limit and cooling (nvidia-smi -q -d PERFORMANCE), and lock its clocks below what it can hold (nvidia-smi -lgc) before comparing.

SELECT 100.0 * throttled, 100.0 * byPower, 100.0 * byTemperature, 100.0 * byHardware, heldClock, freeClock, samples, gpu, name
FROM GPU_CLOCKS
WHERE throttled >= 0.05 AND throttled * samples >= 5
ORDER BY 1 DESC, vm, gpu;
