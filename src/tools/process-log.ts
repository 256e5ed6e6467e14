// The output of a command in the background, in files below the data directory: a folder for each
// command, in it pieces that are named by where they begin in the output. Only the last few pieces
// are kept (G28); positions count from the start of the output all the same. Any process of this
// machine can read what one of them writes.
import { mkdir, open, readdir, readFile, rm, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { PROCESS_OUTPUTS } from './rules/background-process.ts';

const PIECE_BYTES = 1024 * 1024;
const PIECES_MAX = 4;
const NAME_DIGITS = 16;
const PIECE = /^\d{16}\.log$/;
const FOLDER = /^[0-9a-f-]{36}$/;

export interface LoggedOutput {
  bytes: Buffer;
  /** Where the part begins: later than requested when the beginning was deleted. */
  from: number;
  /** How much was written in all. */
  total: number;
}

export class ProcessLog {
  readonly #folder: string;
  readonly #pieces: { name: string }[] = [];
  #file: FileHandle | undefined;
  #fileBytes = 0;
  #total = 0;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** The empty log of a command that is about to start. */
  static async create(dataDir: string, id: string): Promise<ProcessLog> {
    const folder = folderOf(dataDir, id);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return new ProcessLog(folder);
  }

  get totalBytes(): number {
    return this.#total;
  }

  /** Adds to the end. Not to be called again before it is done. */
  async append(chunk: Buffer): Promise<void> {
    for (let at = 0; at < chunk.length;) {
      const file = await this.#openPiece();
      const part = chunk.subarray(at, at + PIECE_BYTES - this.#fileBytes);
      await file.appendFile(part);
      at += part.length;
      this.#fileBytes += part.length;
      this.#total += part.length;
    }
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  async #openPiece(): Promise<FileHandle> {
    if (this.#file !== undefined && this.#fileBytes < PIECE_BYTES) return this.#file;
    await this.close();
    const name = `${String(this.#total).padStart(NAME_DIGITS, '0')}.log`;
    this.#file = await open(join(this.#folder, name), 'a', 0o600);
    this.#fileBytes = 0;
    this.#pieces.push({ name });
    const old = this.#pieces.length > PIECES_MAX ? this.#pieces.shift() : undefined;
    if (old !== undefined) await rm(join(this.#folder, old.name), { force: true });
    return this.#file;
  }
}

/**
 * Up to `bytesMax` of an output from a position on; a negative position counts from its end. Null:
 * this machine has no such output.
 */
export async function readProcessLog(
  { dataDir, id }: { dataDir: string; id: string },
  { from, bytesMax }: { from: number; bytesMax: number },
): Promise<LoggedOutput | null> {
  const folder = folderOf(dataDir, id);
  const names = await readdir(folder).catch(() => null);
  if (names === null) return null;
  const pieces = (
    await Promise.all(
      names
        .filter((name) => PIECE.test(name))
        .toSorted()
        .map((name) => statFile(folder, name)),
    )
  ).filter((piece) => piece !== null);
  const last = pieces.at(-1);
  if (last === undefined) return { bytes: Buffer.alloc(0), from: 0, total: 0 };
  const total = last.from + last.size;
  const start = Math.max(from < 0 ? total + from : from, pieces[0]?.from ?? 0);
  const end = Math.min(start + bytesMax, total);
  const parts = await Promise.all(
    pieces
      .filter((piece) => piece.from < end && piece.from + piece.size > start)
      .map(async (piece) => {
        // A piece that was deleted since counts as not kept.
        const bytes = await readFile(join(folder, piece.name)).catch(() => Buffer.alloc(0));
        return bytes.subarray(Math.max(0, start - piece.from), Math.max(0, end - piece.from));
      }),
  );
  return { bytes: Buffer.concat(parts), from: Math.min(start, total), total };
}

/** Removes the outputs that were last written so long ago, but those that `isKept`. */
export async function trimProcessLogs(
  dataDir: string,
  olderThanMs: number,
  isKept: (id: string) => boolean,
): Promise<void> {
  const all = join(dataDir, PROCESS_OUTPUTS);
  for (const id of await readdir(all).catch((): string[] => [])) {
    if (!FOLDER.test(id) || isKept(id)) continue;
    const folder = join(all, id);
    const newest = Math.max(
      ...(await Promise.all(
        [folder, ...(await readdir(folder).catch((): string[] => [])).map((name) => join(folder, name))].map((path) =>
          stat(path).then(
            ({ mtimeMs }) => mtimeMs,
            () => 0,
          ),
        ),
      )),
    );
    if (Date.now() - newest > olderThanMs) await rm(folder, { recursive: true, force: true });
  }
}

function folderOf(dataDir: string, id: string): string {
  return join(dataDir, PROCESS_OUTPUTS, id);
}

async function statFile(folder: string, name: string): Promise<{ name: string; from: number; size: number } | null> {
  const facts = await stat(join(folder, name)).catch(() => null);
  return facts === null ? null : { name, from: Number.parseInt(name, 10), size: facts.size };
}
