-- SPDX-License-Identifier: Apache-2.0
-- Page Fault Storms
-- severity: warning
-- columns: Minor Faults, Major Faults, Minor per CPU Second, Running (ns), PID, TID, Thread Name text
-- needs: LIBTRACE_THREAD_TIME
-- data: threads' counters (--thread-time=process-tree)
-- before: osrt thread_time
-- arguments: rows
-- advice: The thread had at least 20000 minor page faults and 100000 per second of running time (about a tenth of that time or more), or at least 100 major faults, each of which waits for a device.
-- advice: Reuse memory instead of freeing and allocating it (larger MALLOC_TRIM_THRESHOLD_ and MALLOC_MMAP_THRESHOLD_, pools), use huge pages, or touch it once with MAP_POPULATE. Against major faults: read files ahead (madvise, readahead), or use less memory.

SELECT minor, major, 1e9 * minor / nullif(cpu, 0), cpu, pid, tid, (SELECT n.name FROM THREAD_NAMES AS n WHERE n.globalTid = a.globalTid LIMIT 1)
FROM THREAD_ACCOUNT AS a
WHERE (minor >= 20000 AND minor >= 1e-9 * 100000 * cpu) OR major >= 100
ORDER BY major DESC, minor DESC, pid, tid
LIMIT coalesce(argument('rows'), 20);
