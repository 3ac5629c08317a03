-- SPDX-License-Identifier: Apache-2.0
-- MPI Late Rank Summary
-- columns: Wait (%), Total Wait (ns), Times Last, Avg Late (ns), Max Late (ns), Rank, Size, Name text
-- needs: MPI_COLLECTIVES_EVENTS LIBTRACE_MPI_COMMUNICATOR
-- data: collective of MPI whose ranks are all recorded

-- The same collective in all ranks: the n-th of a communicator, which has the same members and number in each. The rank that enters it last makes
-- the others wait; it is late by the time after the one before it.
WITH entered AS (
    SELECT e.id, e.start, e.globalTid, e.textId,
           (SELECT m.id FROM LIBTRACE_MPI_COMMUNICATOR AS m
            WHERE m.comm = e.commHandle AND m.globalTid & ~0xffffff = e.globalTid & ~0xffffff AND m.timestamp <= e.start
            ORDER BY m.timestamp DESC LIMIT 1) AS communicator
    FROM MPI_COLLECTIVES_EVENTS AS e),
placed AS (
    SELECT e.start, e.textId, m.rank, m.size, m.groupRoot, m.membersHash, m.ordinal,
           row_number() OVER (PARTITION BY e.communicator ORDER BY e.start, e.id) AS n
    FROM entered AS e JOIN LIBTRACE_MPI_COMMUNICATOR AS m ON m.id = e.communicator
    WHERE m.membersHash <> 0),
ordered AS (
    SELECT start, textId, rank, size,
           count(*) OVER same AS ranks, max(start) OVER same AS last, sum(start) OVER same AS sum, lag(start) OVER (same ORDER BY start, rank) AS before,
           row_number() OVER (same ORDER BY start DESC, rank DESC) AS from_last
    FROM placed
    WINDOW same AS (PARTITION BY membersHash, groupRoot, size, ordinal, n, textId))
SELECT coalesce(100.0 * sum(ranks * last - sum) / nullif(sum(sum(ranks * last - sum)) OVER (), 0), 0.0), sum(ranks * last - sum), count(*),
       avg(last - before), max(last - before), rank, size, s.value
FROM ordered LEFT JOIN StringIds AS s ON s.id = textId
WHERE from_last = 1 AND ranks = size AND ranks > 1
GROUP BY rank, size, s.value
ORDER BY 2 DESC, rank, s.value;
