-- SPDX-License-Identifier: Apache-2.0
-- MPI Imbalance by NVTX Range
-- columns: Lost Time (ns), Imbalance (%), Avg (ns), Max (ns), Min (ns), Ranks, Instances, Slowest Rank, Range text
-- needs: NVTX_EVENTS
-- data: NVTX range of a rank of MPI (--trace=mpi)
-- before: nvtx

-- The time of a push/pop range in each rank. If all waited for the slowest one, they lost the difference; imbalance: the slowest one's time above the
-- average. Nothing here depends on the clocks of hosts.
WITH ranks AS (SELECT globalTid >> 24 AS process, min(rank) AS rank FROM MPI_RANKS GROUP BY 1),
times AS (
    SELECT n.name, r.rank, sum(n.ns) AS ns, count(*) AS instances
    FROM NVTX_RANGES AS n JOIN ranks AS r ON r.process = n.globalTid >> 24
    WHERE n.style = 'PushPop'
    GROUP BY n.name, r.rank)
SELECT count(*) * max(ns) - sum(ns), coalesce(100.0 * max(ns) * count(*) / nullif(sum(ns), 0) - 100, 0.0), avg(ns), max(ns), min(ns), count(*),
       sum(instances), (SELECT t.rank FROM times AS t WHERE t.name = o.name ORDER BY t.ns DESC, t.rank LIMIT 1), name
FROM times AS o
GROUP BY name
ORDER BY 1 DESC, name;
