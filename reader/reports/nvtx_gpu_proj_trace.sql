-- SPDX-License-Identifier: Apache-2.0
-- NVTX GPU Projection Trace
-- columns: Name text, Projected Start (ns), Projected Duration (ns), Orig Start (ns), Orig Duration (ns), Style text, PID, TID, NumGPUOps, Lvl, NumChild, RangeId, ParentId, RangeStack text
-- needs: NVTX_EVENTS
-- data: NV Tools Extension (NVTX)
-- before: nvtx_gpu

SELECT name, first, projected_ns, start, ns, style, pid, tid, operations, level, children, id, parent, stack
FROM PROJECTED_RANGES
ORDER BY start, "end" DESC, id;
