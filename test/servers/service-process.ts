// Starts Holdfast the way its users do, as a child process with an environment, and waits until it
// says that it is ready. What it prints is kept, for the message of a test that fails.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findFreePort } from './free-port.ts';

export interface ServiceOptions {
  /**
   * `HOLDFAST_*`, `DATABASE_URL` and others, in addition to those of a shell; the port is chosen
   * here.
   */
  env: Record<string, string>;
  /** Of a service that this one replaces; absent: a free one. */
  port?: number;
  /** Absent: all of them. */
  roles?: string;
  /** The checkout to run; absent: this one. */
  rootDir?: string;
  /** `npm` runs it as `npm start`; absent: the CLI directly. */
  through?: 'npm';
  readyWithinMs?: number;
  /** Called with each line that it prints. */
  onLine?: (line: string) => void;
}

export interface ServiceProcess {
  url: string;
  pid: number;
  child: ChildProcess;
  /** From spawning the process to the first 200 of `/readyz`. */
  readyMs: number;
  /** The last lines that it printed. */
  output(): string;
  /** True until the process ended. */
  isAlive(): boolean;
  /** Sends the signal; resolves when the process has ended. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
}

const outputLinesMax = 200;
/** A request that is refused takes a millisecond of a processor that the service needs to start. */
const pollMs = 40;
const checkout = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Starts the service and resolves when `/readyz` answers 200, or without the api role when it has
 * said that it runs; rejects, with its output, when it ends or takes too long.
 */
export async function startServiceProcess(options: ServiceOptions): Promise<ServiceProcess> {
  const { rootDir = checkout, readyWithinMs = 240_000 } = options;
  const port = options.port ?? (await findFreePort());
  const begin = performance.now();
  const roleFlags = options.roles === undefined ? [] : ['--roles', options.roles];
  const [command, flags] =
    options.through === 'npm'
      ? ['npm', ['start', '--silent', '--', ...roleFlags]]
      : [process.execPath, [...nodeFlagsOf(rootDir), join(rootDir, 'src/cli/bin.mjs'), 'start', ...roleFlags]];
  const child = spawn(command, flags, {
    cwd: rootDir,
    env: { ...inheritedEnv(), HOLDFAST_LOG_FORMAT: 'json', ...options.env, HOLDFAST_PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    // Not by chunks: one can end in the middle of a line.
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      lines.splice(0, Math.max(0, lines.length - outputLinesMax));
      options.onLine?.(line);
    });
  }
  const exited = once(child, 'exit');
  const isAlive = (): boolean => child.exitCode === null && child.signalCode === null;
  const killWithTest = (): void => void child.kill('SIGKILL');
  process.once('exit', killWithTest);
  void exited.then(() => process.off('exit', killWithTest));
  const service: ServiceProcess = {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid!,
    child,
    readyMs: 0,
    output: () => lines.join('\n'),
    isAlive,
    async end(signal) {
      if (isAlive()) child.kill(signal);
      await exited;
      return child.exitCode;
    },
  };
  const isApi = options.roles === undefined || options.roles.includes('api');
  const isReady = isApi
    ? () => answersReady(service.url)
    : () => Promise.resolve(lines.some((line) => line.startsWith('queue ')));
  await waitUntilReady(service, isReady, begin + readyWithinMs);
  service.readyMs = performance.now() - begin;
  return service;
}

/** The flags that `npm start` of an older commit sets; now the command sets them itself. */
function nodeFlagsOf(rootDir: string): string[] {
  const { scripts } = JSON.parse(readFileSync(join(rootDir, 'package.json'), 'utf8')) as {
    scripts: { start: string };
  };
  return scripts.start.match(/--\S+/g) ?? [];
}

/** The environment of the tests without variables that would change the service's behaviour. */
function inheritedEnv(): NodeJS.ProcessEnv {
  const decides = /^(HOLDFAST_|ANTHROPIC_|DATABASE_URL$|REDIS_URL$|NODE_OPTIONS$|VITEST|NODE_V8)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !decides.test(name)));
}

async function waitUntilReady(
  service: ServiceProcess,
  isReady: () => Promise<boolean>,
  deadline: number,
): Promise<void> {
  while (performance.now() < deadline) {
    if (!service.isAlive()) throw new Error(`the service ended with ${service.child.exitCode}:\n${service.output()}`);
    if (await isReady()) return;
    await delay(pollMs);
  }
  await service.end('SIGKILL');
  throw new Error(`the service was not ready in time:\n${service.output()}`);
}

async function answersReady(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/readyz`).catch(() => null);
  await answer?.body?.cancel();
  return answer?.status === 200;
}
