// Remembers the latest calls that reached a scripted platform, and the pushes that it made, for
// tests and audits that compare what a bot says with what the platform received.

export interface UploadedFile {
  /** The field of the form. */
  field: string;
  name: string;
  /** MIME type, as the caller claims. */
  type: string;
  bytes: Buffer;
}

export interface RecordedCall {
  /** Counts from 1 for the first call of the server. */
  number: number;
  /** When it had arrived completely, as ISO 8601. */
  receivedAt: string;
  /** The name of the method, such as `sendMessage` or `chat.postMessage`. */
  method: string;
  /** The id of the bot that called; empty: its token is not known. */
  bot: string;
  /** The chat that it concerns; null: none. */
  chat: string | null;
  parameters: Record<string, unknown>;
  files: UploadedFile[];
  /** The kind of the fault that it met; null: none. */
  fault: string | null;
  /** True: its effect happened, whether or not the caller received the answer. */
  isDone: boolean;
  /**
   * The HTTP status that was sent; null before that, and when the connection was closed instead.
   */
  status: number | null;
  /** The body that was sent, or would have been. */
  answer: unknown;
}

/** One attempt to push an event to the bot. */
export interface RecordedPush {
  number: number;
  sentAt: string;
  /** Counts from 1 for each event. */
  attempt: number;
  url: string;
  body: unknown;
  /**
   * The receiver's status (over a socket 200 for an acknowledgement); null before it has answered,
   * and when it did not.
   */
  status: number | null;
  /** What the receiver answered. */
  answer?: string;
}

export class Recorded<Entry extends { number: number }> {
  /** Called with each entry whose other side has answered. */
  onAnswered: (entry: Entry) => void = () => {};
  readonly #entriesMax: number;
  #entries: Entry[] = [];
  #count = 0;

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  /** The latest entries, oldest first. */
  get entries(): Entry[] {
    return [...this.#entries];
  }

  /** How many there were since the start, kept or not. */
  get count(): number {
    return this.#count;
  }

  /** Adds an entry and returns it; the oldest go when there are too many. */
  add(entry: Omit<Entry, 'number'>): Entry {
    // The number is the one field that was left out.
    const added = { number: (this.#count += 1), ...entry } as Entry;
    this.#entries.push(added);
    if (this.#entries.length > 2 * this.#entriesMax) this.#entries = this.#entries.slice(-this.#entriesMax);
    return added;
  }

  /** Notes what the other side has answered. */
  answer(entry: Entry, answer: Partial<Entry>): void {
    Object.assign(entry, answer);
    this.onAnswered(entry);
  }

  clear(): void {
    this.#entries = [];
  }
}
