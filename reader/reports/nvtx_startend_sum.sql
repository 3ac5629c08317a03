-- SPDX-License-Identifier: Apache-2.0
-- NVTX Start/End Range Summary
-- was: nvtxssesum
-- columns: Time (%), Total Time (ns), Instances, Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), Range text
-- needs: NVTX_EVENTS
-- data: NV Tools Extension (NVTX) (--trace=nvtx)
--
-- Usually almost all events are push/pop ranges, so one pass selects the start/end ranges and the names of the
-- domains.

DROP TABLE IF EXISTS temp.STARTEND;
CREATE TEMP TABLE STARTEND AS
SELECT e.eventType, e."end" - e.start AS ns, e.globalTid >> 24 AS pid, e.domainId, coalesce(e.text, s.value) AS text
FROM NVTX_EVENTS AS e LEFT JOIN StringIds AS s ON s.id = e.textId
WHERE +e.eventType >= 60 AND (e.eventType = 60 OR e.eventType = 71 OR e.eventType = 75);

INSERT OR IGNORE INTO NVTX_DOMAINS SELECT pid, domainId, text FROM STARTEND WHERE eventType = 75 AND domainId <> 0 AND pid IS NOT NULL;

SELECT coalesce(100.0 * sum(ns) / sum(sum(ns)) OVER (), 0.0), sum(ns), count(*), avg(ns), median(ns), min(ns), max(ns), stddev(ns), name
FROM (SELECT r.ns, coalesce(d.name, '') || ':' || coalesce(r.text, '') AS name
      FROM STARTEND AS r LEFT JOIN NVTX_DOMAINS AS d ON d.pid = r.pid AND d.domainId = r.domainId
      WHERE r.eventType <> 75 AND r.ns IS NOT NULL)
GROUP BY name
ORDER BY 2 DESC, 3 DESC, name;
