-- SPDX-License-Identifier: Apache-2.0
-- MPI Message Matrix
-- columns: Volume (%), Message Volume, Messages, Avg, Max, From Rank, To Rank
-- needs: MPI_P2P_EVENTS
-- data: message of MPI (--trace=mpi)
-- before: mpi

-- Messages by the ranks in MPI_COMM_WORLD of sender and receiver, as their senders recorded them. A receiver whose communicator is not known, or whose
-- rank in MPI_COMM_WORLD no report has, is left empty.
WITH sent AS (
    SELECT e.size, e.remoteRank, r.rank,
           (SELECT h.id FROM MPI_HANDLES AS h WHERE h.process = e.globalTid >> 24 AND h.comm = e.commHandle AND h.timestamp <= e.start
            ORDER BY h.timestamp DESC LIMIT 1) AS handle
    FROM MPI_P2P_EVENTS AS e
         JOIN StringIds AS s ON s.id = e.textId
         LEFT JOIN (SELECT globalTid >> 24 AS process, min(rank) AS rank FROM MPI_RANKS GROUP BY 1) AS r ON r.process = e.globalTid >> 24
    WHERE s.value NOT LIKE '%recv' AND s.value NOT GLOB '*_init' OR s.value IN ('MPI_Sendrecv', 'MPI_Sendrecv_replace')),
pairs AS (
    SELECT rank, handle, remoteRank, sum(size) AS volume, count(*) AS messages, max(size) AS most FROM sent GROUP BY rank, handle, remoteRank),
placed AS (
    SELECT p.rank, p.volume, p.messages, p.most,
           (SELECT o.rank FROM MPI_HANDLES AS m JOIN MPI_HANDLES AS o ON o.membersHash = m.membersHash AND o.groupRoot = m.groupRoot AND o.size = m.size
                                                                         AND o.ordinal = m.ordinal AND o.localRank = p.remoteRank
            WHERE m.id = p.handle AND m.membersHash <> 0 LIMIT 1) AS receiver
    FROM pairs AS p)
SELECT coalesce(100.0 * sum(volume) / nullif(sum(sum(volume)) OVER (), 0), 0.0), sum(volume), sum(messages), 1.0 * sum(volume) / sum(messages), max(most),
       rank, receiver
FROM placed GROUP BY rank, receiver
ORDER BY 2 DESC, rank, receiver;
