// The tolerance of tests for a machine that runs other programs at the same time.

/**
 * A duration that a guarantee promises is multiplied by this before a test compares a measured time
 * with it. The guarantees hold for a process that gets the processor; a test shares two cores with
 * other tests and programs, any of which may delay a step by seconds. The bound still shows which
 * mechanism ended the wait: without that mechanism, the wait of each such test lasts minutes or
 * never ends.
 */
export const SLOWNESS_MAX = 20;

/**
 * The milliseconds of processor time that a computation takes in this thread. Other programs, which
 * make it wait for the processor, do not change them.
 */
export function processorMsOf(compute: () => unknown): number {
  const before = process.threadCpuUsage();
  compute();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
