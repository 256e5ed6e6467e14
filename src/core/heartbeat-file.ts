// What HEARTBEAT.md asks for. A file of headings and empty list items contains no task, which needs no model call to find out. It may
// hold tasks with intervals of their own:
//
//   tasks:
//   - name: inbox
//     interval: 30m
//     prompt: Look for urgent mail.

import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from './schedule/civil-time.ts';

/** A task of the file. */
export interface HeartbeatTask {
  name: string;
  intervalMs: number;
  prompt: string;
}

/** When each task was last part of a poll, epoch milliseconds by its name. */
export type TaskTimes = Readonly<Record<string, number>>;

export interface HeartbeatFile {
  /** True when nothing in it asks for anything. */
  isEmpty: boolean;
  tasks: readonly HeartbeatTask[];
  /** True when it contains text in addition to its tasks. */
  hasMore: boolean;
}

const TASKS_MAX = 50;
const TASK_CHARS_MAX = 4_000;
const HEADING = /^#{1,6}(?:\s|$)/;
const EMPTY_ITEM = /^(?:[-*+]|\d+[.)])?\s*(?:\[[ xX]?\]\s*)?$/;
const FENCE = /^(?:```|~~~)/;
const UNITS: Readonly<Record<string, number>> = { s: SECOND_MS, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };

/** Reads the file. */
export function readHeartbeatFile(content: string): HeartbeatFile {
  const lines = withoutComments(content).split(/\r?\n/);
  const start = lines.findIndex((line) => /^tasks:\s*$/.test(line));
  const end = start < 0 ? -1 : endOfBlock(lines, start);
  const tasks = start < 0 ? [] : tasksOf(lines.slice(start + 1, end));
  const others = tasks.length === 0 ? lines : [...lines.slice(0, start), ...lines.slice(end)];
  const hasMore = others.some(asksForSomething);
  return { isEmpty: tasks.length === 0 && !hasMore, tasks, hasMore };
}

/** The tasks whose interval has passed; one that was never part of a poll is due. */
export function dueTasks(tasks: readonly HeartbeatTask[], times: TaskTimes, nowMs: number): HeartbeatTask[] {
  return tasks.filter(({ name, intervalMs }) => {
    const last = Object.hasOwn(times, name) ? times[name] : undefined;
    return last === undefined || nowMs - last >= intervalMs;
  });
}

/** The times after a poll with these tasks; those of tasks that the file no longer has are removed. */
export function timesAfter(
  file: HeartbeatFile,
  times: TaskTimes,
  polled: readonly HeartbeatTask[],
  nowMs: number,
): Record<string, number> {
  const kept = file.tasks.flatMap(({ name }): [string, number][] => {
    if (polled.some((task) => task.name === name)) return [[name, nowMs]];
    const last = Object.hasOwn(times, name) ? times[name] : undefined;
    return last === undefined ? [] : [[name, last]];
  });
  return Object.fromEntries(kept);
}

function withoutComments(content: string): string {
  let rest = '';
  let at = 0;
  for (;;) {
    const start = content.indexOf('<!--', at);
    const end = start < 0 ? -1 : content.indexOf('-->', start);
    if (end < 0) return rest + content.slice(at);
    rest += content.slice(at, start);
    at = end + '-->'.length;
  }
}

function asksForSomething(raw: string): boolean {
  const line = raw.trim();
  return line !== '' && !HEADING.test(line) && !EMPTY_ITEM.test(line) && !FENCE.test(line);
}

/** The block continues while lines are indented, items or blank. */
function endOfBlock(lines: readonly string[], start: number): number {
  for (let at = start + 1; at < lines.length; at += 1) if (!/^(?:\s|-\s|-$|$)/.test(lines[at] ?? '')) return at;
  return lines.length;
}

function tasksOf(lines: readonly string[]): HeartbeatTask[] {
  const items: Record<string, string>[] = [];
  for (const line of lines) {
    const [, dash, key, value] = /^\s*(-\s+)?(name|interval|prompt):\s*([^]*)$/.exec(line) ?? [];
    if (key === undefined || value === undefined) continue;
    if (dash !== undefined || items.length === 0) items.push({});
    const item = items.at(-1);
    if (item !== undefined) item[key] = unquoted(value.trim()).slice(0, TASK_CHARS_MAX);
  }
  const tasks = items.flatMap(({ name = '', interval = '', prompt = '' }) => {
    const intervalMs = msOf(interval);
    return name === '' || prompt === '' || intervalMs === null ? [] : [{ name, intervalMs, prompt }];
  });
  return tasks.filter((task, at) => tasks.findIndex(({ name }) => name === task.name) === at).slice(0, TASKS_MAX);
}

function msOf(interval: string): number | null {
  const [, count, unit] = /^(\d{1,6})\s*([smhd])$/i.exec(interval) ?? [];
  return count === undefined || unit === undefined ? null : Number(count) * (UNITS[unit.toLowerCase()] ?? 0);
}

function unquoted(value: string): string {
  return /^(["']).*\1$/.test(value) && value.length > 1 ? value.slice(1, -1) : value;
}
