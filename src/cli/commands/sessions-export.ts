// `holdfast sessions export`: a conversation as lines of JSON, to stdout or to a file.
import { createWriteStream } from 'node:fs';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ApiClient } from '../api-client.ts';
import { CliError, EXIT, type ExitCode } from '../cli-error.ts';
import { command, type InputOf } from '../command.ts';
import { writeError } from '../file-error.ts';
import { ITS_KEY } from '../options.ts';
import { interruption } from '../poll-until-end.ts';
import type { Terminal } from '../terminal.ts';

/** More than the last line of an export has. */
const TAIL_BYTES = 200;
const END = /(?:^|\n)\{"type":"end","lines":(\d+)\}\n$/;

const TAKES = { ...ITS_KEY, out: ['--out <file>', 'write to this file instead of stdout'] } as const;

export const exportSession = command({
  summary: 'print everything that is stored about a session, as lines of JSON',
  takes: TAKES,
  run: writeLines,
});

/** Writes the lines; fails when they are not complete. */
async function writeLines({ key, out }: InputOf<typeof TAKES>, api: ApiClient, terminal: Terminal): Promise<ExitCode> {
  const signal = interruption();
  const lines = await api.exportSession({ key }, { signal });
  // The same class has two names in the types of Node.
  const body = Readable.fromWeb(lines as Parameters<typeof Readable.fromWeb>[0]);
  let tail = '';
  const watch = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      tail = (tail + chunk.toString('latin1')).slice(-TAIL_BYTES);
      done(null, chunk);
    },
  });
  try {
    if (out === undefined) {
      for await (const text of body.pipe(watch).setEncoding('utf8')) terminal.write(String(text));
    } else await pipeline(body, watch, createWriteStream(out, { mode: 0o600 }), { signal });
    if (!END.test(tail)) throw new Error('the connection ended before the last line');
  } catch (error) {
    if (signal.aborted) return EXIT.interrupted;
    const unwritten = out === undefined ? null : writeError(out, error);
    throw (
      unwritten ??
      new CliError({
        code: 'export_incomplete',
        exitCode: EXIT.failed,
        message: `the export of ${key} is not complete: ${error instanceof Error ? error.message : String(error)}`,
        fix: 'run the same command again; it overwrites the file',
        cause: error,
      })
    );
  }
  if (out !== undefined) terminal.note(`written to ${out}: ${END.exec(tail)?.[1] ?? 0} records`);
  return EXIT.ok;
}
