-- SPDX-License-Identifier: Apache-2.0
-- Input and Output in Tiny Pieces
-- severity: warning
-- columns: Total Time (ns), Calls, Avg Bytes, PID, Descriptor, Function text
-- needs: OSRT_API
-- data: OS Runtime trace (--trace=osrt)
-- before: osrt
-- arguments: rows
-- advice: At least 1000 calls moved 512 bytes or less on average, so that the calls cost more than the data. Only recorded calls count: by default those of 1 us or more.
-- advice: Use stdio or a larger buffer, readv and writev, or one call for many records.

-- columns without an aggregate have the values of the longest call with a callchain
WITH calls AS (
  SELECT sum(ns) AS ns, count(*) AS calls, avg(returnValue) AS bytes, pid, object, name, chain, max(CASE WHEN chain THEN ns ELSE -1 END)
  FROM OSRT_CALLS
  WHERE name IN ('read', 'write', 'pread', 'pwrite', 'pread64', 'pwrite64', 'send', 'recv', 'sendto', 'recvfrom', 'sendmsg', 'recvmsg') AND returnValue > 0
  GROUP BY globalTid >> 24, object, name
  HAVING count(*) >= 1000 AND sum(returnValue) <= 512 * count(*) AND sum(ns) >= 1000000)
SELECT c.ns, c.calls, c.bytes, c.pid, c.object, c.name || coalesce(' at ' || p.place, '')
FROM calls AS c LEFT JOIN OSRT_PLACES AS p ON p.id = c.chain
ORDER BY 1 DESC, c.pid, c.object, c.name
LIMIT coalesce(argument('rows'), 20);
