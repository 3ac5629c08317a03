-- SPDX-License-Identifier: Apache-2.0
-- NVTX GPU Projection Summary
-- columns: Range text, Style text, Total Proj Time (ns), Total Range Time (ns), Range Instances, Proj Avg (ns), Proj Med (ns), Proj Min (ns), Proj Max (ns), Proj StdDev (ns), Total GPU Ops, Avg GPU Ops, Avg Range Lvl, Avg Num Child
-- needs: NVTX_EVENTS
-- data: NV Tools Extension (NVTX)
-- before: nvtx_gpu

SELECT name, style, sum(projected_ns), sum(ns), count(*), avg(projected_ns), median(projected_ns), min(projected_ns), max(projected_ns),
       stddev(projected_ns), sum(operations), avg(operations), avg(level), avg(children)
FROM PROJECTED_RANGES
GROUP BY name, style
ORDER BY 3 DESC, min(id);
