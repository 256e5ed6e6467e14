// The `grep` tool: searches the contents of the workspace's files. It opens them as every file tool
// does, and a thread of its own matches their lines. A program such as ripgrep walks by path, and a
// command could redirect it; where one was installed, the same pattern had another meaning.
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { orAborted } from '../clock.ts';
import { withFileSlot } from '../files/file-slots.ts';
import { HeldFolder, openEntry, irregular } from '../files/held-folder.ts';
import { confinedTo, resolveInside } from '../files/confines.ts';
import { readBytes } from '../files/inside.ts';
import { Gate } from '../gate.ts';
import { defineTool } from './define-tool.ts';
import type { Piece, PieceMatches } from './grep-thread.ts';
import { TextFileError } from './text-files.ts';
import { errorOutcome, type Tool, type ToolCall } from './tool.ts';
import { orUnreadable, walkFiles, WALKED_ENTRIES_MAX, type WalkedFile } from './walk-files.ts';
import { runInWorkspace } from './workspace-files.ts';

const OUTPUT_CHARS_MAX = 100 * 1024;
const MATCH_MS_MAX = 60_000;
const PIECE_BYTES = 256 * 1024;
/**
 * Compiling a longer one can take minutes, in which the thread cannot be ended, and then end the
 * process: 3,300 nested groups have done so.
 */
const PATTERN_CHARS_MAX = 2_000;
const THREADS_MAX = 4;
/**
 * More than a thread has by default: compiling a deeply nested pattern on less ends the process.
 */
const STACK_MB = 8;

const gate = new Gate(THREADS_MAX);

export const grepTool: Tool = defineTool({
  name: 'grep',
  description:
    'Search the contents of files for a regular expression. Answers with lines of the form path:line:text, at most 100 KiB.',
  summary: 'Search file contents for patterns',
  input: z.strictObject({
    pattern: z.string().min(1).max(10_000).describe('Regular expression'),
    path: z.string().min(1).optional().describe('File or directory to search, relative to the workspace; default all'),
  }),
  isIdempotent: true,
  isReadOnly: true,
  async run({ pattern, path = '.' }, call) {
    if (pattern.length > PATTERN_CHARS_MAX) {
      return errorOutcome(
        `grep: pattern: has ${pattern.length} characters, and at most ${PATTERN_CHARS_MAX} can be matched; give a shorter one`,
      );
    }
    let compiled: RegExp;
    try {
      compiled = compile(pattern);
    } catch (error) {
      return errorOutcome(`grep: pattern: ${(error as Error).message}`);
    }
    return runInWorkspace({ tool: 'grep', call, name: path }, () =>
      gate.run(() => findLines(compiled, path, call), call.signal),
    );
  },
});

/** Flags at the beginning, as in `(?i)word`, are those of other dialects. */
function compile(pattern: string): RegExp {
  const [all = '', flags] = /^\(\?([ims]+)\)/.exec(pattern) ?? [];
  return new RegExp(pattern.slice(all.length), flags);
}

/** What was found, for the model. Rejects with the signal's reason after an abort. */
async function findLines(pattern: RegExp, name: string, { workspaceDir, signal }: ToolCall): Promise<string> {
  const { path, root } = await resolveInside(name, confinedTo(workspaceDir));
  const limit = AbortSignal.timeout(MATCH_MS_MAX);
  const either = AbortSignal.any([signal, limit]);
  const thread = startThread(pattern);
  const found = new FoundLines();
  const matchFile = async ({ folder, entry }: Pick<WalkedFile, 'folder' | 'entry'>): Promise<boolean> => {
    const shown = join(folder.path, entry);
    const opened = await withFileSlot(shown, () => openEntry(folder, entry, { root, name: entry }), {
      signal: either,
      close: ({ file }) => file.close(),
    }).catch(orUnreadable);
    if (opened === null) return true;
    try {
      // A message to the thread has all of the memory that its bytes are in.
      const pieceBytes = Math.min(PIECE_BYTES, Number(opened.facts.size) + 1);
      for (let at = 0; ; at += pieceBytes) {
        const bytes = await withFileSlot(shown, () => readBytes(opened.file, at, pieceBytes), { signal: either });
        const isLast = bytes.length < pieceBytes;
        const { lines, isBinary } = await matchPiece(thread, { bytes, isFirst: at === 0, isLast }, either);
        if (!found.add(shown, lines)) return false;
        if (isLast || isBinary) return true;
      }
    } finally {
      await opened.file.close();
    }
  };
  try {
    const isComplete = await orAborted(either, async () => {
      const facts = await withFileSlot(path, () => stat(path), { signal: either });
      if (facts.isDirectory()) return walkFiles({ root: path, start: '', signal: either }, matchFile);
      if (!facts.isFile()) throw irregular(name);
      const folder = await withFileSlot(path, () => HeldFolder.open(dirname(path)), {
        signal: either,
        close: (late) => late.close(),
      });
      await matchFile({ folder, entry: basename(path) }).finally(() => folder.close());
      return true;
    });
    if (!isComplete) found.note(`[stopped after ${WALKED_ENTRIES_MAX} entries; search in a smaller path]`);
  } catch (error) {
    signal.throwIfAborted();
    if (!limit.aborted) throw error;
    found.note(`[the search was cut short after ${MATCH_MS_MAX / 1000} s]`);
  } finally {
    await thread.terminate();
  }
  return found.text;
}

class FoundLines {
  readonly #lines: string[] = [];
  #charsLeft = OUTPUT_CHARS_MAX;

  /** False once there is no room for more. */
  add(path: string, matches: PieceMatches['lines']): boolean {
    for (const { number, text } of matches) {
      const line = `${path}:${number}:${text}`;
      this.#charsLeft -= line.length + 1;
      if (this.#charsLeft < 0) {
        this.note(`[output truncated at ${OUTPUT_CHARS_MAX} bytes]`);
        return false;
      }
      this.#lines.push(line);
    }
    return true;
  }

  note(note: string): void {
    this.#lines.push(note);
  }

  get text(): string {
    return this.#lines.length === 0 ? 'no matches' : this.#lines.join('\n');
  }
}

function startThread(pattern: RegExp): Worker {
  return new Worker(new URL(`./grep-thread${extname(import.meta.url)}`, import.meta.url), {
    workerData: pattern,
    // Nothing of this process is any of its business.
    env: {},
    argv: [],
    resourceLimits: { stackSizeMb: STACK_MB },
    stdout: true,
    stderr: true,
  });
}

async function matchPiece(thread: Worker, piece: Piece, signal: AbortSignal): Promise<PieceMatches> {
  thread.postMessage(piece);
  try {
    const [matches] = (await once(thread, 'message', { signal })) as [PieceMatches];
    return matches;
  } catch {
    signal.throwIfAborted();
    // Its size is known when it is first matched. The error of the thread has the whole pattern.
    throw new TextFileError('pattern: is too large to be matched; give one with fewer or smaller repetitions');
  }
}
