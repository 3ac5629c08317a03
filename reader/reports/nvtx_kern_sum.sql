-- SPDX-License-Identifier: Apache-2.0
-- NVTX Range Kernel Summary
-- was: nvtxkernsum
-- columns: NVTX Range text, Style text, PID, TID, NVTX Inst, Kern Inst, Total Time (ns), Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), Kernel Name text
-- needs: NVTX_EVENTS
-- data: NV Tools Extension (NVTX)
-- before: nvtx_gpu
-- arguments: base mangled

SELECT range_name, style, pid, tid, count(DISTINCT range), count(DISTINCT launch), sum(ns), avg(ns), median(ns), min(ns), max(ns), stddev(ns), name
FROM (SELECT *, operation_end - operation_start AS ns FROM RANGE_OPERATIONS WHERE category = 'CUDA_KERNEL')
GROUP BY range_name, style, pid, tid, name
ORDER BY range_name, 7 DESC, style, pid, tid, name;
