-- SPDX-License-Identifier: Apache-2.0
-- CUDA GPU Summary (Kernels/MemOps)
-- was: gpusum
-- columns: Time (%), Total Time (ns), Instances, Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), Category text, Operation text
-- needs: CUPTI_ACTIVITY_KIND_KERNEL CUPTI_ACTIVITY_KIND_MEMCPY CUPTI_ACTIVITY_KIND_MEMSET
-- data: CUDA trace (--trace=cuda)
-- arguments: base mangled nvtx-name

SELECT coalesce(100.0 * sum(ns) / sum(sum(ns)) OVER (), 0.0), sum(ns), count(*), avg(ns), median(ns), min(ns), max(ns), stddev(ns),
       CASE category WHEN 0 THEN 'CUDA_API' WHEN 1 THEN 'CUDA_KERNEL' ELSE 'MEMORY_OPER' END, number_text(number) AS name
FROM GPU_TIMES
GROUP BY category, number
ORDER BY 2 DESC, category, name;
