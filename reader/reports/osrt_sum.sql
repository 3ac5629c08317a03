-- SPDX-License-Identifier: Apache-2.0
-- OS Runtime Summary
-- was: osrtsum
-- columns: Time (%), Total Time (ns), Num Calls, Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), Name text
-- needs: OSRT_API
-- data: OS Runtime trace (--trace=osrt)

SELECT coalesce(100.0 * sum(ns) / sum(sum(ns)) OVER (), 0.0), sum(ns), count(*), avg(ns), median(ns), min(ns), max(ns), stddev(ns), name
FROM (SELECT o."end" - o.start AS ns, s.value AS name
      FROM OSRT_API AS o LEFT JOIN StringIds AS s ON s.id = o.nameId
      WHERE o.eventClass = 27)
GROUP BY name
ORDER BY 2 DESC, 3 DESC, name;
