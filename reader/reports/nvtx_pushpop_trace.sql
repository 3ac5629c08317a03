-- SPDX-License-Identifier: Apache-2.0
-- NVTX Push/Pop Range Trace
-- was: nvtxpptrace
-- columns: Start (ns), End (ns), Duration (ns), DurChild (ns), DurNonChild (ns), Name text, PID, TID, Lvl, NumChild, RangeId, ParentId, RangeStack text, NameTree text
-- needs: NVTX_EVENTS
-- data: NV Tools Extension (NVTX)
-- before: nvtx

WITH nested AS MATERIALIZED (
  SELECT *, range_parent(id, start, "end") OVER thread AS parent, range_level(id, start, "end") OVER thread AS level,
         range_stack(id, start, "end") OVER thread AS stack
  FROM NVTX_RANGES
  WHERE style = 'PushPop'
  WINDOW thread AS (PARTITION BY globalTid ORDER BY start, "end" DESC, id ROWS UNBOUNDED PRECEDING)),
children AS MATERIALIZED (SELECT parent, sum(ns) AS ns, count(*) AS count FROM nested WHERE parent IS NOT NULL GROUP BY parent)
SELECT r.start, r."end", r.ns, coalesce(c.ns, 0), r.ns - coalesce(c.ns, 0), r.name, r.pid, r.tid, r.level, coalesce(c.count, 0), r.id, r.parent,
       r.stack, replace(hex(zeroblob(min(r.level, 200))), '0', '-') || r.name
FROM nested AS r LEFT JOIN children AS c ON c.parent = r.id
ORDER BY r.start, r."end" DESC, r.id;
