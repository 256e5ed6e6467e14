// One process of the demo: a command of this same command line, as a child with a log of its last
// lines. In a process group of its own, so that Ctrl-C reaches the demo alone, which then ends its
// children in order.
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Guard } from './guard.ts';

export interface DemoProcessOptions {
  /** For people: `worker A`. */
  name: string;
  /** The arguments after `holdfast` on the command line. */
  args: readonly string[];
  env: Record<string, string | undefined>;
  cwd: string;
  guard: Guard;
}

const BIN = fileURLToPath(new URL('../src/cli/bin.mjs', import.meta.url));
const LOG_LINES_MAX = 40;
const READY_MS_MAX = 180_000;
/** A drain that takes longer than this is ended by force. */
const STOP_MS_MAX = 10_000;

export class DemoProcess {
  readonly name: string;
  readonly pid: number;
  /** Resolves when it has ended, with how: an exit code or the name of a signal. */
  readonly ended: Promise<string>;
  readonly #child: ChildProcess;
  readonly #log: string[] = [];
  readonly #waiting = new Set<{ pattern: RegExp; resolve: (found: RegExpExecArray) => void }>();

  /** Starts it; throws when it cannot be started at all. */
  constructor({ name, args, env, cwd, guard }: DemoProcessOptions) {
    const child = spawn(process.execPath, [BIN, ...args], {
      cwd,
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (child.pid === undefined) throw new Error(`${name} could not be started with ${process.execPath}`);
    this.name = name;
    this.pid = child.pid;
    this.#child = child;
    guard.add(child.pid);
    const { promise, resolve } = Promise.withResolvers<string>();
    this.ended = promise;
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => {
      guard.remove(this.pid);
      resolve(signal ?? `exit code ${code}`);
    });
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => this.#take(line));
    }
  }

  /** Its last output, for a demo that failed. */
  get log(): readonly string[] {
    return this.#log;
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /**
   * Resolves when it prints a line that matches. Rejects, with its last lines, when it ends first
   * or takes too long.
   */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    for (const line of this.#log) {
      const found = pattern.exec(line);
      if (found !== null) return found;
    }
    const said = Promise.withResolvers<RegExpExecArray>();
    const waiting = { pattern, resolve: said.resolve };
    this.#waiting.add(waiting);
    const timer = setTimeout(() => said.reject(this.#fault(`was not ready within ${READY_MS_MAX} ms`)), READY_MS_MAX);
    void this.ended.then((how) => said.reject(this.#fault(`ended with ${how}`)));
    try {
      return await said.promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(waiting);
    }
  }

  /** Sends SIGKILL. Resolves when the process has ended. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
  }

  /**
   * Sends SIGTERM, which drains, and SIGKILL when that takes too long. Resolves when the process
   * has ended.
   */
  async stop(): Promise<void> {
    if (this.isAlive) this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS_MAX);
    await this.ended;
    clearTimeout(timer);
  }

  #take(line: string): void {
    if (this.#log.push(line) > LOG_LINES_MAX) this.#log.shift();
    for (const { pattern, resolve } of this.#waiting) {
      const found = pattern.exec(line);
      if (found !== null) resolve(found);
    }
  }

  #fault(what: string): Error {
    return new Error([`${this.name} (process ${this.pid}) ${what}`, ...this.#log].join('\n  '));
  }
}
