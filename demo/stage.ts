// The stage of the demo: a directory of its own, the processes that play in it, and the way to talk
// to them. What is created here is removed by `strike`, also after a failure; what the demo cannot
// remove itself, its guard removes.
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { processEnvironment } from '../src/config.ts';
import { readPostmasterFile } from '../src/embedded-postgres/postmaster.ts';
import { clusterDirOf } from '../src/embedded-postgres/cluster.ts';
import { startEmbeddedPostgres } from '../src/embedded-postgres/start-embedded-postgres.ts';
import { connectApi, type ApiClient } from '../src/cli/api-client.ts';
import { CliError, EXIT } from '../src/cli/cli-error.ts';
import { DemoProcess } from './demo-process.ts';
import { startGuard, type Guard } from './guard.ts';
import type { Progress } from './progress.ts';

/**
 * Another worker takes over from a killed one within its lease plus a second. The lease is short,
 * so that the demo is short, and longer on a machine that is slow: no worker may lose it because
 * the machine is busy. It is so many times what the first process takes to start, and a machine
 * that is idle then may be busy later: with 1.5 s, a worker that was alive lost its session while
 * another program wrote to the disk.
 */
const LEASE_MS = { min: 5000, max: 15_000, perStart: 2 };

export interface Stage {
  api: ApiClient;
  /** The address of the model server, which records its requests. */
  modelUrl: string;
  /** The address of the chat platform, where a person writes to the bot and its answers arrive. */
  telegramUrl: string;
  /** The folder that the agent's tools work in. */
  workspaceDir: string;
  /** How long the lock of a killed worker lasts. */
  leaseMs: number;
  /** Resolves when it runs. */
  workerA: DemoProcess;
  workerB: Promise<DemoProcess>;
  /** Starts another one; resolves when it runs. */
  startWorker(name: string): Promise<DemoProcess>;
  /** Aborts when the person at the terminal stops the demo. */
  signal: AbortSignal;
  /** The API's answer to a GET. */
  read<Answer>(path: string): Promise<Answer>;
}

/** The agent's instructions: a file of the workspace, which becomes a part of the prompt. */
const AGENTS_MD = `# How we work

Keep accounts in plain text files. Never book anything twice: when in doubt, look first.
`;

/** The model of another provider that agents fall back to. */
export const FALLBACK_MODEL = 'openai/gpt-5.2';

/** A demo that is stopped in the middle of a long tool call does not wait for it. */
const CONFIG = {
  // A command in a sandbox does not see which worker runs it, which a chapter shows.
  tools: { exec: { sandbox: 'off' } },
  shutdown: { graceMs: 3000 },
  // An alert of a heartbeat goes where the reply to the last message of the session goes.
  agents: { defaults: { fallbacks: [FALLBACK_MODEL], heartbeat: { target: 'last' } } },
};

/** Everyone may write to the bot. Without previews, the chat has the answers and nothing else. */
function channelsAt(baseUrl: string) {
  const main = { token: '110201543:scripted', baseUrl, dm: 'open' };
  return { telegram: { adapter: 'telegram', previews: false, accounts: { main } } };
}

export class StageManager {
  readonly dataDir: string;
  readonly #signal: AbortSignal;
  readonly #guard: Guard;
  readonly #processes: DemoProcess[] = [];
  readonly #apiKey = randomBytes(24).toString('base64url');

  private constructor(dataDir: string, signal: AbortSignal) {
    this.dataDir = dataDir;
    this.#signal = signal;
    this.#guard = startGuard(dataDir);
  }

  /** Makes the directory. Throws `CliError` when there is no place for it. */
  static async open(signal: AbortSignal): Promise<StageManager> {
    try {
      const dataDir = await mkdtemp(join(await realpath(tmpdir()), 'holdfast-demo-'));
      return new StageManager(dataDir, signal);
    } catch (error) {
      throw new CliError({
        code: 'no_temp_dir',
        exitCode: EXIT.failed,
        message: `a directory for the demo cannot be made in ${tmpdir()}: ${String(error)}`,
        fix: 'set TMPDIR to a directory that you may write to',
        cause: error,
      });
    }
  }

  /** Starts everything; worker B starts while the first part is played. */
  async setUp(progress: Progress): Promise<Stage> {
    const workspaceDir = join(this.dataDir, 'workspace');
    await mkdir(workspaceDir, { recursive: true });
    await writeFile(join(workspaceDir, 'AGENTS.md'), AGENTS_MD);
    const startedAtMs = performance.now();
    const model = this.#start('model', ['scripted-model']);
    const telegram = this.#start('telegram', ['scripted-platform', 'telegram']);
    const [modelUrl, telegramUrl] = await progress.step(
      'scripted model in place of a provider, scripted Telegram',
      () => Promise.all([addressOf(model), addressOf(telegram)]),
      (urls) => `scripted model in place of a provider: ${urls[0]}, scripted Telegram: ${urls[1]}`,
    );
    const startMs = performance.now() - startedAtMs;
    await writeFile(this.#configPath, JSON.stringify({ ...CONFIG, channels: channelsAt(telegramUrl) }));
    const gateway = this.#start('api and scheduler', ['start', '--roles', 'api,scheduler']);
    const leaseMs = Math.round(Math.min(LEASE_MS.max, Math.max(LEASE_MS.min, startMs * LEASE_MS.perStart)));
    const url = await progress.step(
      'PostgreSQL (new, in the directory above), API and scheduler',
      async () => (await gateway.says(/^holdfast +(http:\S+)$/))[1] ?? '',
      (found) => `PostgreSQL (new, in the directory above), API and scheduler: ${found}`,
    );
    const startWorker = (name: string) => this.#startWorker(name, { modelUrl, leaseMs });
    const workerA = await progress.step(
      'worker A',
      () => startWorker('worker A'),
      ({ pid }) => `worker A: process ${pid}`,
    );
    const workerB = startWorker('worker B');
    // The chapter that needs it awaits it; an earlier failure must not end the process.
    workerB.catch(() => {});
    const api = connectApi({ url, apiKey: this.#apiKey });
    const headers = { authorization: `Bearer ${this.#apiKey}` };
    const read = async <Answer>(path: string): Promise<Answer> => {
      const answer = await fetch(new URL(path, url), { headers, signal: this.#signal });
      if (!answer.ok) throw new Error(`GET ${path}: ${answer.status} ${await answer.text()}`);
      return (await answer.json()) as Answer;
    };
    return {
      api,
      modelUrl,
      telegramUrl,
      workspaceDir,
      leaseMs,
      workerA,
      workerB,
      startWorker,
      signal: this.#signal,
      read,
    };
  }

  /** The last lines of every process, for a demo that failed. */
  logs(): string[] {
    return this.#processes.flatMap(({ name, pid, log }) => log.map((line) => `${name} (${pid}): ${line}`));
  }

  /** Ends everything and removes the directory; resolves with what could not be ended. */
  async strike(): Promise<string[]> {
    // The model and the platform serve the others to their end.
    await Promise.all(this.#processes.slice(2).map((each) => each.stop()));
    await Promise.all(this.#processes.slice(0, 2).map((each) => each.stop()));
    // Usually stopped by the last process that used it, but not when that process was killed.
    const isServing = (): boolean => readPostmasterFile(clusterDirOf(this.dataDir)) !== null;
    if (isServing()) await startEmbeddedPostgres({ dataDir: this.dataDir }).then((server) => server.stop());
    const left = this.#processes.filter((each) => each.isAlive).map((each) => each.name);
    if (isServing()) left.push('PostgreSQL');
    await rm(this.dataDir, { recursive: true, force: true, maxRetries: 3 });
    await this.#guard.release();
    return left;
  }

  #start(name: string, args: string[], env: Record<string, string> = {}): DemoProcess {
    this.#signal.throwIfAborted();
    const started = new DemoProcess({
      name,
      args,
      env: { ...ownEnvironment(), ...this.#environment(), ...env },
      cwd: this.dataDir,
      guard: this.#guard,
    });
    this.#processes.push(started);
    return started;
  }

  /** Each is also a scheduler: several schedulers run, and a slot fires once. */
  async #startWorker(name: string, { modelUrl, leaseMs }: Pick<Stage, 'modelUrl' | 'leaseMs'>): Promise<DemoProcess> {
    const env = {
      HOLDFAST_LEASE_MS: String(leaseMs),
      ANTHROPIC_BASE_URL: modelUrl,
      ANTHROPIC_API_KEY: 'scripted',
      OPENAI_BASE_URL: `${modelUrl}/v1`,
    };
    const worker = this.#start(name, ['start', '--roles', 'worker,scheduler'], env);
    // The last of the lines that it prints when it takes jobs.
    await worker.says(/^model /);
    return worker;
  }

  get #configPath(): string {
    return join(this.dataDir, 'holdfast.json');
  }

  #environment(): Record<string, string> {
    return {
      HOLDFAST_CONFIG: this.#configPath,
      HOLDFAST_DATA_DIR: this.dataDir,
      HOLDFAST_HOST: '127.0.0.1',
      HOLDFAST_PORT: '0',
      HOLDFAST_API_KEY: this.#apiKey,
      OPENAI_API_KEY: 'scripted',
      HOLDFAST_LOG_LEVEL: 'warn',
      HOLDFAST_LOG_FORMAT: 'json',
    };
  }
}

/** What a scripted server prints when it serves. */
async function addressOf(server: DemoProcess): Promise<string> {
  return (await server.says(/^http:\S+$/))[0];
}

/** This machine's environment without what would make the demo another one. */
function ownEnvironment(): Record<string, string | undefined> {
  const decides = /^(HOLDFAST_|ANTHROPIC_|OPENAI_)|^(DATABASE_URL|REDIS_URL)(_FILE)?$/;
  return Object.fromEntries(Object.entries(processEnvironment()).filter(([name]) => !decides.test(name)));
}
