-- SPDX-License-Identifier: Apache-2.0
-- GPU_CLOCKS: a row for each sampled GPU: means of its samples, and the shares of them in which its clocks were held down.
-- Samples in which it ran kernels count for the clocks; all, if there are none. A GPU is held down by its power limit (4,
-- 0x80, 0x200), its temperature (0x20, 0x40), or hardware (8, 0x400); not by being idle (1), nor by clocks that were asked
-- for (2, 0x10, 0x100).

CREATE TEMP VIEW IF NOT EXISTS GPU_SAMPLES AS
SELECT timestamp, globalTid, gpu, globalTid >> 48 AS vm, CASE WHEN reported & 1 THEN utilizationPercent END AS utilization,
       CASE WHEN reported & 1 << 3 THEN smClockMhz END AS smClock, CASE WHEN reported & 1 << 4 THEN memoryClockMhz END AS memoryClock,
       CASE WHEN reported & 1 << 5 THEN throttleReasons END AS reasons, CASE WHEN reported & 1 << 6 THEN powerMw END AS power,
       CASE WHEN reported & 1 << 7 THEN temperatureCelsius END AS temperature,
       NOT reported & 1 OR utilizationPercent > 0 AS isBusy, CASE WHEN reported & 1 << 5 THEN throttleReasons & 0x6ec <> 0 END AS isHeld
FROM LIBTRACE_GPU_SAMPLE;

CREATE TEMP VIEW IF NOT EXISTS GPU_CLOCKS AS
SELECT s.vm, s.gpu, count(*) AS samples, sum(s.isBusy) AS busy,
       coalesce(avg(CASE WHEN s.isBusy THEN s.smClock END), avg(s.smClock)) AS smClock,
       coalesce(avg(CASE WHEN s.isBusy THEN s.memoryClock END), avg(s.memoryClock)) AS memoryClock,
       min(CASE WHEN s.isBusy THEN s.smClock END) AS leastClock, max(s.smClock) AS mostClock,
       avg(s.isHeld) AS throttled, 1.0 * sum(s.reasons & 0x284 <> 0) / count(s.reasons) AS byPower,
       1.0 * sum(s.reasons & 0x60 <> 0) / count(s.reasons) AS byTemperature, 1.0 * sum(s.reasons & 0x408 <> 0) / count(s.reasons) AS byHardware,
       avg(CASE WHEN NOT s.isHeld AND s.isBusy THEN s.smClock END) AS freeClock,
       avg(CASE WHEN s.isHeld THEN s.smClock END) AS heldClock,
       avg(s.power) / 1000 AS watts, max(s.temperature) AS celsius,
       (SELECT n.value FROM LIBTRACE_GPU_DEVICE AS d JOIN StringIds AS n ON n.id = d.nameId WHERE d.gpu = s.gpu AND d.globalTid >> 48 = s.vm LIMIT 1) AS name,
       (SELECT n.value FROM LIBTRACE_GPU_DEVICE AS d JOIN StringIds AS n ON n.id = d.uuidId WHERE d.gpu = s.gpu AND d.globalTid >> 48 = s.vm LIMIT 1) AS uuid
FROM GPU_SAMPLES AS s
GROUP BY s.vm, s.gpu;
