// `holdfast batch results`: results as lines, to stdout or to a file that is continued where it has
// no gap.
import { createReadStream, createWriteStream } from 'node:fs';
import { truncate } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ApiClient } from '../../../cli/api-client.ts';
import { CliError, EXIT, usageError, type ExitCode } from '../../../cli/cli-error.ts';
import { command, type InputOf } from '../../../cli/command.ts';
import { fileError, writeError } from '../../../cli/file-error.ts';
import { ITS_ID } from '../../../cli/options.ts';
import { interruption } from '../../../cli/poll-until-end.ts';
import type { Terminal } from '../../../cli/terminal.ts';

const NEWLINE = 0x0a;

/** How a line begins, in the service's own format and in OpenAI's. */
const RESULT_BEGINNINGS = ['{"n":', '{"id":"batch_req_'] as const;

const TAKES = {
  ...ITS_ID,
  out: ['--out <file>', 'write to this file; if it exists, continue at its end'],
  all: ['--all', 'also items that have not ended'],
  format: ['--format <format>', 'of the lines', ['holdfast', 'openai'], 'holdfast'],
} as const;

export const results = command({
  summary: 'print the results of a batch as lines, in input order',
  takes: TAKES,
  run: writeResults,
});

async function writeResults(
  { out, ...choice }: InputOf<typeof TAKES>,
  api: ApiClient,
  terminal: Terminal,
): Promise<ExitCode> {
  const signal = interruption();
  const known = out === undefined ? NOTHING_WRITTEN : await readWritten(out);
  // From the last line of the file on: it shows whether the file is one of this batch.
  const after = known.lines === 0 ? undefined : String(known.lines - 1);
  const lines = await api.getBatchResults({ ...choice, after }, { signal });
  // Node's types have two names for this class.
  const body = Readable.fromWeb(lines as Parameters<typeof Readable.fromWeb>[0]);
  if (out === undefined) {
    for await (const text of body.setEncoding('utf8')) terminal.write(String(text));
    return EXIT.ok;
  }
  try {
    if (known.lines > 0) {
      const rest = await withoutLine(body, known.lastLine);
      if (rest === null) throw otherResults(out);
      await truncate(out, known.bytes);
      await pipeline(rest, createWriteStream(out, { flags: 'a' }), { signal });
    } else await pipeline(body, createWriteStream(out), { signal });
  } catch (error) {
    if (signal.aborted) return EXIT.interrupted;
    if (error instanceof CliError) throw error;
    throw (
      writeError(out, error) ??
      new CliError({
        code: 'results_incomplete',
        exitCode: EXIT.failed,
        message: `${out} is not complete: ${error instanceof Error ? error.message : String(error)}`,
        fix: `run the same command again; it continues after item ${known.lines}`,
        cause: error,
      })
    );
  }
  terminal.note(after === undefined ? `written to ${out}` : `continued ${out} after item ${known.lines}`);
  return EXIT.ok;
}

/** What follows the first line, if it is that one; null: it is another, or there is none. */
async function withoutLine(body: AsyncIterable<Uint8Array>, line: string): Promise<AsyncIterable<Buffer> | null> {
  const chunks = body[Symbol.asyncIterator]();
  let bytes = Buffer.alloc(0);
  while (!bytes.includes(NEWLINE)) {
    const next = await chunks.next();
    if (next.done === true) return null;
    bytes = Buffer.concat([bytes, next.value]);
  }
  const end = bytes.indexOf(NEWLINE);
  if (bytes.toString('utf8', 0, end) !== line) return null;
  return (async function* rest() {
    if (bytes.length > end + 1) yield bytes.subarray(end + 1);
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield Buffer.from(next.value);
  })();
}

function otherResults(file: string): CliError {
  return usageError(
    `${file} has results of another batch, in another format, or from before its calls were priced again or its texts erased, so it was not continued`,
    'pass the name of a new file, or remove this one',
    'other_results',
  );
}

interface Written {
  lines: number;
  bytes: number;
  /** Without its newline; empty when there is none. */
  lastLine: string;
}

const NOTHING_WRITTEN: Written = { lines: 0, bytes: 0, lastLine: '' };

/**
 * How many results without a gap a file begins with, and their bytes: after the first gap the file
 * is written again, because items may have ended there meanwhile. Throws for a file that begins
 * with something else: it is not overwritten.
 */
async function readWritten(file: string): Promise<Written> {
  let lines = 0;
  let bytes = 0;
  let lastLine = '';
  let isFirst = true;
  let rest: Buffer<ArrayBufferLike> = Buffer.alloc(0);
  try {
    for await (const chunk of createReadStream(file)) {
      rest = Buffer.concat([rest, chunk as Buffer]);
      if (isFirst) checkBeginning(file, rest);
      isFirst = false;
      for (let end = rest.indexOf(NEWLINE); end !== -1; end = rest.indexOf(NEWLINE)) {
        if (readNumber(rest.subarray(0, end)) !== lines + 1) return { lines, bytes, lastLine };
        lines += 1;
        lastLine = rest.toString('utf8', 0, end);
        bytes += end + 1;
        rest = rest.subarray(end + 1);
      }
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      throw fileError('read', file, { cause: error, fix: 'pass the name of a file' });
  }
  return { lines, bytes, lastLine };
}

/**
 * Throws unless the file begins as results do; a file that was cut within its first line may have
 * less of it.
 */
function checkBeginning(file: string, bytes: Buffer): void {
  const text = bytes.toString('latin1', 0, RESULT_BEGINNINGS[1].length);
  if (RESULT_BEGINNINGS.some((beginning) => beginning.startsWith(text) || text.startsWith(beginning))) return;
  throw usageError(
    `${file} exists and does not begin with results of a batch, so it was not overwritten`,
    'pass the name of a new file, or remove this one',
    'not_results',
  );
}

/** How items have ended that no retry can change. */
const FINAL = ['answered', 'silent', 'cancelled'];

/** The number of the item of a line that is final; null: another line, or a half-written one. */
function readNumber(line: Buffer): number | null {
  try {
    const { n, id, status, error } = JSON.parse(line.toString('utf8')) as Record<string, unknown>;
    if (typeof id === 'string') return error === null ? Number(/^batch_req_(\d+)$/.exec(id)?.[1] ?? Number.NaN) : null;
    return typeof n === 'number' && FINAL.includes(String(status)) ? n : null;
  } catch {
    return null;
  }
}
