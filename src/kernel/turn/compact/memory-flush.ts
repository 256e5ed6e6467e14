// The flush before a compaction: the notes that the model wants to keep beyond the conversation are
// written to the memory of the day. It can only append, only to that one file, and only once, also
// when an interrupted compaction is resumed: the appended notes carry the compaction's id, and a
// file that contains it is not changed.
import type { FileHandle } from 'node:fs/promises';
import { cutHead, detectEncoding } from '../../../core/text.ts';
import type { AgentSettings, Config } from '../../../config.ts';
import { PathRefusedError } from '../../../files/held-folder.ts';
import { confinedTo } from '../../../files/confines.ts';
import { openToAppend } from '../../../files/inside.ts';
import { MEMORY_TOOL } from '../../../compaction/summary-request.ts';
import { listToolUses } from '../../../core/content.ts';
import type { ModelAnswer } from '../../../core/model-request.ts';
import type { MemoryNote } from '../journal/begin-compaction.ts';
import { isToolAllowed } from '../../../core/tool-policy.ts';

const MEMORY_DIR = 'memory';
const NOTE_CHARS_MAX = 8_000;
/** How far from its end a file is searched for the note of an interrupted flush. */
const SEARCHED_BYTES_MAX = 1024 * 1024;

/**
 * The memory leads out of the workspace, is no regular file, or has an encoding in which no text
 * can be appended.
 */
class MemoryPlaceError extends Error {
  readonly code = 'memory_place_refused';
  constructor(path: string, fault = 'is not a regular file inside the workspace.') {
    super(`The memory ${JSON.stringify(path)} ${fault}`);
    this.name = 'MemoryPlaceError';
  }
}

/**
 * True when an agent may write to its memory: it is on, no policy denies the tool, and the
 * workspace may be written to.
 */
export function mayFlushMemory(config: Config, agent: AgentSettings): boolean {
  if (!agent.compaction.memoryFlush.enabled) return false;
  if (config.sandbox.enabled && config.sandbox.workspaceAccess !== 'read-write') return false;
  return agent.toolPolicies.every((policy) => isToolAllowed({ name: MEMORY_TOOL, isReadOnly: false }, policy));
}

/**
 * The note in an answer, and in which file of that day it goes; null: none. Calls of any other tool
 * are ignored.
 */
export function toMemoryNote(answer: ModelAnswer, day: { now: Date; timeZone: string }): MemoryNote | null {
  const texts = listToolUses(answer.content)
    .filter(({ name }) => name === MEMORY_TOOL)
    .map(({ input }) => (input as { text?: unknown } | null)?.text)
    .filter((text) => typeof text === 'string' && text.trim() !== '');
  if (texts.length === 0) return null;
  const text = cutHead(texts.join('\n\n').trim(), NOTE_CHARS_MAX);
  return { path: `${MEMORY_DIR}/${formatDay(day)}.md`, text };
}

/**
 * Appends a note to its file, unless it is already there. Throws `MemoryPlaceError`, or the error
 * of the file system.
 */
export async function appendMemory(workspaceDir: string, note: MemoryNote, compactionId: string): Promise<void> {
  const file = await openToAppend(note.path, confinedTo(workspaceDir)).catch((error: unknown) => {
    throw error instanceof PathRefusedError ? new MemoryPlaceError(note.path) : error;
  });
  try {
    const mark = `<!-- compaction ${compactionId} -->`;
    const { buffer: beginning } = await file.read(new Uint8Array(2), 0, 2, 0);
    if (detectEncoding(beginning) !== 'utf-8') {
      throw new MemoryPlaceError(note.path, 'is in UTF-16, and notes are appended in UTF-8. Convert it to UTF-8.');
    }
    const before = await readEnd(file);
    if (before.includes(mark)) return;
    const gap = before === '' ? '' : before.endsWith('\n') ? '\n' : '\n\n';
    // One write, so that a reader finds all of it or nothing.
    await file.appendFile(`${gap}${mark}\n${note.text}\n`);
    await file.datasync();
  } finally {
    await file.close();
  }
}

async function readEnd(file: FileHandle): Promise<string> {
  const { size } = await file.stat();
  const length = Math.min(size, SEARCHED_BYTES_MAX);
  const { buffer, bytesRead } = await file.read(new Uint8Array(length), 0, length, size - length);
  return new TextDecoder().decode(buffer.subarray(0, bytesRead));
}

/** The day as `2026-01-31`, in a zone. */
function formatDay({ now, timeZone }: { now: Date; timeZone: string }): string {
  const parts = new Intl.DateTimeFormat('en-US', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' });
  const of = (type: string): string => parts.formatToParts(now).find((part) => part.type === type)?.value ?? '';
  return `${of('year')}-${of('month')}-${of('day')}`;
}
