// The connection of `chat` to its session: one stream of live events, and messages that are sent until the service has accepted them. A service
// that is away for a while costs time: the stream resumes after its last event, and a message that is sent again has the same key (G2).
import { randomUUID } from 'node:crypto';
import type { MessageView } from '../contract/views.ts';
import { pause } from '../clock.ts';
import type { ApiClient } from './api-client.ts';
import type { ChatPrinter } from './chat-printer.ts';
import { watchEvents, type StreamedEvent } from './event-stream.ts';
import { isAway } from './poll-until-end.ts';
import { isOpen } from './wait-until-settled.ts';

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

  /** Follows the session until `stop`. `onOpen`: from then on nothing is missed. Throws when the first attempt fails. */
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
