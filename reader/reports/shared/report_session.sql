-- SPDX-License-Identifier: Apache-2.0
-- First and last time of the events of a database, the clock at time 0, and the host.

SELECT min(start), max("end"), (SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME LIMIT 1),
       (SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name IN ('Hostname', 'HostName') LIMIT 1)
FROM (SELECT start, "end" FROM OSRT_API
      UNION ALL SELECT start, coalesce("end", start) FROM NVTX_EVENTS WHERE eventType IN (34, 59, 60, 69, 70, 71)
      UNION ALL SELECT start, "end" FROM CUPTI_ACTIVITY_KIND_RUNTIME
      UNION ALL SELECT start, "end" FROM CUPTI_ACTIVITY_KIND_KERNEL
      UNION ALL SELECT start, "end" FROM CUPTI_ACTIVITY_KIND_MEMCPY
      UNION ALL SELECT start, "end" FROM CUPTI_ACTIVITY_KIND_MEMSET
      UNION ALL SELECT start, "end" FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE
      UNION ALL SELECT start, "end" FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION
      UNION ALL SELECT start, "end" FROM MPI_P2P_EVENTS
      UNION ALL SELECT start, "end" FROM MPI_COLLECTIVES_EVENTS)
WHERE typeof(start) = 'integer' AND typeof("end") = 'integer' AND start > -0x2000000000000000 AND "end" < 0x2000000000000000;
