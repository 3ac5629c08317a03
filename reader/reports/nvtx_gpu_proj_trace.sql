-- SPDX-License-Identifier: Apache-2.0
-- NVTX GPU Projection Trace
-- columns: Name text, Projected Start (ns), Projected Duration (ns), Orig Start (ns), Orig Duration (ns), Style text, PID, TID, NumGPUOps, Lvl, NumChild, RangeId, ParentId, RangeStack text
-- needs: NVTX_EVENTS
-- data: NV Tools Extension (NVTX) (--trace=nvtx)
-- before: nvtx launch_calls

SELECT r.name, p.first, p.last - p.first, r.start, r.ns, r.style, r.pid, r.tid, p.operations, p.level, p.children, p.id, p.parent, p.stack
FROM nested_ranges('PROJECTION_SWEEP') AS p CROSS JOIN NVTX_RANGES AS r ON r.id = p.id
WHERE p.operations > 0
ORDER BY r.start, r."end" DESC, r.id;
