-- SPDX-License-Identifier: Apache-2.0
-- Kernels over all reports: how often, how long, on how many ranks, and how far apart the ranks are
-- tables: CUPTI_ACTIVITY_KIND_KERNEL StringIds
WITH named AS (
  SELECT k._report, s.value AS kernel, k."end" - k.start AS ns
  FROM CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN StringIds AS s ON s.folder = k.folder AND s.id = k.demangledName),
ranks AS (SELECT kernel, _report, sum(ns) AS ns FROM named GROUP BY ALL)
SELECT n.kernel, count(*) AS instances, sum(n.ns)::BIGINT AS total_ns, median(n.ns) AS median_ns, min(n.ns) AS min_ns, max(n.ns) AS max_ns,
       count(DISTINCT n._report) AS reports,
       (SELECT max(r.ns)::DOUBLE / min(r.ns) FROM ranks AS r WHERE r.kernel = n.kernel) AS slowest_to_fastest
FROM named AS n GROUP BY n.kernel ORDER BY total_ns DESC, n.kernel
