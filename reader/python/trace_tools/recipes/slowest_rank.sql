-- SPDX-License-Identifier: Apache-2.0
-- For each NVTX range: which report (rank) spends the most time in it, and how much more than the median of all
-- tables: NVTX_EVENTS StringIds
WITH ranges AS (
  SELECT e._report, e._rank, coalesce(e.text, s.value) AS name, e."end" - e.start AS ns
  FROM NVTX_EVENTS AS e LEFT JOIN StringIds AS s ON s.folder = e.folder AND s.id = e.textId
  WHERE e.eventType IN (59, 60, 70, 71) AND e."end" IS NOT NULL),
sums AS (SELECT name, _report, any_value(_rank) AS _rank, sum(ns)::BIGINT AS ns, count(*) AS instances FROM ranges GROUP BY name, _report)
SELECT name AS "range", count(*) AS reports, arg_max(_report, ns) AS slowest_report, arg_max(_rank, ns) AS slowest_rank, max(ns) AS slowest_ns, median(ns) AS median_ns,
       max(ns) / nullif(median(ns), 0) AS ratio
FROM sums GROUP BY name ORDER BY max(ns) - median(ns) DESC, name
