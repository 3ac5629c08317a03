-- SPDX-License-Identifier: Apache-2.0
-- CUDA Memory Trace
-- columns: Time (ns), PID, Device ID, Change Bytes, Used Bytes
-- needs: CUDA_GPU_MEMORY_USAGE_EVENTS LIBTRACE_CUDA_MAPPING
-- data: CUDA memory usage (--cuda-memory=true)
-- before: cuda_memory_use

SELECT time, globalPid >> 24 & 0xffffff, deviceId, change, used FROM CUDA_MEMORY_USE ORDER BY time, globalPid, deviceId;
