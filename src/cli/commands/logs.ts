// `holdfast logs`: the lines of all log files in the order of their time.
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pause } from '../../clock.ts';
import { resolveDataDir } from '../../config/process-environment.ts';
import { isIdEnd } from '../../core/ids.ts';
import { canonicalSessionKey } from '../../core/session-key.ts';
import { LOG_FOLDER, logFilesIn } from '../../logger.ts';
import { EXIT, notFound, usageError, type ExitCode } from '../cli-error.ts';
import { localCommand, type InputOf, type Surroundings, type Words } from '../command.ts';
import { interruption } from '../poll-until-end.ts';
import type { Terminal } from '../terminal.ts';

/** From the least to the most important. */
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;

const POLL_MS = 250;
const PINO_LEVEL_STEP = 10;

const TAKES = {
  follow: ['-f, --follow', 'also print new lines, until Ctrl-C'],
  turn: ['--turn <id>', 'only lines about this turn: its id, or the last 6 to 12 digits'],
  session: ['--session <key>', 'only lines about this session'],
  level: ['--level <level>', 'only lines of this level or above', LOG_LEVELS],
} as const;

type Input = InputOf<typeof TAKES>;

export const words: Words = {
  logs: localCommand({
    takes: TAKES,
    run: printLogs,
  }),
};

async function printLogs(options: Input, { terminal, flags }: Surroundings): Promise<ExitCode> {
  const folder = join(resolveDataDir(process.env, process.cwd()), LOG_FOLDER);
  if (flags.url !== undefined && !isLocal(flags.url)) {
    throw usageError(
      `the log files of ${flags.url} are on its machine, in ${LOG_FOLDER}/ of its data directory`,
      'run "holdfast logs" there, or read its stderr',
      'logs_are_elsewhere',
    );
  }
  if (options.follow !== true && logFilesIn(folder).length === 0) {
    throw notFound(
      `there are no log files in ${folder}`,
      'set HOLDFAST_DATA_DIR to the data directory of the service; HOLDFAST_LOG_FILES must not be "off" there',
      'no_log_files',
    );
  }
  const isWanted = createFilter(options);
  const print = await createPrinter(terminal);
  const signal = interruption();
  const tails = new Map<string, () => Promise<LogLine[]>>();
  for (;;) {
    for (const name of logFilesIn(folder)) if (!tails.has(name)) tails.set(name, tail(join(folder, name), isWanted));
    const lines = (await Promise.all(Array.from(tails.values(), (read) => read()))).flat();
    for (const { line } of lines.toSorted((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0))) print(line);
    if (options.follow !== true) {
      if (lines.length === 0) refuseUnknown(options);
      return EXIT.ok;
    }
    await pause(POLL_MS, signal);
    if (signal.aborted) return EXIT.interrupted;
  }
}

/** A turn or a session that no line is about is a wrong name, or its lines were deleted. */
function refuseUnknown({ turn, session }: Input): void {
  const named = [
    ...(turn === undefined ? [] : [`the turn ${turn}`]),
    ...(session === undefined ? [] : [`the session ${session}`]),
  ];
  if (named.length === 0) return;
  throw notFound(
    `no line of the log files is about ${named.join(' of ')}`,
    'check the name ("holdfast turns list", "holdfast sessions list"); each process keeps its own files, up to HOLDFAST_LOG_FILES',
  );
}

interface LogLine {
  line: string;
  time: string;
}

type LogFields = Partial<Record<'time' | 'level' | 'turnId' | 'sessionKey' | 'session', unknown>>;

/**
 * A function that reads the complete lines that were written to a file since its last call and
 * match; none when the file was deleted.
 */
function tail(path: string, isWanted: (fields: LogFields) => boolean): () => Promise<LogLine[]> {
  let offset = 0;
  let rest = Buffer.alloc(0);
  const parseLines = (bytes: Buffer): LogLine[] => {
    offset += bytes.length;
    const all = Buffer.concat([rest, bytes]);
    const end = all.lastIndexOf(0x0a) + 1;
    rest = all.subarray(end);
    return all
      .toString('utf8', 0, end)
      .split('\n')
      .flatMap((line) => {
        const fields = parseFields(line);
        return fields !== null && isWanted(fields) ? [{ line, time: String(fields.time) }] : [];
      });
  };
  return async () => {
    const size = (await stat(path).catch(() => null))?.size ?? 0;
    if (size <= offset) return [];
    const file = await open(path).catch(() => null);
    if (file === null) return [];
    const lines: LogLine[] = [];
    try {
      for await (const bytes of file.createReadStream({ start: offset, end: size - 1, autoClose: false }))
        lines.push(...parseLines(bytes as Buffer));
    } finally {
      await file.close();
    }
    return lines;
  };
}

function parseFields(line: string): LogFields | null {
  try {
    return line === '' ? null : (JSON.parse(line) as LogFields);
  } catch {
    // The end of a process that was killed.
    return null;
  }
}

function createFilter({ turn, session, level }: Input): (fields: LogFields) => boolean {
  const key = session === undefined ? null : canonicalSessionKey(session);
  const least = level === undefined ? 0 : (LOG_LEVELS.indexOf(level) + 1) * PINO_LEVEL_STEP;
  return (fields) =>
    Number(fields.level) >= least &&
    (turn === undefined || isOfTurn(fields.turnId, turn.toLowerCase())) &&
    (key === null || fields.sessionKey === key || fields.session === key);
}

function isOfTurn(turnId: unknown, turn: string): boolean {
  return typeof turnId === 'string' && (isIdEnd(turn) ? turnId.endsWith(turn) : turnId === turn);
}

/** Programs get the lines as they are stored: people see records of several lines. */
async function createPrinter(terminal: Terminal): Promise<(line: string) => void> {
  if (terminal.isJson || !terminal.isTty) return (line) => terminal.print(line);
  const { prettyFactory } = await import('pino-pretty');
  const pretty = prettyFactory({
    colorize: terminal.paint('red', 'x') !== 'x',
    translateTime: 'SYS:HH:MM:ss.l',
    ignore: 'process',
  });
  return (line) => terminal.write(pretty(line));
}

function isLocal(url: string): boolean {
  const { hostname } = URL.canParse(url) ? new URL(url) : { hostname: '' };
  return ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
}
