-- SPDX-License-Identifier: Apache-2.0
-- CUDA API Trace
-- was: cudaapitrace
-- columns: Start (ns), Duration (ns), Name text, Result, CorrID, Pid, Tid, T-Pri, Thread Name text
-- needs: CUPTI_ACTIVITY_KIND_RUNTIME LIBTRACE_CODEXL_CALL
-- data: CUDA trace (--trace=cuda)

SELECT a.start, a.ns, a.name, a.returnValue, a.correlationId, a.pid, a.tid, t.priority, s.value
FROM API_CALLS AS a
     LEFT JOIN ThreadNames AS t ON t.globalTid = a.globalTid
     LEFT JOIN StringIds AS s ON s.id = t.nameId
ORDER BY a.start, a."end", a.globalTid;
