-- SPDX-License-Identifier: Apache-2.0
-- CUDA GPU MemOps Summary (by Time)
-- was: gpumemtimesum
-- columns: Time (%), Total Time (ns), Count, Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), Operation text
-- needs: CUPTI_ACTIVITY_KIND_MEMCPY CUPTI_ACTIVITY_KIND_MEMSET LIBTRACE_CODEXL_CALL
-- data: GPU memory (--trace=cuda)

SELECT coalesce(100.0 * sum(ns) / sum(sum(ns)) OVER (), 0.0), sum(ns), count(*), avg(ns), median(ns), min(ns), max(ns), stddev(ns), name
FROM MEMORY_TIMES
GROUP BY name
ORDER BY 2 DESC, name;
