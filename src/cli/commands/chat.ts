// `holdfast chat`: a conversation with an agent. At a terminal, lines are sent as they are typed,
// also while a turn runs; in a pipe, each line is a message that waits for the answer to the one
// before.
import { createInterface, type Interface } from 'node:readline';
import type { MessageView } from '../../contract/views.ts';
import type { ApiClient } from '../api-client.ts';
import { ChatPrinter } from '../chat-printer.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import { command, type InputOf, type Words } from '../command.ts';
import { printParts } from '../print.ts';
import type { Terminal } from '../terminal.ts';
import { reportEnd } from './send.ts';
import { randomUUID } from 'node:crypto';
import { pause } from '../../clock.ts';
import { watchEvents, type StreamedEvent } from '../event-stream.ts';
import { isAway } from '../poll-until-end.ts';
import { isOpen } from '../wait-until-settled.ts';

const TAKES = {
  key: ['[session]', 'the session key', undefined, 'main'],
  showContext: ['--show-context', 'print the parts of each prompt, with their origin and trust'],
} as const;

type Input = InputOf<typeof TAKES>;

export const words: Words = {
  chat: command({
    takes: TAKES,
    run: chatWith,
  }),
};

interface Chat {
  api: ApiClient;
  session: ChatSession;
  printer: ChatPrinter;
  terminal: Terminal;
  stop: AbortController;
  showsContext: boolean;
}

/** Talks until the end of the input. The exit code is that of the last message. */
async function chatWith({ key, showContext = false }: Input, api: ApiClient, terminal: Terminal): Promise<ExitCode> {
  const stop = new AbortController();
  const printer = new ChatPrinter(terminal);
  const session = new ChatSession({ api, key, printer, stop: stop.signal });
  const opened = Promise.withResolvers<void>();
  const following = session.follow(opened.resolve);
  await Promise.race([opened.promise, following]);
  const chat = { api, session, printer, terminal, stop, showsContext: showContext };
  const isAttended = process.stdin.isTTY === true;
  const lines = createInterface({
    input: process.stdin,
    ...(isAttended ? { output: process.stderr, prompt: '> ' } : {}),
  });
  const talking = isAttended ? talk(chat, lines) : readPipe(chat, lines);
  try {
    return await Promise.race([talking, following.then(() => EXIT.interrupted)]);
  } finally {
    stop.abort();
    lines.close();
    await Promise.allSettled([talking, following]);
    printer.endLine();
  }
}

/** One message after the other. */
async function readPipe(chat: Chat, lines: Interface): Promise<ExitCode> {
  process.once('SIGINT', () => chat.stop.abort());
  let exit: ExitCode = EXIT.ok;
  for await (const line of lines) {
    if (line.trim() === '') continue;
    const message = await chat.session.send(line);
    if (message === null) return EXIT.interrupted;
    exit = await report(chat, message);
  }
  return exit;
}

/** Messages as they are typed. Resolves when the person leaves. */
function talk(chat: Chat, lines: Interface): Promise<ExitCode> {
  const { session, printer, terminal } = chat;
  const left = Promise.withResolvers<ExitCode>();
  let last: ExitCode = EXIT.ok;
  terminal.note(`session ${session.key}; /help lists the commands, Ctrl-C stops a turn, Ctrl-D leaves`);
  lines.prompt();
  lines.on('line', (line) => {
    if (line.trim() === '') return lines.prompt();
    session
      .send(line)
      .then(async (message) => {
        if (message !== null) last = await report(chat, message);
        lines.prompt();
      })
      .catch(left.reject);
  });
  lines.on('SIGINT', () => {
    if (printer.runningTurn === null) return left.resolve(EXIT.interrupted);
    printer.note('stopping the turn; Ctrl-C again leaves');
    chat.api.abortSession({ key: session.key, body: { queued: 'keep' } }).catch(left.reject);
    lines.removeAllListeners('SIGINT').on('SIGINT', () => left.resolve(EXIT.interrupted));
  });
  lines.on('close', () => left.resolve(last));
  return left.promise;
}

/**
 * Prints what the events have not shown: replies of commands, ends without an answer, the context.
 */
async function report({ api, printer, terminal, showsContext }: Chat, message: MessageView): Promise<ExitCode> {
  printer.endLine();
  if (terminal.isJson) terminal.jsonLine({ type: 'result', message });
  else if (message.reply !== null && !printer.hasSpoken(message.turnId)) printer.print(message.reply);
  if (showsContext && message.turnId !== null) await printContext(api, message.turnId, terminal);
  return reportEnd(message, null, terminal);
}

/** The input of the turn's first call, without the model's own earlier text. */
async function printContext(api: ApiClient, id: string, terminal: Terminal): Promise<void> {
  const turn = await api.getTurn({ id });
  if (turn.steps.length === 0) return;
  const { parts } = await api.getModelRequest({ id, n: 1 });
  printParts(
    parts.filter(({ trust }) => trust !== 'model'),
    terminal.note,
    { width: terminal.width, paint: (_, text) => text },
  );
}

// The connection of `chat` to its session: one stream of live events, and messages that are sent
// until the service has accepted them. A service that is away for a while costs time: the stream
// resumes after its last event, and a message that is sent again has the same key (G2).

const TYPES = [
  'message.settled',
  'turn.started',
  'turn.parked',
  'turn.ended',
  'model.delta',
  'model.ended',
  'tool.started',
  'compaction.started',
] as const;

const SEND_AGAIN_MS = 1_000;

export class ChatSession {
  readonly key: string;
  readonly #api: ApiClient;
  readonly #printer: ChatPrinter;
  readonly #stop: AbortSignal;
  /** Messages that are not settled, by id. */
  readonly #open = new Map<string, (message: MessageView) => void>();
  /** Messages whose end came before their id was known here; and those of others. */
  readonly #settled = new Set<string>();

  constructor(about: { api: ApiClient; key: string; printer: ChatPrinter; stop: AbortSignal }) {
    this.#api = about.api;
    this.key = about.key;
    this.#printer = about.printer;
    this.#stop = about.stop;
  }

  /**
   * Follows the session until `stop`. `onOpen`: from then on nothing is missed. Throws when the
   * first attempt fails.
   */
  async follow(onOpen: () => void): Promise<void> {
    let isBroken = false;
    const open = (hooks: Parameters<ApiClient['events']>[0]) =>
      this.#api.events({ session: this.key, types: TYPES, ...hooks });
    const events = watchEvents(open, {
      signal: this.#stop,
      reconnectsMax: Infinity,
      onOpen,
      onReconnect: () => {
        if (!isBroken) this.#printer.note('the connection was lost; connecting again');
        isBroken = true;
      },
      onReopen: () => {
        if (isBroken) this.#printer.note('connected again');
        isBroken = false;
      },
      onReset: () => {
        for (const id of this.#open.keys()) this.#check(id).catch(() => undefined);
      },
    });
    for await (const event of events) await this.#take(event);
  }

  /** Sends a message; resolves when it is settled, null: the chat ended first. */
  async send(text: string): Promise<MessageView | null> {
    const id = await this.#post(text, randomUUID());
    if (id === null) return null;
    const settled = Promise.withResolvers<MessageView | null>();
    const end = (): void => settled.resolve(null);
    this.#stop.addEventListener('abort', end, { once: true });
    this.#open.set(id, settled.resolve);
    try {
      if (this.#settled.delete(id)) await this.#check(id);
      return await settled.promise;
    } finally {
      this.#open.delete(id);
      this.#stop.removeEventListener('abort', end);
    }
  }

  async #post(text: string, idempotencyKey: string): Promise<string | null> {
    for (let attempt = 1; !this.#stop.aborted; attempt += 1) {
      try {
        const { message } = await this.#api.sendMessage(
          { key: this.key, body: { text } },
          { idempotencyKey, signal: this.#stop },
        );
        return message.id;
      } catch (error) {
        if (this.#stop.aborted) break;
        if (!isAway(error)) throw error;
        if (attempt === 1) this.#printer.note(`${error.message}; the message is sent again`);
        await pause(SEND_AGAIN_MS, this.#stop);
      }
    }
    return null;
  }

  async #take(event: StreamedEvent): Promise<void> {
    this.#printer.take(event);
    const id = event.data['messageId'];
    if (event.type !== 'message.settled' || typeof id !== 'string') return;
    if (this.#open.has(id)) await this.#check(id);
    else this.#settled.add(id);
  }

  /** Reads a message, and ends the wait for it if it is settled. */
  async #check(id: string): Promise<void> {
    const message = await this.#api.getMessage({ id });
    if (!isOpen(message)) this.#open.get(id)?.(message);
  }
}
