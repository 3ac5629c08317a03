-- SPDX-License-Identifier: Apache-2.0
-- NVTX GPU Projection Summary
-- columns: Range text, Style text, Total Proj Time (ns), Total Range Time (ns), Range Instances, Proj Avg (ns), Proj Med (ns), Proj Min (ns), Proj Max (ns), Proj StdDev (ns), Total GPU Ops, Avg GPU Ops, Avg Range Lvl, Avg Num Child
-- needs: NVTX_EVENTS
-- data: NV Tools Extension (NVTX) (--trace=nvtx)
-- before: nvtx launch_calls

SELECT r.name, r.style, sum(p.last - p.first), sum(r.ns), count(*), avg(p.last - p.first), median(p.last - p.first), min(p.last - p.first),
       max(p.last - p.first), stddev(p.last - p.first), sum(p.operations), avg(p.operations), avg(p.level), avg(p.children)
FROM nested_ranges('PROJECTION_SWEEP') AS p CROSS JOIN NVTX_RANGES AS r ON r.id = p.id
WHERE p.operations > 0
GROUP BY r.name, r.style
ORDER BY 3 DESC, min(p.id);
