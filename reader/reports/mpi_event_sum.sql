-- SPDX-License-Identifier: Apache-2.0
-- MPI Event Summary
-- columns: Time (%), Total Time (ns), Instances, Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), Source text, Name text
-- needs: MPI_P2P_EVENTS MPI_COLLECTIVES_EVENTS MPI_START_WAIT_EVENTS MPI_OTHER_EVENTS
-- data: MPI event (--trace=mpi)

SELECT coalesce(100.0 * sum(ns) / sum(sum(ns)) OVER (), 0.0), sum(ns), count(*), avg(ns), median(ns), min(ns), max(ns), stddev(ns), source, name
FROM (SELECT e.ns, e.source, s.value AS name
      FROM (SELECT textId, "end" - start AS ns, 'p2p' AS source FROM MPI_P2P_EVENTS WHERE "end" IS NOT NULL
            UNION ALL SELECT textId, "end" - start AS ns, 'coll' AS source FROM MPI_COLLECTIVES_EVENTS WHERE "end" IS NOT NULL
            UNION ALL SELECT textId, "end" - start AS ns, 'start_wait' AS source FROM MPI_START_WAIT_EVENTS WHERE "end" IS NOT NULL
            UNION ALL SELECT textId, "end" - start AS ns, 'other' AS source FROM MPI_OTHER_EVENTS WHERE "end" IS NOT NULL) AS e
           LEFT JOIN StringIds AS s ON s.id = e.textId)
GROUP BY source, name
ORDER BY 2 DESC, source, name;
