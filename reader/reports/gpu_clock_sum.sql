-- SPDX-License-Identifier: Apache-2.0
-- GPU Clocks and Throttling Summary
-- columns: Throttled (%), By Power (%), By Temperature (%), By Hardware (%), Avg SM Clock (MHz), Min SM Clock (MHz), Max SM Clock (MHz), Avg Memory Clock (MHz), Avg Power (W), Max Temperature (C), Samples, GPU, Name text
-- needs: LIBTRACE_GPU_SAMPLE
-- data: samples of the machine (--machine-samples)
-- before: gpu_clocks

SELECT 100.0 * throttled, 100.0 * byPower, 100.0 * byTemperature, 100.0 * byHardware, smClock, leastClock, mostClock, memoryClock, watts, celsius, samples, gpu, name
FROM GPU_CLOCKS
ORDER BY 1 DESC, vm, gpu;
