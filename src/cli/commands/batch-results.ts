// `holdfast batch results`: results as lines, to stdout or to a file that is continued where it has no gap.
import { createReadStream, createWriteStream } from 'node:fs';
import { truncate } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { connectApi, type ClientFlags } from '../api-client.ts';
import type { BatchResultsOptions } from '../batch-commands.ts';
import { CliError, EXIT, type ExitCode } from '../cli-error.ts';
import type { Terminal } from '../terminal.ts';

const NEWLINE = 0x0a;

/** How a line begins, in the service's own format and in OpenAI's. */
const RESULT_BEGINNINGS = ['{"n":', '{"id":"batch_req_'] as const;

/** Writes the results. */
export async function runBatchResults(
  id: string,
  { out, all, format }: BatchResultsOptions,
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const api = connectApi(flags);
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  const known = out === undefined ? { lines: 0, bytes: 0 } : await readWritten(out);
  const after = known.lines === 0 ? undefined : String(known.lines);
  const query = { id, after, all: all === true ? true : undefined, format };
  const results = await api.getBatchResults(query, { signal: stop.signal });
  // The same class has two names in the types of Node.
  const body = Readable.fromWeb(results as Parameters<typeof Readable.fromWeb>[0]);
  if (out === undefined) {
    for await (const text of body.setEncoding('utf8')) terminal.write(String(text));
    return EXIT.ok;
  }
  try {
    if (known.lines > 0) await truncate(out, known.bytes);
    await pipeline(body, createWriteStream(out, { flags: known.lines > 0 ? 'a' : 'w' }), { signal: stop.signal });
  } catch (error) {
    if (stop.signal.aborted) return EXIT.interrupted;
    throw new CliError({
      code: 'results_incomplete',
      exitCode: EXIT.failed,
      message: `${out} is not complete: ${error instanceof Error ? error.message : String(error)}`,
      fix: `run the same command again; it continues after item ${known.lines}`,
      cause: error,
    });
  }
  terminal.note(after === undefined ? `written to ${out}` : `continued ${out} after item ${after}`);
  return EXIT.ok;
}

/**
 * How many results without a gap a file begins with, and their bytes: after the first gap the file is written again, because items may
 * have ended there meanwhile. Throws for a file that begins with something else: it is not overwritten.
 */
async function readWritten(file: string): Promise<{ lines: number; bytes: number }> {
  let lines = 0;
  let bytes = 0;
  let isFirst = true;
  let rest: Buffer<ArrayBufferLike> = Buffer.alloc(0);
  try {
    for await (const chunk of createReadStream(file)) {
      rest = Buffer.concat([rest, chunk as Buffer]);
      if (isFirst) checkBeginning(file, rest);
      isFirst = false;
      for (let end = rest.indexOf(NEWLINE); end !== -1; end = rest.indexOf(NEWLINE)) {
        if (numberOf(rest.subarray(0, end)) !== lines + 1) return { lines, bytes };
        lines += 1;
        bytes += end + 1;
        rest = rest.subarray(end + 1);
      }
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return { lines, bytes };
}

/** Throws unless the file begins as results do; a file that was cut within its first line may have less of it. */
function checkBeginning(file: string, bytes: Buffer): void {
  const text = bytes.toString('latin1', 0, RESULT_BEGINNINGS[1].length);
  if (RESULT_BEGINNINGS.some((beginning) => beginning.startsWith(text) || text.startsWith(beginning))) return;
  throw new CliError({
    code: 'not_results',
    exitCode: EXIT.usage,
    message: `${file} exists and does not begin with results of a batch, so it was not overwritten`,
    fix: 'pass the name of a new file, or remove this one',
  });
}

/** The number of the item of a line that is final; null: another line, or a half-written one. */
function numberOf(line: Buffer): number | null {
  try {
    const { n, id, status } = JSON.parse(line.toString('utf8')) as { n?: unknown; id?: unknown; status?: unknown };
    if (typeof id === 'string') return Number(/^batch_req_(\d+)$/.exec(id)?.[1] ?? Number.NaN);
    const isOpen = status === 'pending' || status === 'waiting' || status === 'running' || status === 'parked';
    return typeof n === 'number' && !isOpen ? n : null;
  } catch {
    return null;
  }
}
