-- SPDX-License-Identifier: Apache-2.0
-- NVTX Push/Pop Range Summary
-- was: nvtxppsum
-- columns: Time (%), Total Time (ns), Instances, Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), Range text
-- needs: NVTX_EVENTS
-- data: NV Tools Extension (NVTX) (--trace=nvtx)
-- before: nvtx

SELECT coalesce(100.0 * sum(ns) / sum(sum(ns)) OVER (), 0.0), sum(ns), count(*), avg(ns), median(ns), min(ns), max(ns), stddev(ns), name
FROM NVTX_RANGES
WHERE style = 'PushPop'
GROUP BY name
ORDER BY 2 DESC, 3 DESC, name;
