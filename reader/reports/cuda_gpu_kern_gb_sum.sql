-- SPDX-License-Identifier: Apache-2.0
-- CUDA GPU Kernel/Grid/Block Summary
-- columns: Time (%), Total Time (ns), Instances, Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), GridXYZ text, BlockXYZ text, Name text
-- needs: CUPTI_ACTIVITY_KIND_KERNEL
-- data: CUDA kernel (--trace=cuda)
-- arguments: base mangled nvtx-name

SELECT coalesce(100.0 * sum(ns) / sum(sum(ns)) OVER (), 0.0), sum(ns), count(*), avg(ns), median(ns), min(ns), max(ns), stddev(ns),
       CASE WHEN gridX + gridY + gridZ NOT NULL THEN printf('%4d %4d %4d', gridX, gridY, gridZ) END,
       CASE WHEN blockX + blockY + blockZ NOT NULL THEN printf('%4d %4d %4d', blockX, blockY, blockZ) END, number_text(number) AS name
-- The limit keeps texts out of the rows that are sorted.
FROM (SELECT ns, number, gridX, gridY, gridZ, blockX, blockY, blockZ FROM KERNEL_NUMBERS LIMIT -1)
GROUP BY number, gridX, gridY, gridZ, blockX, blockY, blockZ
ORDER BY 2 DESC, name, gridX, gridY, gridZ, blockX, blockY, blockZ;
