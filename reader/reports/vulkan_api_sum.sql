-- SPDX-License-Identifier: Apache-2.0
-- Vulkan API Summary
-- was: vulkanapisum
-- columns: Time (%), Total Time (ns), Num Calls, Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), Name text
-- needs: VULKAN_API
-- data: Vulkan API call (--trace=vulkan)

SELECT coalesce(100.0 * sum(ns) / sum(sum(ns)) OVER (), 0.0), sum(ns), count(*), avg(ns), median(ns), min(ns), max(ns), stddev(ns), name
FROM (SELECT v."end" - v.start AS ns, CASE WHEN substr(s.value, -6, 2) = '_v' THEN substr(s.value, 1, length(s.value) - 6) ELSE s.value END AS name
      FROM VULKAN_API AS v LEFT JOIN StringIds AS s ON s.id = v.nameId WHERE v.eventClass = 53)
GROUP BY name
ORDER BY 2 DESC, name;
