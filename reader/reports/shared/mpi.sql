-- SPDX-License-Identifier: Apache-2.0
-- Collectives of MPI with their communicators. The n-th collective of a communicator, which has the same members and number in all its ranks, is the
-- same one in each. error: how wrong the time between the rank and one of another host can be, for the host of the clock group where that is the greatest;
-- NULL = not known.

DROP TABLE IF EXISTS temp.MPI_HANDLES;
CREATE TEMP TABLE MPI_HANDLES AS
SELECT id, globalTid >> 24 AS process, comm, timestamp, rank, localRank, size, groupRoot, membersHash, ordinal FROM LIBTRACE_MPI_COMMUNICATOR;
CREATE INDEX temp.MPI_HANDLES_ORDER ON MPI_HANDLES (process, comm, timestamp);
CREATE INDEX temp.MPI_HANDLES_MEMBERS ON MPI_HANDLES (membersHash, groupRoot, size, ordinal, localRank);

-- How wrong the time between two hosts of a clock group can be. Reports merged before that was stated: through the first host of the group.
DROP TABLE IF EXISTS temp.MPI_PAIRS;
CREATE TEMP TABLE MPI_PAIRS AS
WITH hosts AS MATERIALIZED (
    SELECT host, clockGroup, max(CASE WHEN clock = 'wall' THEN 0 ELSE errorEnds END) AS error FROM LIBTRACE_MERGED
    WHERE NOT EXISTS (SELECT * FROM LIBTRACE_MERGED_PAIR) GROUP BY host, clockGroup)
SELECT host, otherHost AS other, errorEnds AS error FROM LIBTRACE_MERGED_PAIR
UNION ALL SELECT otherHost, host, errorEnds FROM LIBTRACE_MERGED_PAIR
UNION ALL SELECT h.host, o.host, h.error + o.error FROM hosts AS h JOIN hosts AS o ON o.clockGroup = h.clockGroup AND o.host <> h.host;
CREATE INDEX temp.MPI_PAIRS_ORDER ON MPI_PAIRS (host, other, error);

DROP TABLE IF EXISTS temp.MPI_CLOCKS;
CREATE TEMP TABLE MPI_CLOCKS AS
SELECT m.globalVid >> 48 AS vid, m.clockGroup, m.host, coalesce(p.error, CASE WHEN m.clock = 'wall' THEN 0 ELSE m.errorEnds END) AS error
FROM LIBTRACE_MERGED AS m LEFT JOIN (SELECT host, max(error) AS error FROM MPI_PAIRS GROUP BY host) AS p ON p.host = m.host;
CREATE INDEX temp.MPI_CLOCKS_ORDER ON MPI_CLOCKS (vid);

DROP TABLE IF EXISTS temp.MPI_MEETINGS;
CREATE TEMP TABLE MPI_MEETINGS AS
SELECT e.start, e."end", e.globalTid, e.textId, e.rootRank, e.bytes, e.requestHandle, m.rank, m.localRank, m.size, m.membersHash, m.groupRoot, m.ordinal, coalesce(c.clockGroup, 0) AS clockGroup, coalesce(c.host, 0) AS host,
       CASE WHEN c.vid IS NULL THEN 0 ELSE c.error END AS error,
       row_number() OVER (PARTITION BY m.id ORDER BY e.start, e.id) AS n
FROM (SELECT o.id, o.start, o."end", o.globalTid, o.textId, o.rootRank, max(coalesce(o.size, 0), coalesce(o.recvSize, 0)) AS bytes, o.requestHandle,
             (SELECT h.id FROM MPI_HANDLES AS h WHERE h.process = o.globalTid >> 24 AND h.comm = o.commHandle AND h.timestamp <= o.start
              ORDER BY h.timestamp DESC LIMIT 1) AS handle
      FROM MPI_COLLECTIVES_EVENTS AS o) AS e
     JOIN MPI_HANDLES AS m ON m.id = e.handle
     LEFT JOIN MPI_CLOCKS AS c ON c.vid = e.globalTid >> 48
WHERE m.membersHash <> 0;
