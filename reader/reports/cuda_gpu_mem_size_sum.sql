-- SPDX-License-Identifier: Apache-2.0
-- CUDA GPU MemOps Summary (by Size)
-- was: gpumemsizesum
-- columns: Total (MB), Count, Avg (MB), Med (MB), Min (MB), Max (MB), StdDev (MB), Operation text
-- needs: CUPTI_ACTIVITY_KIND_MEMCPY CUPTI_ACTIVITY_KIND_MEMSET
-- data: GPU memory (--trace=cuda)

SELECT sum(bytes) / 1e6, count(*), avg(bytes) / 1e6, median(bytes) / 1e6, min(bytes) / 1e6, max(bytes) / 1e6, stddev(bytes) / 1e6, name
FROM MEMORY_SIZES
GROUP BY name
ORDER BY sum(bytes) DESC, name;
