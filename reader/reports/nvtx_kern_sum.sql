-- SPDX-License-Identifier: Apache-2.0
-- NVTX Range Kernel Summary
-- was: nvtxkernsum
-- columns: NVTX Range text, Style text, PID, TID, NVTX Inst, Kern Inst, Total Time (ns), Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), Kernel Name text
-- needs: NVTX_EVENTS
-- data: NV Tools Extension (NVTX) (--trace=nvtx)
-- before: nvtx launch_calls
-- arguments: base mangled

-- A kernel outside of all ranges has a row, too: without a range, and without a thread if its call is not known.
SELECT CASE WHEN e.id IS NOT NULL THEN coalesce(d.name, '') || ':' || coalesce(e.text, s.value, '') END,
       CASE WHEN e.eventType IN (59, 70) THEN 'PushPop' WHEN e.id IS NOT NULL THEN 'StartEnd' END,
       p.thread >> 24 & 0xffffff, p.thread & 0xffffff, count(DISTINCT p.range), count(DISTINCT p.launch), sum(k.ns), avg(k.ns), median(k.ns), min(k.ns), max(k.ns),
       stddev(k.ns), k.name
FROM range_launches('KERNEL_SWEEP') AS p
     CROSS JOIN KERNELS AS k ON k.id = p.launch
     LEFT JOIN NVTX_EVENTS AS e ON e.id = p.range
     LEFT JOIN StringIds AS s ON s.id = e.textId
     LEFT JOIN NVTX_DOMAINS AS d ON d.pid = e.globalTid >> 24 AND d.domainId = e.domainId
GROUP BY 1, 2, 3, 4, k.name
ORDER BY 1, 7 DESC, 2, 3, 4, k.name;
