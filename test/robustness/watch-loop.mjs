/**
 * Loaded into the program by NODE_OPTIONS: writes the longest time for which one piece of work kept the event loop
 * busy, in milliseconds, into the file of WATCH_LOOP_FILE. A tick that is late because other processes have the
 * processor does not count: the time that it is late by is no more than what this process has computed meanwhile.
 * Nothing counts before the file exists: the start of the program is no answer's doing.
 */
import { existsSync, writeFileSync } from 'node:fs';

const everyMs = 10;
let longestMs = 0;
let last = performance.now();
let cpu = process.cpuUsage();

setInterval(() => {
  const now = performance.now();
  const used = process.cpuUsage(cpu);
  const busyMs = Math.min(now - last - everyMs, (used.user + used.system) / 1_000);
  last = now;
  cpu = process.cpuUsage();
  if (busyMs <= longestMs || !existsSync(process.env.WATCH_LOOP_FILE)) return;
  longestMs = busyMs;
  writeFileSync(process.env.WATCH_LOOP_FILE, String(Math.round(longestMs)));
}, everyMs).unref();
