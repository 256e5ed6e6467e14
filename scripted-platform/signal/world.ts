// What a scripted Signal knows: the account of the bot, people, groups, the messages of each chat,
// and the envelopes that wait at Signal for the daemon.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Recorded, RecordedPush } from '../call-log.ts';
import type { Disorder } from '../pushes.ts';

export type Json = Record<string, unknown>;

export interface Person {
  uuid: string;
  number: string;
  name: string;
}

export interface Group {
  id: string;
  name: string;
  /** Whether the bot is in it. */
  isMember: boolean;
}

export interface Message {
  timestamp: number;
  /** The UUID of its author. */
  author: string;
  text: string;
  /** `start:length:STYLE`. */
  styles: string[];
  quote: { timestamp: number; author: string } | null;
  files: { name: string; type: string; bytes: number }[];
  /** By the UUID of the person. */
  reactions: Record<string, string>;
  isEdited: boolean;
}

export const BOT_UUID = 'b0b0b0b0-0000-4000-8000-000000000000';

/** Rejected by the daemon with this code. */
export class Refused extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data: unknown = null) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export class World {
  readonly bot: Person;
  readonly people = new Map<string, Person>();
  readonly groups = new Map<string, Group>();
  readonly attachments = new Map<string, Buffer>();
  readonly #chats = new Map<string, Message[]>();
  readonly #pushes: Recorded<RecordedPush>;
  #waiting: Json[] = [];
  #held: Json[] = [];
  #duplicate = 0;
  #reorder = 0;
  #isReceiving = false;
  #arrived = Promise.withResolvers<void>();
  #timestamp = 0;

  constructor(number: string, pushes: Recorded<RecordedPush>) {
    this.bot = { uuid: BOT_UUID, number, name: 'Bot' };
    this.#pushes = pushes;
  }

  /** The envelopes that the daemon has not received. */
  get waiting(): Json[] {
    return [...this.#waiting, ...this.#held];
  }

  /** Whether the daemon waits for envelopes. */
  get isReceiving(): boolean {
    return this.#isReceiving;
  }

  /** A time in milliseconds that no other message has. */
  newTimestamp(): number {
    return (this.#timestamp = Math.max(Date.now(), this.#timestamp + 1));
  }

  /** Signal finds people by their number or their UUID. */
  personOf(id: string): Person {
    const found = [this.bot, ...this.people.values()].find(({ uuid, number }) => id === uuid || id === number);
    if (found === undefined) throw new Refused(-1, `The user ${id} is not registered.`);
    return found;
  }

  addPerson({ uuid = randomUUID(), number, name = number }: Partial<Person> & { number: string }): Person {
    const person = { uuid, number, name };
    this.people.set(uuid, person);
    return person;
  }

  messagesOf(chat: string): Message[] {
    const known = this.#chats.get(chat) ?? [];
    this.#chats.set(chat, known);
    return known;
  }

  /** Sends an envelope to the account of the bot. */
  push(envelope: Json): void {
    const copies = this.#duplicate > 0 ? [envelope, envelope] : [envelope];
    this.#duplicate = Math.max(0, this.#duplicate - 1);
    if (this.#reorder > 0) {
      this.#held.unshift(...copies);
      this.#reorder -= 1;
      return this.#releaseHeld();
    }
    this.#waiting.push(...copies);
    this.#arrived.resolve();
  }

  disturb({ duplicate = this.#duplicate, reorder = this.#reorder }: Disorder): void {
    this.#duplicate = duplicate;
    this.#reorder = reorder;
    this.#releaseHeld();
  }

  #releaseHeld(): void {
    if (this.#reorder > 0) return;
    this.#waiting.push(...this.#held);
    this.#held = [];
    this.#arrived.resolve();
  }

  /**
   * As the daemon receives: what it hands over is acknowledged to Signal before, and is not handed
   * over again.
   */
  async receive(seconds: number, messagesMax: number): Promise<Json[]> {
    if (this.#isReceiving)
      throw new Refused(-1, 'Receive command cannot be used if messages are already being received.');
    this.#isReceiving = true;
    try {
      const over = AbortSignal.timeout(seconds * 1_000);
      while (this.#waiting.length === 0 && !over.aborted) {
        this.#arrived = Promise.withResolvers();
        const wait = new AbortController();
        const aborted = AbortSignal.any([over, wait.signal]);
        await Promise.race([this.#arrived.promise, delay(seconds * 1_000, undefined, { signal: aborted })]).catch(
          () => undefined,
        );
        wait.abort();
      }
      const received = this.#waiting.splice(0, messagesMax);
      const pushed = { sentAt: new Date().toISOString(), attempt: 1, url: 'receive', status: null };
      return received.map((envelope) => {
        this.#pushes.answer(this.#pushes.add({ ...pushed, body: envelope }), { status: 200 });
        return { account: this.bot.number, envelope };
      });
    } finally {
      this.#isReceiving = false;
    }
  }
}

/** How many bytes a message may have; what is longer becomes a file. */
export const TEXT_BYTES_MAX = 2_000;
