-- SPDX-License-Identifier: Apache-2.0
-- How long each NVTX range took, report by report in the order of their start: its pace over ranks or nights
-- tables: NVTX_EVENTS StringIds TARGET_INFO_SESSION_START_TIME
WITH ranges AS (
  SELECT e._report, e.folder, coalesce(e.text, s.value) AS name, e."end" - e.start AS ns
  FROM NVTX_EVENTS AS e LEFT JOIN StringIds AS s ON s.folder = e.folder AND s.id = e.textId
  WHERE e.eventType IN (59, 60, 70, 71) AND e."end" IS NOT NULL)
SELECT name AS "range", r._report AS report, any_value(t.utcTime) AS began, count(*) AS instances, median(ns) AS median_ns, quantile_cont(ns, 0.95) AS p95_ns, max(ns) AS max_ns
FROM ranges AS r LEFT JOIN TARGET_INFO_SESSION_START_TIME AS t ON t.folder = r.folder
GROUP BY name, r._report, r.folder ORDER BY name, min(t.utcEpochNs), report
