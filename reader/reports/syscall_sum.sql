-- SPDX-License-Identifier: Apache-2.0
-- Syscall Summary
-- columns: Time (%), Total Time (ns), Num Calls, Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), Name text
-- needs: SYSCALL
-- data: syscall

SELECT coalesce(100.0 * sum(ns) / sum(sum(ns)) OVER (), 0.0), sum(ns), count(*), avg(ns), median(ns), min(ns), max(ns), stddev(ns), name
FROM (SELECT c."end" - c.start AS ns, s.value AS name FROM SYSCALL AS c LEFT JOIN StringIds AS s ON s.id = c.nameId)
GROUP BY name
ORDER BY 2 DESC, name;
