// The tasks of HEARTBEAT.md, each with an interval of its own: which are due, and when each was last part of a poll.

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
  /** What cannot be read as a task, each with its line and with what to do. */
  faults: readonly string[];
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
