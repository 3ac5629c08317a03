-- SPDX-License-Identifier: Apache-2.0
-- Machine CPU Summary
-- columns: Samples, Avg Busy (%), Max Busy (%), Avg Clock (MHz), Min Clock (MHz), Avg Runnable, Max Runnable, Max Load
-- needs: LIBTRACE_HOST_SAMPLE
-- data: samples of the machine (--machine-samples)

-- Of all CPUs of the machine: a container may have fewer. A clock is the mean of all CPUs; Min Clock that of one CPU.
SELECT count(*), avg(CASE WHEN reported & 1 THEN busyPermille END) / 10, max(CASE WHEN reported & 1 THEN busyPermille END) / 10.0,
       avg(CASE WHEN reported & 2 THEN clockMhz END), min(CASE WHEN reported & 4 THEN clockLeastMhz END),
       avg(CASE WHEN reported & 8 THEN runnable END), max(CASE WHEN reported & 8 THEN runnable END), max(CASE WHEN reported & 16 THEN loadPercent END) / 100.0
FROM LIBTRACE_HOST_SAMPLE
GROUP BY NULL;
