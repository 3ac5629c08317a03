-- SPDX-License-Identifier: Apache-2.0
-- Input and Output in Tiny Pieces
-- severity: warning
-- columns: Total Time (ns), Calls, Avg Bytes, PID, Descriptor, Function text
-- needs: OSRT_API
-- data: OS Runtime trace
-- before: osrt
-- arguments: rows
-- advice: A thousand or more calls moved 512 bytes or less each, on average: the calls cost more than the data. Only recorded calls count (those of a microsecond and more, unless told otherwise).
-- advice: Buffer: stdio, a larger buffer, readv and writev, or one call for many records.

SELECT sum(ns), count(*), avg(returnValue), pid, object, name
FROM OSRT_CALLS
WHERE name IN ('read', 'write', 'pread', 'pwrite', 'pread64', 'pwrite64', 'send', 'recv', 'sendto', 'recvfrom', 'sendmsg', 'recvmsg') AND returnValue > 0
GROUP BY globalTid >> 24, object, name
HAVING count(*) >= 1000 AND sum(returnValue) <= 512 * count(*) AND sum(ns) >= 1000000
ORDER BY 1 DESC, pid, object, name
LIMIT coalesce(argument('rows'), 20);
