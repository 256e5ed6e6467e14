// Whether the database has lately refused a write because its disk is full or broken. It answers every read meanwhile, so an answer proves nothing.

/** After so long without a fault, the disk counts as usable again, in milliseconds. */
const STORAGE_FAULT_MS = 10_000;

/** Codes of PostgreSQL: no space, and an error of the disk. */
const CODES: readonly unknown[] = ['53100', '58030'];

/** Makes the memory of one process. `monotonicMs` never goes back; absent: the machine's monotonic clock. */
export function watchStorage(monotonicMs: () => number = () => performance.now()) {
  let last: { fault: unknown; atMs: number } | null = null;
  return {
    /** Takes a fault of the database, of any kind. */
    note(fault: unknown): void {
      if (CODES.includes((fault as { code?: unknown } | null)?.code)) last = { fault, atMs: monotonicMs() };
    },
    /** Throws the last fault of the disk, unless it is long ago. */
    check(): void {
      if (last !== null && monotonicMs() - last.atMs < STORAGE_FAULT_MS) throw last.fault;
    },
  };
}
