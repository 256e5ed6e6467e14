// An MCP server that is a process of this worker: the leader of a process group, which ends with
// the connection, and with this process if that is killed. The library's own transport ends the
// process alone, and leaves what it has started (npx starts another).
import { serializeMessage, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/client';
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { cutTail } from '../../core/text.ts';
import { endProcessGroup } from '../../tools/process-group.ts';
import { guardProcessGroup, releaseProcessGroup } from '../../tools/process-guard.ts';
import type { WrappedCommand } from '../../tools/sandbox/port.ts';
import { MessageReader } from './message-reader.ts';
import type { ServerPlace } from './server-place.ts';

/** A larger message ends the server. */
export const MESSAGE_BYTES_MAX = 16 * 1024 * 1024;
const LINE_END = '\n'.charCodeAt(0);
/** From the end of its input to TERM, and from there to KILL. */
const END_GRACE_MS = 500;
const KILL_GRACE_MS = 2_000;
/** What it wrote last to its standard error, for the reason of its end. */
const LAST_WORDS_CHARS = 500;

export interface ServerCommand {
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  place: ServerPlace;
}

export class StdioTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport['onmessage'];
  /** What it wrote last to its standard error. */
  lastWords = '';
  readonly #command: ServerCommand;
  readonly #reader = new MessageReader();
  /** The beginning of a line. */
  #line: Buffer[] = [];
  #lineBytes = 0;
  #child: (ChildProcess & { pid: number }) | undefined;
  #ended: Promise<void> | undefined;

  constructor(command: ServerCommand) {
    this.#command = command;
  }

  /**
   * By these two, the library knows a transport to a process: there, silence means a server of the
   * earlier protocol.
   */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  get stderr(): Readable | null {
    return this.#child?.stderr ?? null;
  }

  async start(): Promise<void> {
    const { place } = this.#command;
    const { argv, environment, isOfService = false } = this.#wrapped();
    // The shell waits for a line before it becomes the server: if this process crashes before the
    // group is guarded, nothing runs.
    const child = spawn('/bin/sh', ['-c', 'read -r go && exec "$@"', 'sh', ...argv], {
      // In the sandbox, the command line enters the folder itself.
      cwd: place.wrap === null ? place.workdir : '/',
      env: environment,
      detached: true,
      ...(place.user === null || isOfService ? {} : { uid: place.user.uid, gid: place.user.gid }),
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stdin.on('error', (error) => this.onerror?.(error));
    child.stdout.on('error', (error) => this.onerror?.(error));
    child.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    child.stderr.on(
      'data',
      (chunk: Buffer) => (this.lastWords = cutTail(this.lastWords + chunk.toString(), LAST_WORDS_CHARS)),
    );
    await once(child, 'spawn');
    // A spawned process has an id.
    this.#child = child as ChildProcess & { pid: number };
    guardProcessGroup(this.#child.pid);
    child.once('exit', () => void this.close());
    child.stdin.write('go\n');
  }

  #wrapped(): WrappedCommand {
    const { command, args, env, place } = this.#command;
    const [argv, environment] = [[command, ...args], getDefaultEnvironment()];
    if (place.wrap === null) return { argv, environment: { ...environment, ...env } };
    const workdir = place.workdir ?? '/';
    return place.wrap({ argv, workdir, environment, own: env, user: place.user });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (stdin === undefined || stdin === null || !stdin.writable || this.#ended !== undefined) throw new NotSentError();
    this.#reader.note(message);
    if (!stdin.write(serializeMessage(message))) await Promise.race([once(stdin, 'drain'), once(stdin, 'close')]);
  }

  /** Ends the server and all that it has started. */
  async close(): Promise<void> {
    this.#ended ??= this.#end();
    await this.#ended;
  }

  async #end(): Promise<void> {
    const child = this.#child;
    if (child !== undefined) {
      child.stdin?.end();
      if (child.exitCode === null && child.signalCode === null)
        await Promise.race([once(child, 'exit'), once(AbortSignal.timeout(END_GRACE_MS), 'abort')]);
      await endProcessGroup(child.pid, KILL_GRACE_MS);
      releaseProcessGroup(child.pid);
    }
    await this.#command.place.close();
    this.#line = [];
    this.onclose?.();
  }

  #read(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(LINE_END); end >= 0; end = chunk.indexOf(LINE_END, from)) {
      const line = Buffer.concat([...this.#line, chunk.subarray(from, end)]).toString();
      from = end + 1;
      this.#line = [];
      this.#lineBytes = 0;
      this.#readLine(line);
    }
    this.#line.push(chunk.subarray(from));
    this.#lineBytes += chunk.length - from;
    if (this.#lineBytes <= MESSAGE_BYTES_MAX) return;
    this.onerror?.(new Error(`a message of more than ${MESSAGE_BYTES_MAX / 1024 / 1024} MiB`));
    void this.close();
  }

  #readLine(line: string): void {
    try {
      for (const message of this.#reader.read(line)) this.onmessage?.(message);
    } catch (error) {
      // A line that is no message: what servers print by mistake.
      this.onerror?.(error as Error);
    }
  }
}

/** Nothing of the message has reached the server. */
export class NotSentError extends Error {
  readonly code = 'NOT_CONNECTED';

  constructor(message = 'the server has ended') {
    super(message);
    this.name = 'NotSentError';
  }
}
