-- SPDX-License-Identifier: Apache-2.0
-- NVTX Range Summary
-- was: nvtxsum
-- columns: Time (%), Total Time (ns), Instances, Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), Style text, Range text
-- needs: NVTX_EVENTS
-- data: NV Tools Extension (NVTX) (--trace=nvtx)
-- before: nvtx
-- arguments: merge

SELECT coalesce(100.0 * sum(ns) / sum(sum(ns)) OVER (), 0.0), sum(ns), count(*), avg(ns), median(ns), min(ns), max(ns), stddev(ns), style, name
FROM (SELECT ns, style, CASE WHEN argument('merge') THEN numbers_merged(name) ELSE name END AS name FROM NVTX_RANGES)
GROUP BY style, name
ORDER BY 2 DESC, 3 DESC, style, name;
