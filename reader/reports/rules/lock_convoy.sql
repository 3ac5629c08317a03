-- SPDX-License-Identifier: Apache-2.0
-- Lock Convoys
-- severity: warning
-- columns: Waited (ns), Waits, Threads, Longest (ns), PID, Lock text, Function text, Waiter Callchain text, Holder TID, Holder Name text, Holder Call text,
-- columns: Holder Callchain text
-- needs: OSRT_API
-- data: OS Runtime trace (--trace=osrt)
-- before: osrt
-- arguments: rows
-- advice: Several threads wait for the same lock again and again, in total at least 20 times, 10 ms, and 10 % of the lifetime of their process.
-- advice: The row shows what the holder did during the longest wait: move that out of the critical section, hold the lock for a shorter time, or split it.

WITH waits AS MATERIALIZED (
  SELECT *, coalesce(object, -chain) AS lock FROM OSRT_CALLS
  WHERE name IN ('pthread_mutex_lock', 'pthread_mutex_timedlock', 'pthread_mutex_clocklock', 'pthread_rwlock_rdlock', 'pthread_rwlock_wrlock',
                 'pthread_rwlock_timedrdlock', 'pthread_rwlock_timedwrlock', 'pthread_rwlock_clockrdlock', 'pthread_rwlock_clockwrlock',
                 'pthread_spin_lock')),
lives AS MATERIALIZED (SELECT globalTid >> 24 AS process, max("end") - min(start) AS ns FROM THREAD_LIFETIMES GROUP BY 1),
-- columns without an aggregate have the values of the longest wait
locks AS (
  SELECT pid, globalTid, lock, object, sum(ns) AS waited, count(*) AS waits, count(DISTINCT globalTid) AS threads, max(ns) AS longest, name, chain,
         start, "end", holder
  FROM waits WHERE lock IS NOT NULL GROUP BY globalTid >> 24, lock),
convoys AS MATERIALIZED (
  SELECT k.*, (k.globalTid & ~0xffffff) | k.holder AS holder_tid
  FROM locks AS k JOIN lives AS p ON p.process = k.globalTid >> 24
  WHERE k.threads > 1 AND k.waits >= 20 AND k.waited >= 10000000 AND 10 * k.waited >= p.ns
  ORDER BY k.waited DESC LIMIT coalesce(argument('rows'), 20)),
-- the holder's call that overlaps the wait most; it may wait for the lock again before the wait is over
held AS (
  SELECT c.globalTid, c.lock, h.name, h.chain, max(min(h."end", c."end") - max(h.start, c.start)) AS overlap
  FROM convoys AS c JOIN OSRT_CALLS AS h ON h.globalTid = c.holder_tid AND h.start < c."end" AND h."end" > c.start
       AND h.object IS NOT c.object
  GROUP BY c.globalTid, c.lock)
SELECT c.waited, c.waits, c.threads, c.longest, c.pid, CASE WHEN c.object IS NOT NULL THEN printf('0x%llx', c.object) END,
       c.name || coalesce(' at ' || w.place, ''),
       (SELECT group_concat(text, ' < ') FROM (
         SELECT text FROM FRAMES WHERE id = c.chain ORDER BY stackDepth LIMIT 8)),
       c.holder, (SELECT n.name FROM THREAD_NAMES AS n WHERE n.globalTid = c.holder_tid LIMIT 1),
       h.name || coalesce(' at ' || p.place, ''),
       (SELECT group_concat(text, ' < ') FROM (
         SELECT text FROM FRAMES WHERE id = h.chain ORDER BY stackDepth LIMIT 8))
FROM convoys AS c LEFT JOIN held AS h ON h.globalTid = c.globalTid AND h.lock = c.lock
     LEFT JOIN OSRT_PLACES AS w ON w.id = c.chain LEFT JOIN OSRT_PLACES AS p ON p.id = h.chain
ORDER BY c.waited DESC;
