-- SPDX-License-Identifier: Apache-2.0
-- The time of each NVTX range by rank of MPI, and what is lost if all wait for the slowest, as 'trace stats -r mpi_range_sum'
-- tables: NVTX_EVENTS MPI_RANKS StringIds
-- before: nvtx
WITH ranks AS (SELECT folder, globalTid >> 24 AS process, min(rank) AS rank FROM MPI_RANKS GROUP BY ALL),
times AS (
  SELECT n.name, r.rank, sum(n."end" - n.start)::BIGINT AS ns, count(*) AS instances
  FROM NVTX_PUSH_POP AS n JOIN ranks AS r ON r.folder = n.folder AND r.process = n.globalTid >> 24
  GROUP BY n.name, r.rank)
SELECT (count(*) * max(ns) - sum(ns))::BIGINT AS "Lost Time (ns)", coalesce(100.0 * max(ns) * count(*) / nullif(sum(ns), 0) - 100, 0.0) AS "Imbalance (%)",
       avg(ns) AS "Avg (ns)", max(ns) AS "Max (ns)", min(ns) AS "Min (ns)", count(*) AS "Ranks", sum(instances)::BIGINT AS "Instances",
       arg_max(rank, {'ns': ns, 'rank': -rank}) AS "Slowest Rank", name AS "Range"
FROM times GROUP BY name
ORDER BY 1 DESC, name
