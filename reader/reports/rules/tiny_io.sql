-- SPDX-License-Identifier: Apache-2.0
-- Input and Output in Tiny Pieces
-- severity: warning
-- columns: Total Time (ns), Calls, Avg Bytes, PID, Descriptor, Function text
-- needs: OSRT_API
-- data: OS Runtime trace
-- before: osrt
-- arguments: rows
-- advice: At least 1000 calls moved 512 bytes or less on average, so that the calls cost more than the data. Only recorded calls count: by default those of 1 us or more.
-- advice: Use stdio or a larger buffer, readv and writev, or one call for many records.

SELECT sum(ns), count(*), avg(returnValue), pid, object, name
FROM OSRT_CALLS
WHERE name IN ('read', 'write', 'pread', 'pwrite', 'pread64', 'pwrite64', 'send', 'recv', 'sendto', 'recvfrom', 'sendmsg', 'recvmsg') AND returnValue > 0
GROUP BY globalTid >> 24, object, name
HAVING count(*) >= 1000 AND sum(returnValue) <= 512 * count(*) AND sum(ns) >= 1000000
ORDER BY 1 DESC, pid, object, name
LIMIT coalesce(argument('rows'), 20);
