-- SPDX-License-Identifier: Apache-2.0
-- MPI Straggler Summary
-- columns: Others' Wait (%), Others' Wait (ns), Times Shortest, Collectives, Behind, Rank, Size, Last text
-- needs: MPI_COLLECTIVES_EVENTS LIBTRACE_MPI_COMMUNICATOR
-- data: collective of MPI whose ranks are all recorded (--trace=mpi)
-- before: mpi

-- Without clocks: the same collective of all ranks is found by its number in the communicator, and the rank that spent the least time in it came last.
-- The others waited for as long as they spent more. Behind: collectives by which the rank is behind the farthest one, Last: its last one; a rank that
-- hangs is behind.
WITH stays AS (
    SELECT m.rank, m.size, m.membersHash, m.groupRoot, m.ordinal, m.n, m.textId, m."end" - m.start AS ns,
           count(*) OVER same AS ranks, sum(m."end" - m.start) OVER same AS total,
           row_number() OVER (same ORDER BY m."end" - m.start, m.rank) AS place
    FROM MPI_MEETINGS AS m
    WINDOW same AS (PARTITION BY membersHash, groupRoot, size, ordinal, n, textId)),
ranks AS (
    SELECT rank, size, membersHash, groupRoot, ordinal, max(n) AS reached,
           max(max(n)) OVER (PARTITION BY membersHash, groupRoot, size, ordinal) - max(n) AS behind,
           sum(place = 1 AND ranks = size) AS times, sum(CASE WHEN place = 1 AND ranks = size THEN total - ranks * ns ELSE 0 END) AS waited
    FROM stays GROUP BY rank, size, membersHash, groupRoot, ordinal)
SELECT coalesce(100.0 * waited / nullif(sum(waited) OVER (), 0), 0.0), waited, times, reached, behind, rank, size,
       (SELECT v.value FROM MPI_MEETINGS AS m JOIN StringIds AS v ON v.id = m.textId
        WHERE m.rank = r.rank AND m.membersHash = r.membersHash AND m.groupRoot = r.groupRoot AND m.size = r.size AND m.ordinal = r.ordinal
              AND m.n = r.reached)
FROM ranks AS r WHERE size > 1
ORDER BY behind DESC, waited DESC, rank, size;
