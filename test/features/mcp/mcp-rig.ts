// Turns with MCP servers: a turn rig whose configuration has them, with the process part that lists
// their tools.
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { onTestFinished } from 'vitest';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { readToolCalls } from '../../rows/calls.ts';
import { readEntries } from '../../rows/entries.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { createTurnRig } from '../../turn/turn-rig.ts';
import { createLogger } from '../../../src/logger.ts';
import { openMcp } from '../../../src/features/mcp/rounds.ts';

const SERVER = join(import.meta.dirname, 'counting-server.ts');
/** The same for the newer line of the library. */
export const MODERN = join(import.meta.dirname, 'modern-server.ts');

export const EVERYTHING = join(
  import.meta.dirname,
  '../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
);

async function createMcpRig(
  databaseUrl: string,
  mcp: { toolsMax?: number; servers: Record<string, object> },
  more: object = {},
) {
  const rig = await createTurnRig(databaseUrl, { settings: { mcp, ...more } });
  const service = { config: rig.config, database: rig.database } as Parameters<typeof openMcp>[0]['service'];
  const part = await openMcp({ service, logger: createLogger({ level: 'silent', format: 'json', name: 'test' }) });
  const worker = rig.worker();

  /** Plays a turn whose first answer makes these calls. */
  async function play(calls: readonly { tool: string; input?: object }[], session: string): Promise<void> {
    const text = calls.map(({ tool, input = {} }) => `[[tool: ${tool} ${JSON.stringify(input)}]]`).join(' & ');
    await rig.send(session, text);
    await worker.run(session);
  }

  /** The same, with the results. */
  async function call(calls: readonly { tool: string; input?: object }[], session = 'main') {
    await play(calls, session);
    return await readResults();
  }

  /** The results of the last turn, as the model got them and as the ledger has them. */
  async function readResults() {
    const entries = await readEntries(rig, { kind: 'results' }, 'seq', 'createdAt', 'turnId', 'content');
    const last = entries.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime()).at(-1);
    const ledger = await readToolCalls(rig, { turnId: last?.turnId ?? '' }, 'callId', 'status');
    const blocks = (last?.content ?? []) as { tool_use_id: string; content: string | object[]; is_error?: boolean }[];
    return blocks.map(({ tool_use_id: callId, content, is_error: isError = false }) => ({
      text: typeof content === 'string' ? content : JSON.stringify(content),
      isError,
      status: ledger.find((row) => row.callId === callId)?.status,
      key: `${last?.turnId}:${callId}`,
    }));
  }

  return {
    ...rig,
    part,
    runs: worker,
    call,
    play,
    readResults,
    /** The tools of MCP servers in the last model request. */
    toolsShown(): { name: string; description: string }[] {
      const body = rig.scripted.requests.at(-1)?.body as { tools: { name: string; description: string }[] } | undefined;
      return (body?.tools ?? []).filter(({ name }) => /__|^mcp_|^nodes$/.test(name));
    },
    /** Runs the rounds of the process once. */
    async round() {
      for (const { round } of part.rounds ?? []) await round(new AbortController().signal);
    },
    async close() {
      await part.stop?.();
      await rig.close();
    },
  };
}

/** The counting server as a process, and what it has run. */
export async function countingServer(more: { env?: Record<string, string>; script?: string } = {}) {
  const { script = SERVER } = more;
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-mcp-'));
  const file = join(folder, 'count');
  let child: ChildProcessByStdio<null, Readable, null> | undefined;
  return {
    file,
    /** Outside the sandbox, which has tests of its own: inside, a start takes longer. */
    settings: {
      command: process.execPath,
      args: [script, 'stdio'],
      cwd: folder,
      env: { COUNT_FILE: file, ...more.env },
      sandbox: 'off',
    },
    /** The keys that it has run, as often as it did; and what it noted of them. */
    async runs(): Promise<string[]> {
      const text = await readFile(file, 'utf8').catch(() => '');
      return text.split('\n').filter((line) => line !== '');
    },
    /** Starts it over HTTP; resolves with the port. */
    async listen(port = 0): Promise<number> {
      child = spawn(process.execPath, [script, 'http', String(port)], {
        env: { COUNT_FILE: file, ...more.env },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
      return Number(chunk.toString());
    },
    async stop(): Promise<void> {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
    async remove() {
      await this.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A server with the tools of the everything server, over stdio or HTTP, ended with the test. */
export async function anEverythingServer(script: string, over: string) {
  const settings = { command: process.execPath, args: [script, 'stdio'], sandbox: 'off' };
  if (over === 'stdio') return { settings };
  const port = await freePort();
  const child = spawn(process.execPath, [script, script === MODERN ? 'http' : 'streamableHttp', String(port)], {
    env: { PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  // Each says where it listens, on one of the two.
  await Promise.race([once(child.stdout, 'data'), untilListening(child.stderr)]);
  return { settings, url: `http://127.0.0.1:${port}/mcp` };
}

async function untilListening(output: Readable): Promise<void> {
  for await (const chunk of output) if (String(chunk).includes('listening on port')) return;
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

export async function useDatabase() {
  const database = await withTestDatabase();
  onTestFinished(() => database.drop());
  return database.url;
}

/** Turns with these servers, closed with the test. */
export async function rigWith(
  servers: Record<string, object>,
  more: { toolsMax?: number; url?: string; settings?: object } = {},
) {
  const { url = await useDatabase(), settings = {}, ...mcp } = more;
  const rig = await createMcpRig(url, { servers, ...mcp }, settings);
  onTestFinished(() => rig.close());
  return rig;
}

/** A counting server, removed with the test. */
export async function counting(env: Record<string, string> = {}, script?: string) {
  const server = await countingServer({ env, ...(script === undefined ? {} : { script }) });
  onTestFinished(() => server.remove());
  return server;
}
