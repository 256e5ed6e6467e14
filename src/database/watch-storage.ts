// Whether the database has lately refused a write because its disk is full or broken. It answers
// every read meanwhile, so an answer proves nothing.

/** After so long without a fault, the disk counts as usable again, in milliseconds. */
const STORAGE_FAULT_MS = 10_000;

/** Codes of PostgreSQL: no space, and an error of the disk. */
const CODES: readonly unknown[] = ['53100', '58030'];

export interface StorageWatch {
  /** Takes a fault of the database, of any kind. */
  note(fault: unknown): void;
  /** Throws the last fault of the disk, unless it is long ago. */
  check(): void;
  /**
   * That fault's code, and when the first of these faults was noted, in milliseconds since the
   * epoch; null: it is long ago.
   */
  fault(): StorageFault | null;
}

export interface StorageFault {
  code: string;
  since: number;
}

/**
 * Makes the memory of one process. `monotonicMs` never goes back; absent: the machine's monotonic
 * clock.
 */
export function watchStorage(monotonicMs: () => number = () => performance.now()): StorageWatch {
  let last: { fault: unknown; code: string; atMs: number; since: number } | null = null;
  const current = (): typeof last => (last !== null && monotonicMs() - last.atMs < STORAGE_FAULT_MS ? last : null);
  return {
    note(fault) {
      const code = (fault as { code?: unknown } | null)?.code;
      if (!CODES.includes(code)) return;
      last = { fault, code: String(code), atMs: monotonicMs(), since: current()?.since ?? Date.now() };
    },
    check() {
      const now = current();
      if (now !== null) throw now.fault;
    },
    fault() {
      const now = current();
      return now && { code: now.code, since: now.since };
    },
  };
}
