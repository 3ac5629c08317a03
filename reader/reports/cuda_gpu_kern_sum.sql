-- SPDX-License-Identifier: Apache-2.0
-- CUDA GPU Kernel Summary
-- was: gpukernsum
-- columns: Time (%), Total Time (ns), Instances, Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), Name text
-- needs: CUPTI_ACTIVITY_KIND_KERNEL
-- data: CUDA kernel (--trace=cuda)
-- arguments: base mangled nvtx-name

SELECT coalesce(100.0 * sum(ns) / sum(sum(ns)) OVER (), 0.0), sum(ns), count(*), avg(ns), median(ns), min(ns), max(ns), stddev(ns), number_text(number) AS name
-- The limit keeps texts out of the rows that are sorted.
FROM (SELECT ns, number FROM KERNEL_NUMBERS LIMIT -1)
GROUP BY number
ORDER BY 2 DESC, name;
