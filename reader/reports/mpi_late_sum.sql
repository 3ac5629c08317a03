-- SPDX-License-Identifier: Apache-2.0
-- MPI Late Rank Summary
-- columns: Wait (%), Total Wait (ns), Times Last, Avg Late (ns), Max Late (ns), Rank, Size, Clock Error (ns), Name text, Instead text
-- needs: MPI_COLLECTIVES_EVENTS LIBTRACE_MPI_COMMUNICATOR
-- data: collective of MPI whose ranks are all recorded (--trace=mpi)
-- before: mpi nvtx osrt

-- The rank that enters a collective last makes the others wait; it is late by the time after the one before it. Instead: what it did in that time, the
-- innermost of its last NVTX ranges, else its longest kernel, else its longest call of the OS runtime. Clock Error: how wrong the time between it
-- and a rank of another host can be; empty: not known.
DROP TABLE IF EXISTS temp.MPI_LAST;
CREATE TEMP TABLE MPI_LAST AS
SELECT globalTid, textId, rank, size, last, sum, ranks, previous, CASE WHEN hosts = 0 THEN 0 WHEN groups OR unknown THEN NULL ELSE error END AS error
FROM (SELECT globalTid, textId, rank, size, error, start,
             count(*) OVER same AS ranks, max(start) OVER same AS last, sum(start) OVER same AS sum,
             sum(error IS NULL) OVER same AS unknown,
             min(clockGroup) OVER same <> max(clockGroup) OVER same AS groups, min(host) OVER same <> max(host) OVER same AS hosts,
             lag(start) OVER (same ORDER BY start, rank) AS previous, row_number() OVER (same ORDER BY start DESC, rank DESC) AS from_last
      FROM MPI_MEETINGS
      WINDOW same AS (PARTITION BY membersHash, groupRoot, size, ordinal, n, textId))
WHERE from_last = 1 AND ranks = size AND ranks > 1;

DROP TABLE IF EXISTS temp.MPI_INSTEAD_RANGES;
CREATE TEMP TABLE MPI_INSTEAD_RANGES AS
SELECT globalTid, start, "end", name FROM NVTX_RANGES WHERE style = 'PushPop' AND globalTid IN (SELECT globalTid FROM MPI_LAST);
CREATE INDEX temp.MPI_INSTEAD_RANGES_ORDER ON MPI_INSTEAD_RANGES (globalTid, start);

DROP TABLE IF EXISTS temp.MPI_INSTEAD_KERNELS;
CREATE TEMP TABLE MPI_INSTEAD_KERNELS AS
SELECT globalPid >> 24 AS process, start, "end", shortName FROM CUPTI_ACTIVITY_KIND_KERNEL;
CREATE INDEX temp.MPI_INSTEAD_KERNELS_ORDER ON MPI_INSTEAD_KERNELS (process, start);

DROP TABLE IF EXISTS temp.MPI_INSTEAD_CALLS;
CREATE TEMP TABLE MPI_INSTEAD_CALLS AS
SELECT globalTid, start, "end", name, chain FROM OSRT_CALLS WHERE globalTid IN (SELECT globalTid FROM MPI_LAST);
CREATE INDEX temp.MPI_INSTEAD_CALLS_ORDER ON MPI_INSTEAD_CALLS (globalTid, start);

WITH found AS (
    SELECT l.*,
           (SELECT 'range ' || name FROM (SELECT i.name, i.start, i."end", l.previous, min(i."end", l.last) - max(i.start, l.previous) AS share
            FROM MPI_INSTEAD_RANGES AS i WHERE i.globalTid = l.globalTid AND i.start <= l.last ORDER BY i.start DESC LIMIT 32)
            WHERE "end" > previous ORDER BY share DESC, start DESC LIMIT 1) AS range,
           (SELECT shortName FROM (SELECT i.shortName, i.start, i."end", l.previous, min(i."end", l.last) - max(i.start, l.previous) AS share
            FROM MPI_INSTEAD_KERNELS AS i WHERE i.process = l.globalTid >> 24 AND i.start <= l.last ORDER BY i.start DESC LIMIT 32)
            WHERE "end" > previous ORDER BY share DESC, start DESC LIMIT 1) AS kernel,
           (SELECT id FROM (SELECT i.rowid AS id, i.start, i."end", l.previous, min(i."end", l.last) - max(i.start, l.previous) AS share
            FROM MPI_INSTEAD_CALLS AS i WHERE i.globalTid = l.globalTid AND i.start <= l.last ORDER BY i.start DESC LIMIT 32)
            WHERE "end" > previous ORDER BY share DESC, start DESC LIMIT 1) AS call
    FROM MPI_LAST AS l),
told AS (
    SELECT f.*, coalesce(f.range, (SELECT 'kernel ' || value FROM StringIds WHERE id = f.kernel),
                         (SELECT 'call ' || c.name || coalesce((SELECT group_concat(' <- ' || text, '') FROM
                                   (SELECT text FROM FRAMES WHERE id = c.chain ORDER BY stackDepth LIMIT 6)), '')
                          FROM MPI_INSTEAD_CALLS AS c WHERE c.rowid = f.call), '') AS instead
    FROM found AS f)
SELECT coalesce(100.0 * sum(ranks * last - sum) / nullif(sum(sum(ranks * last - sum)) OVER (), 0), 0.0), sum(ranks * last - sum), count(*),
       avg(last - previous), max(last - previous), rank, size, CASE WHEN count(error) = count(*) THEN max(error) END, s.value, instead
FROM told LEFT JOIN StringIds AS s ON s.id = textId
GROUP BY rank, size, s.value, instead
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, max(size), NULL, 'ranks are missing: ''trace merge'' joins reports of ranks', NULL
FROM MPI_MEETINGS WHERE NOT EXISTS (SELECT * FROM MPI_LAST) GROUP BY NULL HAVING max(size) > 1
ORDER BY 2 DESC, 6, 9, 10;
