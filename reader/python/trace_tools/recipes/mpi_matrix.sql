-- SPDX-License-Identifier: Apache-2.0
-- Messages and bytes of MPI by the ranks of sender and receiver, as 'trace stats -r mpi_matrix'
-- tables: MPI_P2P_EVENTS LIBTRACE_MPI_COMMUNICATOR MPI_RANKS StringIds
-- before: mpi_handles

-- As their senders recorded them; clocks do not matter. A receiver whose communicator is not known, or whose rank no folder has, is NULL.
WITH names AS (
  SELECT folder, id FROM StringIds
  WHERE value LIKE 'MPI\_%' ESCAPE '\' AND (value NOT ILIKE '%recv' AND value NOT LIKE '%\_init' ESCAPE '\' OR value IN ('MPI_Sendrecv', 'MPI_Sendrecv_replace'))),
ranks AS (SELECT folder, globalTid >> 24 AS process, min(rank) AS rank FROM MPI_RANKS GROUP BY ALL),
sent AS (
  SELECT e.folder, e.globalTid >> 24 AS process, e.commHandle, e.start, e.size, e.remoteRank
  FROM MPI_P2P_EVENTS AS e JOIN names AS s ON s.folder = e.folder AND s.id = e.textId),
pairs AS (
  SELECT e.folder, e.process, e.remoteRank, h.groupRoot, h.membersHash, h.ordinal, h.size, sum(e.size)::BIGINT AS volume, count(*) AS messages, max(e.size) AS most
  FROM sent AS e
       ASOF LEFT JOIN MPI_HANDLES AS h ON h.folder = e.folder AND h.process = e.process AND h.comm = e.commHandle AND e.start >= h.timestamp
  GROUP BY ALL),
members AS (
  SELECT membersHash, groupRoot, size, ordinal, localRank, any_value(rank) AS rank FROM MPI_HANDLES WHERE membersHash <> 0 GROUP BY ALL),
placed AS (
  SELECT r.rank AS sender, o.rank AS receiver, p.volume, p.messages, p.most
  FROM pairs AS p
       LEFT JOIN ranks AS r ON r.folder = p.folder AND r.process = p.process
       LEFT JOIN members AS o ON o.membersHash = p.membersHash AND o.groupRoot = p.groupRoot AND o.size = p.size AND o.ordinal = p.ordinal
                                 AND o.localRank = p.remoteRank)
SELECT coalesce(100.0 * sum(volume) / nullif(sum(sum(volume)) OVER (), 0), 0.0) AS "Volume (%)", sum(volume)::BIGINT AS "Message Volume",
       sum(messages)::BIGINT AS "Messages", sum(volume) / sum(messages) AS "Avg", max(most) AS "Max", sender AS "From Rank", receiver AS "To Rank"
FROM placed GROUP BY sender, receiver
ORDER BY 2 DESC, sender, receiver
