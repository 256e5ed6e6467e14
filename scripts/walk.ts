// `npm run walk` prints the files that one plain message passes through: it starts the service with
// a scripted model, warms it up, and asks V8 which functions ran for each of some messages. What
// runs as often without a message (rounds, leases) is not of the message. `npm run walk -- --write`
// stores their number, which test/service/walk.test.ts holds.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { storeWeight } from './weight.ts';

const ROOT = resolve(import.meta.dirname, '..');
const WARM_MESSAGES = 5;

/**
 * Answered one after the other: what a message passes through runs for each, and a round falls
 * between a few of them.
 */
const MESSAGES = 20;

/** The time without a message that is compared with that of the message, in milliseconds. */
const IDLE_MS = 3_000;

/** How often each function ran, by its file and place. */
type Counts = Map<string, { file: string; count: number }>;

interface CoverageResult {
  result: { url: string; functions: { ranges: { startOffset: number; endOffset: number; count: number }[] }[] }[];
}

/** A connection to the debugger of a process. */
async function connect(url: string) {
  const socket = new WebSocket(url);
  await once(socket, 'open');
  const answers = new Map<number, (result: unknown) => void>();
  socket.addEventListener('message', ({ data }) => {
    const { id, result } = JSON.parse(String(data)) as { id?: number; result: unknown };
    if (id !== undefined) answers.get(id)?.(result);
  });
  let last = 0;
  return {
    send: <Result>(method: string, params: object = {}) =>
      new Promise<Result>((answer) => {
        answers.set((last += 1), answer as (result: unknown) => void);
        socket.send(JSON.stringify({ id: last, method, params }));
      }),
    close: () => socket.close(),
  };
}

/** The files that one plain message passes through, with how many of their functions run. */
export async function walkMessage(): Promise<Map<string, number>> {
  const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-walk-'));
  const child = spawn(process.execPath, ['--inspect=127.0.0.1:0', join(ROOT, 'src/cli/bin.mjs'), 'start'], {
    env: { PATH: process.env['PATH'], HOLDFAST_DATA_DIR: join(dataDir, 'data'), HOLDFAST_PORT: '0' },
    // A process with a channel to its parent does not replace itself, so the address of its
    // debugger stays the same.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  try {
    const debug = await connect(await lineOf(child.stderr!, /^Debugger listening on (ws:.*)$/));
    const url = await lineOf(child.stdout!, /(http:\/\/127\.0\.0\.1:\d+)/);
    const key = readFileSync(join(dataDir, 'data', 'api-key'), 'utf8').trim();
    await debug.send('Profiler.enable');
    await debug.send('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    for (let sent = 0; sent < WARM_MESSAGES; sent += 1) await sendMessage(url, key);
    // What follows a turn has ended by then, too.
    await delay(IDLE_MS);
    await takeCounts(debug);
    await delay(IDLE_MS);
    const idle = await takeCounts(debug);
    const beganAtMs = performance.now();
    for (let sent = 0; sent < MESSAGES; sent += 1) await sendMessage(url, key);
    const share = (performance.now() - beganAtMs) / IDLE_MS;
    const busy = await takeCounts(debug);
    debug.close();
    const files = new Map<string, number>();
    for (const [place, { file, count }] of busy) {
      const usual = Math.ceil((idle.get(place)?.count ?? 0) * share);
      if (count - usual >= MESSAGES) files.set(file, (files.get(file) ?? 0) + 1);
    }
    return files;
  } finally {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function sendMessage(url: string, key: string): Promise<void> {
  const response = await fetch(`${url}/v1/sessions/walk/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', prefer: 'wait=30' },
    body: JSON.stringify({ text: 'Hello' }),
  });
  if (response.status !== 200) throw new Error(`the message was answered with status ${response.status}`);
}

/** What ran since the last time. */
async function takeCounts(debug: Awaited<ReturnType<typeof connect>>): Promise<Counts> {
  const { result } = await debug.send<CoverageResult>('Profiler.takePreciseCoverage');
  const found: Counts = new Map();
  for (const { url: script, functions } of result) {
    if (!script.startsWith('file:')) continue;
    const file = fileURLToPath(script).slice(ROOT.length + 1);
    if (!/^(src|workers|jobs)\//.test(file)) continue;
    for (const { ranges } of functions) {
      const { startOffset, endOffset, count = 0 } = ranges[0] ?? { startOffset: 0, endOffset: 0 };
      if (count > 0) found.set(`${file}:${startOffset}-${endOffset}`, { file, count });
    }
  }
  return found;
}

function printWalk(files: Map<string, number>): void {
  const rooms = Object.groupBy(
    [...files].toSorted(([one], [other]) => one.localeCompare(other)),
    ([file]) => file.split('/').slice(0, -1).join('/'),
  );
  for (const [room, inRoom = []] of Object.entries(rooms)) {
    process.stdout.write(`${room}/ (${inRoom.length})\n`);
    for (const [file, functions] of inRoom) process.stdout.write(`  ${file.slice(room.length + 1)}  ${functions}\n`);
  }
  const pure = [...files.keys()].filter((file) =>
    /^src\/(?:core|prompt|history|compaction)\/|\/rules(?:\/|\.ts$)/.test(file),
  ).length;
  process.stdout.write(`${files.size} files, ${pure} of them pure\n`);
}

/** The part of the first line that matches. */
async function lineOf(stream: NodeJS.ReadableStream, pattern: RegExp): Promise<string> {
  const lines = createInterface({ input: stream });
  for await (const line of lines) {
    const found = pattern.exec(line)?.[1];
    if (found !== undefined) {
      stream.resume();
      return found;
    }
  }
  throw new Error(`the service ended before it wrote ${String(pattern)}`);
}

if (import.meta.main) {
  const files = await walkMessage();
  printWalk(files);
  if (process.argv.includes('--write')) storeWeight({ walkFiles: files.size });
}
