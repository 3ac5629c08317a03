-- SPDX-License-Identifier: Apache-2.0
-- Vulkan GPU Range Summary
-- was: vulkangpumarkersum
-- columns: Time (%), Total Time (ns), Instances, Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), Range text
-- needs: VULKAN_WORKLOAD
-- data: Vulkan GPU debug label

SELECT coalesce(100.0 * sum(ns) / sum(sum(ns)) OVER (), 0.0), sum(ns), count(*), avg(ns), median(ns), min(ns), max(ns), stddev(ns), name
FROM (SELECT w."end" - w.start AS ns, s.value AS name
      FROM VULKAN_WORKLOAD AS w LEFT JOIN StringIds AS s ON s.id = w.textId WHERE w.textId IS NOT NULL)
GROUP BY name
HAVING sum(ns) > 0
ORDER BY 2 DESC, name;
