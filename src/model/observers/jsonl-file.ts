// A file of JSON lines that never delays its callers: lines are built and written one after another
// in the background. Everything is bounded: the waiting lines, the length of a line, and the file,
// which is rotated when it is full (the full one stays as `.1`).
import { appendFile, mkdir, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

export interface JsonlFileOptions {
  /** Absolute. Made with mode 0600, its directory if need be. */
  path: string;
  /** The size in bytes from which a new file is begun. */
  bytesMax: number;
  /**
   * Called with the first fault of the file; lines are lost from then on until one can be written
   * again.
   */
  onFault: (error: unknown) => void;
}

/** How many lines may wait; more are dropped and counted. */
const WAITING_MAX = 64;
/** A longer line is replaced by a note. */
const LINE_CHARS_MAX = 8 * 1024 * 1024;

export class JsonlFile {
  readonly #options: JsonlFileOptions;
  #waiting: (() => object)[] = [];
  #dropped = 0;
  #writing: Promise<void> | null = null;
  /** Unknown until the file was checked. */
  #bytes: number | null = null;
  #isAtFault = false;

  constructor(options: JsonlFileOptions) {
    this.#options = options;
  }

  /**
   * Adds a line, which is made later: `record` must not depend on anything that changes. Never
   * throws, never waits.
   */
  add(record: () => object): void {
    if (this.#waiting.length >= WAITING_MAX) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push(record);
    this.#writing ??= this.#writeAll();
  }

  /** Resolves when everything that was added is written or lost. */
  async flush(): Promise<void> {
    while (this.#writing !== null) await this.#writing;
  }

  async #writeAll(): Promise<void> {
    for (let record = this.#waiting.shift(); record !== undefined; record = this.#waiting.shift()) {
      const dropped = this.#dropped;
      this.#dropped = 0;
      const lines = dropped === 0 ? '' : `${JSON.stringify({ dropped })}\n`;
      try {
        await this.#write(`${lines}${formatLine(record)}\n`);
        this.#isAtFault = false;
      } catch (error) {
        this.#bytes = null;
        if (!this.#isAtFault) this.#options.onFault(error);
        this.#isAtFault = true;
      }
    }
    this.#writing = null;
  }

  async #write(text: string): Promise<void> {
    const { path, bytesMax } = this.#options;
    this.#bytes ??= await openSize(path);
    const bytes = Buffer.byteLength(text);
    if (this.#bytes > 0 && this.#bytes + bytes > bytesMax) {
      await rename(path, `${path}.1`);
      this.#bytes = 0;
    }
    await appendFile(path, text, { mode: 0o600 });
    this.#bytes += bytes;
  }
}

async function openSize(path: string): Promise<number> {
  await mkdir(dirname(path), { recursive: true });
  return await stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}

function formatLine(record: () => object): string {
  const line = JSON.stringify(record());
  return line.length <= LINE_CHARS_MAX
    ? line
    : JSON.stringify({ omitted: 'a line that is too long', chars: line.length });
}
