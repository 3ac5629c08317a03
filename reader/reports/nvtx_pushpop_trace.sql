-- SPDX-License-Identifier: Apache-2.0
-- NVTX Push/Pop Range Trace
-- was: nvtxpptrace
-- columns: Start (ns), End (ns), Duration (ns), DurChild (ns), DurNonChild (ns), Name text, PID, TID, Lvl, NumChild, RangeId, ParentId, RangeStack text, NameTree text
-- needs: NVTX_EVENTS
-- data: NV Tools Extension (NVTX) (--trace=nvtx)
-- before: nvtx

SELECT r.start, r."end", r.ns, p.child_ns, r.ns - p.child_ns, r.name, r.pid, r.tid, p.level, p.children, p.id, p.parent, p.stack,
       replace(hex(zeroblob(min(p.level, 200))), '0', '-') || r.name
FROM nested_ranges('PUSH_POP_SWEEP') AS p CROSS JOIN NVTX_RANGES AS r ON r.id = p.id
ORDER BY r.start, r."end" DESC, r.id;
