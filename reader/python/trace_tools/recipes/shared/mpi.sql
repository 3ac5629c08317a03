-- SPDX-License-Identifier: Apache-2.0
-- Collectives and clocks of MPI, as in the statistics (reader/reports/shared/mpi.sql): the n-th collective of a communicator, which has
-- the same members and number in all its ranks, is the same one in each.

-- How wrong the time of a process and one of another host of its clock group can be; NULL = not known.
CREATE VIEW MPI_CLOCKS AS
WITH pairs AS (SELECT host, errorEnds AS error FROM LIBTRACE_MERGED_PAIR UNION ALL SELECT otherHost, errorEnds FROM LIBTRACE_MERGED_PAIR),
worst AS (SELECT host, max(error) AS error FROM pairs GROUP BY host)
SELECT m.folder, m.globalVid >> 48 AS vid, m.clockGroup, m.host, coalesce(p.error, CASE WHEN m.clock = 'wall' THEN 0 ELSE m.errorEnds END) AS error
FROM LIBTRACE_MERGED AS m LEFT JOIN worst AS p ON p.host = m.host;

CREATE VIEW MPI_MEETINGS AS
WITH placed AS (
  SELECT e.folder, e.start, e."end", e.globalTid, e.textId, h.process, h.comm, h.timestamp, h.rank, h.size, h.groupRoot, h.membersHash, h.ordinal
  FROM MPI_COLLECTIVES_EVENTS AS e
       ASOF JOIN MPI_HANDLES AS h ON h.folder = e.folder AND h.process = e.globalTid >> 24 AND h.comm = e.commHandle AND e.start >= h.timestamp
  WHERE h.membersHash <> 0)
SELECT p.folder, p.start, p."end", p.globalTid, s.value AS name, p.rank, p.size, p.groupRoot, p.membersHash, p.ordinal, coalesce(c.clockGroup, 0) AS clockGroup,
       coalesce(c.host, 0) AS host, CASE WHEN c.vid IS NULL THEN 0 ELSE c.error END AS error,
       row_number() OVER (PARTITION BY p.folder, p.process, p.comm, p.timestamp ORDER BY p.start, p."end") AS n
FROM placed AS p
     LEFT JOIN StringIds AS s ON s.folder = p.folder AND s.id = p.textId
     LEFT JOIN MPI_CLOCKS AS c ON c.folder = p.folder AND c.vid = p.globalTid >> 48;

-- A row if the times of the folders are those of one clock; else an error.
CREATE VIEW ALIGNED AS
SELECT CASE WHEN count(DISTINCT startClock) > 1 THEN error('the folders have different clocks: align the reports by ''trace merge --separate'' first') END AS known
FROM LIBTRACE_REPORT;
