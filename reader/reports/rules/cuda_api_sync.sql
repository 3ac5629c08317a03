-- SPDX-License-Identifier: Apache-2.0
-- CUDA Synchronization APIs
-- severity: info
-- columns: Duration (ns), Start (ns), PID, TID, API Name text
-- needs: CUPTI_ACTIVITY_KIND_RUNTIME
-- data: CUDA trace (--trace=cuda)
-- arguments: rows
-- advice: In these calls the host waits until all earlier work is done.
-- advice: Wait for less: cudaStreamWaitEvent lets one stream wait for another, cudaEventSynchronize waits for one event.

SELECT ns, start, pid, tid, full_name || coalesce(' at ' || p.place, '')
FROM API_CALLS LEFT JOIN CUDA_PLACES AS p ON p.id = callchainId
WHERE name LIKE 'cudaDeviceSynchronize%' OR name LIKE 'cudaStreamSynchronize%' OR name LIKE 'cuCtxSynchronize%' OR name LIKE 'cuStreamSynchronize%'
ORDER BY ns DESC, start
LIMIT coalesce(argument('rows'), 50);
