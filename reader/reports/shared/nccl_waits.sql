-- SPDX-License-Identifier: Apache-2.0
-- Kernels of NCCL that waited for another rank: NCCL_WAITS, the input of path.sql. Needs shared/mpi.sql (clocks of hosts).
--
-- A kernel of a collective cannot end before those of all ranks have begun, one that receives not before that which sends has begun. Until then it
-- waits on the device. exact: all ranks of the communicator are in the report, and the rank that began last is known by communicator and sequence
-- number, or by the order of the messages between two ranks. likely: by time alone. unknown: a rank that may have been waited for is not in the
-- report.

-- Kernels by the order in which threads launched them.
DROP TABLE IF EXISTS temp.NCCL_KERNELS;
CREATE TEMP TABLE NCCL_KERNELS (id INTEGER PRIMARY KEY, process, device, context, stream, correlation, start, "end", name, globalTid, launched);
INSERT INTO NCCL_KERNELS
WITH kernels AS MATERIALIZED (
  SELECT k.globalPid >> 24 AS process, k.deviceId AS device, k.contextId AS context, k.streamId AS stream, k.correlationId AS correlation,
         k.start, k."end", s.value AS name
  FROM CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN StringIds AS s ON s.id = coalesce(k.shortName, k.demangledName)
  WHERE s.value GLOB 'nccl*Kernel*' AND k."end" > k.start AND k.correlationId <> 0 AND EXISTS (SELECT * FROM LIBTRACE_NCCL)),
launches AS MATERIALIZED (
  SELECT globalTid >> 24 AS process, correlationId AS correlation, globalTid, min(start) AS launched FROM CUPTI_ACTIVITY_KIND_RUNTIME
  WHERE correlationId IN (SELECT correlation FROM kernels) GROUP BY 1, 2)
SELECT row_number() OVER (ORDER BY l.globalTid, l.launched, k.start), k.process, k.device, k.context, k.stream, k.correlation, k.start, k."end",
       k.name, l.globalTid, l.launched
FROM kernels AS k JOIN launches AS l ON l.process = k.process AND l.correlation = k.correlation;

DROP TABLE IF EXISTS temp.NCCL_RANKS;
CREATE TEMP TABLE NCCL_RANKS (comm INTEGER PRIMARY KEY, ranks, present);
INSERT INTO NCCL_RANKS SELECT comm, max(ranks), count(DISTINCT rank) FROM LIBTRACE_NCCL_COMMUNICATOR WHERE typeof(comm) = 'integer' GROUP BY comm;

-- Collectives and messages, and the kernel of each: NCCL reports them right after their kernel's launch, in the thread that launched it. `n`: of a
-- message, its number among those between two ranks in one direction; `count`: how many there are.
DROP TABLE IF EXISTS temp.NCCL_PARTS;
CREATE TEMP TABLE NCCL_PARTS (
  id INTEGER PRIMARY KEY, kernel, process, start, "end", comm, rank, sequence, name, kind, peer, receives, sender, receiver, n, count);
INSERT INTO NCCL_PARTS
WITH parts AS MATERIALIZED (
  SELECT n.id, n.globalTid, n.start, n.kind, n.comm, n.rank, n.sequence, n.number, n.peer, s.value AS name
  FROM LIBTRACE_NCCL AS n JOIN StringIds AS s ON s.id = n.nameId
  WHERE (n.kind = 1 OR (n.kind = 2 AND s.value IN ('Send', 'Recv'))) AND EXISTS (SELECT * FROM NCCL_KERNELS)),
channels AS MATERIALIZED (
  SELECT globalTid >> 24 AS process, parent, min(start) AS start, max(start + duration) AS "end" FROM LIBTRACE_NCCL
  WHERE kind = 6 AND parent <> 0 AND EXISTS (SELECT * FROM NCCL_KERNELS) GROUP BY 1, 2),
launched AS MATERIALIZED (
  SELECT id, max(kernel) OVER (PARTITION BY globalTid ORDER BY start, part ROWS UNBOUNDED PRECEDING) AS kernel
  FROM (SELECT globalTid, start, id, NULL AS kernel, 1 AS part FROM parts
        UNION ALL SELECT globalTid, launched, NULL, id, 0 FROM NCCL_KERNELS))
SELECT p.id, k.id, k.process, k.start, k."end", p.comm, p.rank, p.sequence, p.name, p.kind, p.peer, p.name = 'Recv',
       CASE p.name WHEN 'Recv' THEN p.peer ELSE p.rank END, CASE p.name WHEN 'Recv' THEN p.rank ELSE p.peer END,
       row_number() OVER (PARTITION BY p.kind, p.comm, p.name, p.rank, p.peer ORDER BY p.start, p.id),
       count(*) OVER (PARTITION BY p.kind, p.comm, p.name, p.rank, p.peer)
FROM parts AS p JOIN launched AS l ON l.id = p.id JOIN NCCL_KERNELS AS k ON k.id = l.kernel
     LEFT JOIN channels AS c ON c.process = k.process AND c.parent = p.number
-- what NCCL saw of the kernel's channels must overlap the kernel: else it is not the one
WHERE c.start IS NULL OR (c.start < k."end" AND c."end" > k.start);
CREATE INDEX temp.NCCL_PARTS_MESSAGES ON NCCL_PARTS (comm, sender, receiver, n) WHERE kind = 2;

-- Collectives: `meeting` is the same number in all ranks, of which each has one part, the first. is_whole: NULL if a rank has more: which of them
-- the others waited for is not known. Who must wait for whom: all for all, or for the root, or the root for all.
DROP TABLE IF EXISTS temp.NCCL_MEETINGS;
CREATE TEMP TABLE NCCL_MEETINGS (meeting, kernel, start, "end", name, rank, peer, is_whole, last, waits_for);
INSERT INTO NCCL_MEETINGS
SELECT dense_rank() OVER (ORDER BY p.comm, p.name, p.sequence), p.kernel, p.start, p."end", p.name, p.rank, p.peer,
       CASE WHEN max(p.parts) OVER same = 1 THEN count(*) FILTER (WHERE p.rank BETWEEN 0 AND r.ranks - 1) OVER same = r.ranks END,
       max(p.start) OVER same,
       CASE WHEN p.name IN ('AllReduce', 'AllGather', 'ReduceScatter', 'AlltoAll') THEN 'all'
            WHEN p.name IN ('Broadcast', 'Scatter') AND p.rank <> p.peer THEN 'root'
            WHEN p.name IN ('Reduce', 'Gather') AND p.rank = p.peer THEN 'all' END
FROM (SELECT *, row_number() OVER (of_rank ORDER BY start, id) AS place, count(*) OVER of_rank AS parts FROM NCCL_PARTS
      WHERE kind = 1 AND comm NOT NULL AND sequence NOT NULL AND typeof(rank) = 'integer'
      WINDOW of_rank AS (PARTITION BY comm, name, sequence, rank)) AS p
     LEFT JOIN NCCL_RANKS AS r ON r.comm = p.comm
WHERE p.place = 1
WINDOW same AS (PARTITION BY p.comm, p.name, p.sequence);
CREATE INDEX temp.NCCL_MEETINGS_ORDER ON NCCL_MEETINGS (meeting, start);

-- Who began later than a kernel, and before it ended. `other`: NULL = not in the report.
DROP TABLE IF EXISTS temp.NCCL_ENDS;
CREATE TEMP TABLE NCCL_ENDS (kernel, other, time, how, text);
INSERT INTO NCCL_ENDS
SELECT m.kernel, o.kernel, o.start,
       CASE WHEN m.is_whole AND ((m.waits_for = 'all' AND o.start = m.last) OR (m.waits_for = 'root' AND o.rank = m.peer)) THEN 'exact'
            ELSE 'likely' END,
       'waiting for rank ' || o.rank || ' (NCCL ' || m.name || ')'
FROM (SELECT *, (SELECT o.rowid FROM NCCL_MEETINGS AS o WHERE o.meeting = m.meeting AND o.start > m.start AND o.start < m."end"
                 ORDER BY o.start DESC LIMIT 1) AS found
      FROM NCCL_MEETINGS AS m) AS m JOIN NCCL_MEETINGS AS o ON o.rowid = m.found
UNION ALL
SELECT p.kernel, o.kernel, o.start, CASE WHEN p.receives AND o.count = p.count THEN 'exact' ELSE 'likely' END,
       'waiting for rank ' || o.rank || ' (NCCL ' || p.name || ')'
FROM NCCL_PARTS AS p JOIN NCCL_PARTS AS o ON o.comm = p.comm AND o.sender = p.sender AND o.receiver = p.receiver AND o.n = p.n
                                             AND o.receives <> p.receives AND o.kind = 2
WHERE p.kind = 2 AND o.start > p.start AND o.start < p."end" AND o.kernel <> p.kernel;
INSERT INTO NCCL_ENDS
SELECT m.kernel, NULL, NULL, 'unknown', 'waiting for a rank that is not in the report (NCCL ' || m.name || ')'
FROM NCCL_MEETINGS AS m WHERE m.is_whole = 0 AND m."end" - m.start >= 10000
UNION ALL
SELECT p.kernel, NULL, NULL, 'unknown', 'waiting for rank ' || p.peer || ', which is not in the report (NCCL ' || p.name || ')'
FROM NCCL_PARTS AS p WHERE p.receives AND p.kind = 2 AND p."end" - p.start >= 10000
     AND NOT EXISTS (SELECT * FROM NCCL_PARTS AS o WHERE o.comm = p.comm AND o.sender = p.sender AND o.receiver = p.receiver AND o.n = p.n
                                                          AND NOT o.receives AND o.kind = 2);

-- By kernel: the last that it waited for, and its collective whose ranks are all in the report.
DROP TABLE IF EXISTS temp.NCCL_LAST;
CREATE TEMP TABLE NCCL_LAST (kernel INTEGER PRIMARY KEY, other, time, how, text);
INSERT INTO NCCL_LAST
SELECT kernel, other, time, how, text
FROM (SELECT *, row_number() OVER (PARTITION BY kernel ORDER BY time DESC, how, other, text) AS place FROM NCCL_ENDS) WHERE place = 1;
DROP TABLE IF EXISTS temp.NCCL_WHOLE;
CREATE TEMP TABLE NCCL_WHOLE (kernel INTEGER PRIMARY KEY, meeting);
INSERT INTO NCCL_WHOLE SELECT kernel, min(meeting) FROM NCCL_MEETINGS WHERE is_whole AND waits_for = 'all' GROUP BY kernel;

-- What each kernel waited for, until `time`. `meeting`: of a collective whose ranks are all in the report; kernels that did not wait have one, too.
DROP TABLE IF EXISTS temp.NCCL_WAITS;
CREATE TEMP TABLE NCCL_WAITS (
  process INTEGER, correlation INTEGER, start INTEGER, device, context, stream, "end", name, meeting, time, other_process, other_correlation, how,
  text, PRIMARY KEY (process, correlation, start)) WITHOUT ROWID;
INSERT OR IGNORE INTO NCCL_WAITS
SELECT k.process, k.correlation, k.start, k.device, k.context, k.stream, k."end", k.name, m.meeting, e.time, o.process, o.correlation,
       CASE WHEN e.how = 'exact' AND coalesce(h.host, 0) <> coalesce(i.host, 0)
                 AND coalesce((SELECT max(p.error) FROM MPI_PAIRS AS p WHERE p.host = h.host AND p.other = i.host), e.time) >= e.time - k.start
            THEN 'likely'
            ELSE e.how END, e.text
FROM NCCL_KERNELS AS k
     LEFT JOIN NCCL_LAST AS e ON e.kernel = k.id
     LEFT JOIN NCCL_KERNELS AS o ON o.id = e.other
     LEFT JOIN NCCL_WHOLE AS m ON m.kernel = k.id
     LEFT JOIN (SELECT vid, min(host) AS host FROM MPI_CLOCKS GROUP BY vid) AS h ON h.vid = k.process >> 24
     LEFT JOIN (SELECT vid, min(host) AS host FROM MPI_CLOCKS GROUP BY vid) AS i ON i.vid = o.process >> 24
WHERE e.kernel IS NOT NULL OR m.kernel IS NOT NULL;
