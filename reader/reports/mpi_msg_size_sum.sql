-- SPDX-License-Identifier: Apache-2.0
-- MPI Message Size Summary
-- columns: Total Message Volume, Instances, Avg, Med, Min, Max, StdDev, Source text, Name text
-- needs: MPI_P2P_EVENTS MPI_COLLECTIVES_EVENTS
-- data: MPI event (--trace=mpi)

SELECT sum(m.size), count(*), avg(m.size), median(m.size), min(m.size), max(m.size), stddev(m.size), m.source, s.value
FROM (SELECT 'p2p' AS source, textId, size FROM MPI_P2P_EVENTS WHERE size IS NOT NULL
      UNION ALL SELECT 'coll_send', textId, size FROM MPI_COLLECTIVES_EVENTS WHERE size IS NOT NULL
      UNION ALL SELECT 'coll_recv', textId, recvSize FROM MPI_COLLECTIVES_EVENTS WHERE recvSize IS NOT NULL) AS m
     LEFT JOIN StringIds AS s ON s.id = m.textId
GROUP BY m.source, s.value
ORDER BY 1 DESC, m.source, s.value;
