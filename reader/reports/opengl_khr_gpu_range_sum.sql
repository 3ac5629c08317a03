-- SPDX-License-Identifier: Apache-2.0
-- OpenGL KHR_debug GPU Range Summary
-- was: openglkhrgpurangesum
-- columns: Time (%), Total Time (ns), Instances, Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), Range text
-- needs: KHR_DEBUG_EVENTS
-- data: KHR_debug GPU group

-- A group that was not closed ends with the last event.
SELECT coalesce(100.0 * sum(ns) / sum(sum(ns)) OVER (), 0.0), sum(ns), count(*), avg(ns), median(ns), min(ns), max(ns), stddev(ns), name
FROM (SELECT coalesce(k."end", (SELECT max(max(start, coalesce("end", start))) FROM KHR_DEBUG_EVENTS)) - k.start AS ns, coalesce(s.value, k.number) AS name
      FROM KHR_DEBUG_EVENTS AS k LEFT JOIN StringIds AS s ON s.id = k.textId WHERE k.eventClass = 63)
GROUP BY name
HAVING sum(ns) > 0
ORDER BY 2 DESC, name;
