-- SPDX-License-Identifier: Apache-2.0
-- CPU Samples by Thread
-- columns: Samples (%), Samples, CPU Time (ns), PID, TID, Name text
-- needs: COMPOSITE_EVENTS
-- data: CPU samples (--sample=process-tree)

-- A sample represents cpuCycles periods. Only databases of libtrace have the processor time; in others it is empty.
SELECT 100.0 * sum(c.cpuCycles) / sum(sum(c.cpuCycles)) OVER (), sum(c.cpuCycles), sum(l.cpuTime), c.globalTid >> 24 & 0xffffff, c.globalTid & 0xffffff,
       (SELECT s.value FROM ThreadNames AS t JOIN StringIds AS s ON s.id = t.nameId WHERE t.globalTid = c.globalTid LIMIT 1)
FROM COMPOSITE_EVENTS AS c LEFT JOIN LIBTRACE_CPU_SAMPLE AS l ON l.id = c.id
GROUP BY c.globalTid
ORDER BY 2 DESC, 4, 5;
