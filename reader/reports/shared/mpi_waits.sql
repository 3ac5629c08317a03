-- SPDX-License-Identifier: Apache-2.0
-- Calls of MPI on the critical path, and which rank each waited for. Needs shared/mpi.sql.
--
-- exact: by the order of the messages between two ranks with a tag, or of the collectives of a communicator, where MPI demands the wait. likely:
-- another rank began to send, or to receive, or came to the collective, during the call. unknown: ranks that the call may have waited for are not in
-- the report.

-- Rows of a call, one for each of its requests, become one.
DROP TABLE IF EXISTS temp.MPI_CALLS;
CREATE TEMP TABLE MPI_CALLS (id INTEGER PRIMARY KEY, globalTid, start, "end", nameId);
INSERT INTO MPI_CALLS (globalTid, start, "end", nameId)
SELECT globalTid, start, "end", min(textId)
FROM (SELECT globalTid, start, "end", textId FROM MPI_P2P_EVENTS
      UNION ALL SELECT globalTid, start, "end", textId FROM MPI_COLLECTIVES_EVENTS
      UNION ALL SELECT globalTid, start, "end", textId FROM MPI_START_WAIT_EVENTS
      UNION ALL SELECT globalTid, start, "end", textId FROM MPI_OTHER_EVENTS)
WHERE "end" > start GROUP BY globalTid, start, "end";
CREATE INDEX temp.MPI_CALLS_ORDER ON MPI_CALLS (globalTid, start);

-- Communicators: `comm` is the same number in all members. `is_whole`: all of them are in the report.
DROP TABLE IF EXISTS temp.MPI_MEMBERS;
CREATE TEMP TABLE MPI_MEMBERS (id INTEGER PRIMARY KEY, process, comm, localRank, is_whole);
INSERT INTO MPI_MEMBERS
SELECT id, process, comm, localRank, count(*) OVER (PARTITION BY comm) = size
FROM (SELECT id, process, localRank, size, dense_rank() OVER (ORDER BY membersHash, groupRoot, size, ordinal) AS comm
      FROM MPI_HANDLES WHERE membersHash <> 0);

-- Messages: calls that send or receive one, and starts of persistent requests. A message is the n-th of its tag between two ranks. A receive of any
-- rank or tag whose message is not known has no place in that order, nor has what MPI_Sendrecv() receives: then numbers of sent and received messages
-- differ.
DROP TABLE IF EXISTS temp.MPI_STARTED;
CREATE TEMP TABLE MPI_STARTED AS
SELECT e.globalTid, e.globalTid >> 24 AS process, e.start, s.value AS name, e.commHandle, e.tag, e.remoteRank, e.requestHandle
FROM MPI_P2P_EVENTS AS e JOIN StringIds AS s ON s.id = e.textId;
CREATE INDEX temp.MPI_STARTED_REQUESTS ON MPI_STARTED (process, requestHandle, start);
INSERT INTO MPI_STARTED
SELECT w.globalTid, i.process, w.start, i.name, i.commHandle, i.tag, i.remoteRank, w.requestHandle
FROM (SELECT w.globalTid, w.start, w.requestHandle,
             (SELECT i.rowid FROM MPI_STARTED AS i
              WHERE i.process = w.globalTid >> 24 AND i.requestHandle = w.requestHandle AND i.start < w.start ORDER BY i.start DESC LIMIT 1) AS init
      FROM MPI_START_WAIT_EVENTS AS w JOIN StringIds AS s ON s.id = w.textId WHERE s.value IN ('MPI_Start', 'MPI_Startall')) AS w
     JOIN MPI_STARTED AS i ON i.rowid = w.init WHERE i.name GLOB '*_init';
DELETE FROM MPI_STARTED WHERE rowid <= (SELECT count(*) FROM MPI_P2P_EVENTS) AND name GLOB '*_init';

DROP TABLE IF EXISTS temp.MPI_MESSAGES;
CREATE TEMP TABLE MPI_MESSAGES (
  id INTEGER PRIMARY KEY, process, globalTid, start, kind, requestHandle, comm, is_whole, receives, sender, receiver, tag, n, count, is_ordered);
INSERT INTO MPI_MESSAGES
SELECT NULL, process, globalTid, start, kind, requestHandle, comm, is_whole, receives, sender, receiver, tag,
       row_number() OVER (channel ORDER BY start), count(*) OVER channel,
       min(globalTid) OVER channel = max(globalTid) OVER channel AND sender >= 0 AND receiver >= 0 AND tag >= 0
FROM (SELECT e.process, e.globalTid, e.start, e.kind, e.requestHandle, m.comm, m.is_whole, e.kind = 'recv' AS receives, e.tag,
             CASE e.kind WHEN 'recv' THEN e.remoteRank ELSE m.localRank END AS sender,
             CASE e.kind WHEN 'recv' THEN m.localRank ELSE e.remoteRank END AS receiver
      FROM (SELECT *, ltrim(replace(replace(lower(substr(name, 5)), '_init', ''), '_replace', ''), 'i') AS kind,
                   (SELECT h.id FROM MPI_HANDLES AS h WHERE h.process = o.process AND h.comm = o.commHandle AND h.timestamp <= o.start
                    ORDER BY h.timestamp DESC LIMIT 1) AS handle
            FROM MPI_STARTED AS o) AS e LEFT JOIN MPI_MEMBERS AS m ON m.id = e.handle)
WINDOW channel AS (PARTITION BY comm, sender, receiver, tag, receives);
CREATE INDEX temp.MPI_MESSAGES_ORDER ON MPI_MESSAGES (comm, sender, receiver, tag, n, receives);
CREATE INDEX temp.MPI_MESSAGES_RECEIVERS ON MPI_MESSAGES (comm, receiver, receives, start);
CREATE INDEX temp.MPI_MESSAGES_REQUESTS ON MPI_MESSAGES (process, requestHandle, start);

-- Collectives, which are the n-th of their communicator. `waits_for` whom MPI demands: all, or the root, or NULL: depends on the implementation.
DROP TABLE IF EXISTS temp.MPI_COLLECTIVES;
CREATE TEMP TABLE MPI_COLLECTIVES (
  id INTEGER PRIMARY KEY, process, globalTid, start, requestHandle, meeting, last, is_whole, localRank, rootRank, waits_for);
INSERT INTO MPI_COLLECTIVES
SELECT NULL, globalTid >> 24, globalTid, start, requestHandle, dense_rank() OVER (ORDER BY membersHash, groupRoot, size, ordinal, n, kind),
       max(start) OVER same, count(*) OVER same = size, localRank, rootRank,
       CASE WHEN kind = 'barrier' THEN 'all' WHEN bytes = 0 THEN NULL
            WHEN kind IN ('allreduce', 'allgather', 'alltoall', 'reduce_scatter_block') THEN 'all'
            WHEN kind IN ('bcast', 'scatter') AND localRank <> rootRank THEN 'root'
            WHEN kind IN ('reduce', 'gather') AND localRank = rootRank THEN 'all' END
FROM (SELECT m.*, ltrim(lower(substr(s.value, 5)), 'i') AS kind FROM MPI_MEETINGS AS m JOIN StringIds AS s ON s.id = m.textId)
WINDOW same AS (PARTITION BY membersHash, groupRoot, size, ordinal, n, kind);
CREATE INDEX temp.MPI_COLLECTIVES_ORDER ON MPI_COLLECTIVES (meeting, start);
CREATE INDEX temp.MPI_COLLECTIVES_REQUESTS ON MPI_COLLECTIVES (process, requestHandle, start);

-- What each call waited for: a message or a collective, of its own or, of a wait, what its request was last used for.
DROP TABLE IF EXISTS temp.MPI_WAITING;
CREATE TEMP TABLE MPI_WAITING AS
SELECT c.id AS call, c.globalTid, c.start, c."end", m.id AS message, NULL AS collective
FROM MPI_MESSAGES AS m JOIN MPI_CALLS AS c ON c.globalTid = m.globalTid AND c.start = m.start WHERE coalesce(m.requestHandle, 0) = 0
UNION ALL
SELECT c.id, c.globalTid, c.start, c."end", NULL, o.id
FROM MPI_COLLECTIVES AS o JOIN MPI_CALLS AS c ON c.globalTid = o.globalTid AND c.start = o.start WHERE coalesce(o.requestHandle, 0) = 0;
INSERT INTO MPI_WAITING
SELECT call, globalTid, start, "end", CASE WHEN collective_start IS NULL OR message_start > collective_start THEN message END,
       CASE WHEN message_start IS NULL OR collective_start > message_start THEN collective END
FROM (SELECT w.*, m.start AS message_start, o.start AS collective_start
      FROM (SELECT c.id AS call, c.globalTid, c.start, c."end",
                   (SELECT m.id FROM MPI_MESSAGES AS m WHERE m.process = w.globalTid >> 24 AND m.requestHandle = w.requestHandle AND m.start < w.start
                    ORDER BY m.start DESC LIMIT 1) AS message,
                   (SELECT o.id FROM MPI_COLLECTIVES AS o WHERE o.process = w.globalTid >> 24 AND o.requestHandle = w.requestHandle AND o.start < w.start
                    ORDER BY o.start DESC LIMIT 1) AS collective
            FROM MPI_START_WAIT_EVENTS AS w JOIN StringIds AS s ON s.id = w.textId JOIN MPI_CALLS AS c ON c.globalTid = w.globalTid AND c.start = w.start
            WHERE s.value GLOB 'MPI_Wait*') AS w
           LEFT JOIN MPI_MESSAGES AS m ON m.id = w.message LEFT JOIN MPI_COLLECTIVES AS o ON o.id = w.collective);

-- The host of each process: 0 in a report that is not merged.
DROP TABLE IF EXISTS temp.MPI_HOSTS;
CREATE TEMP TABLE MPI_HOSTS (process INTEGER PRIMARY KEY, host);
INSERT INTO MPI_HOSTS
SELECT h.process, coalesce(c.host, 0)
FROM (SELECT DISTINCT process FROM MPI_HANDLES) AS h LEFT JOIN MPI_CLOCKS AS c ON c.vid = h.process >> 24 GROUP BY h.process;

-- Who came later than a call began, and before it ended. A rank that entered a collective last is found by its time, so what is exact needs clocks
-- that can tell.
DROP TABLE IF EXISTS temp.MPI_ENDS;
CREATE TEMP TABLE MPI_ENDS AS
WITH messages AS MATERIALIZED (
  SELECT w.call, w.globalTid, w.start, w."end", m.kind, m.comm, m.receiver, m.receives, m.id AS message,
         CASE WHEN m.is_ordered THEN (SELECT o.id FROM MPI_MESSAGES AS o
           WHERE o.comm = m.comm AND o.sender = m.sender AND o.receiver = m.receiver AND o.tag = m.tag AND o.n = m.n AND o.receives <> m.receives
                 AND o.is_ordered AND o.count = m.count) END AS pair,
         CASE m.kind WHEN 'recv' THEN m.receiver WHEN 'sendrecv' THEN m.sender END AS own
  FROM MPI_WAITING AS w JOIN MPI_MESSAGES AS m ON m.id = w.message)
SELECT w.call, w.globalTid, w.start, o.globalTid AS other, o.start AS time,
       CASE WHEN w.receives OR w.kind = 'ssend' THEN 'exact' ELSE 'likely' END AS how
FROM messages AS w JOIN MPI_MESSAGES AS o ON o.id = w.pair
WHERE w.kind NOT IN ('bsend', 'rsend') AND o.start > w.start AND o.start < w."end"
UNION ALL
SELECT w.call, w.globalTid, w.start, o.globalTid, o.start, 'likely'
FROM (SELECT w.*, (SELECT o.id FROM MPI_MESSAGES AS o
                   WHERE o.comm = w.comm AND o.receiver = w.own AND o.receives = 0 AND o.start > w.start AND o.start < w."end"
                         AND o.globalTid <> w.globalTid ORDER BY o.start DESC LIMIT 1) AS found
      FROM messages AS w WHERE w.own >= 0 AND w.pair IS NULL) AS w JOIN MPI_MESSAGES AS o ON o.id = w.found
UNION ALL
SELECT w.call, w.globalTid, w.start, o.globalTid, o.start,
       CASE WHEN (w.waits_for = 'all' AND w.is_whole AND o.start = w.last) OR (w.waits_for = 'root' AND o.localRank = w.rootRank) THEN 'exact' ELSE 'likely' END
FROM (SELECT w.call, w.globalTid, w.start, c.waits_for, c.is_whole, c.last, c.rootRank,
             (SELECT o.id FROM MPI_COLLECTIVES AS o WHERE o.meeting = c.meeting AND o.start > w.start AND o.start < w."end" AND o.globalTid <> w.globalTid
              ORDER BY o.start DESC LIMIT 1) AS found
      FROM MPI_WAITING AS w JOIN MPI_COLLECTIVES AS c ON c.id = w.collective) AS w JOIN MPI_COLLECTIVES AS o ON o.id = w.found;

-- Calls that all ranks of MPI_COMM_WORLD make, or those of a window: the n-th of a function.
DROP TABLE IF EXISTS temp.MPI_COMMON;
CREATE TEMP TABLE MPI_COMMON AS
SELECT c.id, c.globalTid, c.start, c."end", h.membersHash, h.size, c.nameId,
       row_number() OVER (PARTITION BY h.process, c.nameId ORDER BY c.start) AS n
FROM MPI_CALLS AS c JOIN StringIds AS s ON s.id = c.nameId JOIN MPI_HANDLES AS h ON h.process = c.globalTid >> 24
WHERE s.value IN ('MPI_Init', 'MPI_Init_thread', 'MPI_Finalize', 'MPI_Win_create', 'MPI_Win_allocate', 'MPI_Win_allocate_shared',
                  'MPI_Win_create_dynamic', 'MPI_Win_fence', 'MPI_Win_free')
      AND h.id IN (SELECT min(id) FROM MPI_HANDLES GROUP BY process);
CREATE INDEX temp.MPI_COMMON_ORDER ON MPI_COMMON (nameId, membersHash, size, n, start);
INSERT INTO MPI_ENDS
SELECT c.id, c.globalTid, c.start, o.globalTid, o.start, 'likely'
FROM (SELECT c.*, (SELECT o.rowid FROM MPI_COMMON AS o
                   WHERE o.nameId = c.nameId AND o.membersHash = c.membersHash AND o.size = c.size AND o.n = c.n AND o.start > c.start
                         AND o.start < c."end" ORDER BY o.start DESC LIMIT 1) AS found
      FROM MPI_COMMON AS c) AS c JOIN MPI_COMMON AS o ON o.rowid = c.found;

DROP TABLE IF EXISTS temp.MPI_WAITS;
CREATE TEMP TABLE MPI_WAITS (call INTEGER PRIMARY KEY, other, time, how);
INSERT INTO MPI_WAITS
SELECT e.call, e.other, e.time,
       CASE WHEN e.how = 'exact' AND (t.host = o.host OR (SELECT max(p.error) FROM MPI_PAIRS AS p WHERE p.host = t.host AND p.other = o.host)
                                                              < e.time - e.start) THEN 'exact'
            ELSE 'likely' END
FROM (SELECT *, row_number() OVER (PARTITION BY call ORDER BY time DESC, how, other) AS place FROM MPI_ENDS) AS e
     LEFT JOIN MPI_HOSTS AS t ON t.process = e.globalTid >> 24 LEFT JOIN MPI_HOSTS AS o ON o.process = e.other >> 24
WHERE e.place = 1;
-- Nobody who is in the report came during the call, and not all who could have are in it. Waits for locks and epochs of windows are not followed.
INSERT OR IGNORE INTO MPI_WAITS
SELECT w.call, NULL, NULL, 'unknown'
FROM MPI_WAITING AS w LEFT JOIN MPI_MESSAGES AS m ON m.id = w.message LEFT JOIN MPI_COLLECTIVES AS c ON c.id = w.collective
WHERE w."end" - w.start >= 10000
      AND CASE WHEN m.id IS NOT NULL THEN (m.receives OR m.kind = 'sendrecv') AND m.is_whole IS NOT 1 WHEN c.id IS NOT NULL THEN NOT c.is_whole ELSE 1 END
UNION ALL
SELECT c.id, NULL, NULL, 'unknown' FROM MPI_CALLS AS c JOIN StringIds AS s ON s.id = c.nameId
WHERE c."end" - c.start >= 10000
      AND s.value IN ('MPI_Win_lock', 'MPI_Win_lock_all', 'MPI_Win_unlock', 'MPI_Win_unlock_all', 'MPI_Win_flush', 'MPI_Win_flush_all', 'MPI_Win_start',
                      'MPI_Win_complete', 'MPI_Win_wait');
