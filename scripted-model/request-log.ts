// Remembers the latest requests that reached the scripted model, for tests and audits that judge
// Holdfast by what a provider would have received. Bounded in number and size; bodies stay text
// until they are read.

import type { WireUsage } from './compose-answer.ts';

export interface RecordedRequest {
  /** Counts from 1 for the server's first request. */
  number: number;
  /** When it had arrived completely, as ISO 8601. */
  receivedAt: string;
  method: string;
  path: string;
  /** The audit headers (`x-holdfast-*`); never a key. */
  headers: Record<string, string>;
  /** Tells keys apart, without the key. */
  keyId: string;
  /** The parsed body; null when it was no JSON. */
  readonly body: unknown;
  /** The HTTP status that it got; null before that, and when the connection was cut instead. */
  status: number | null;
  /** The tokens of its answer, as they were reported; null: no answer was sent to its end. */
  usage: WireUsage | null;
}

export interface RequestLogLimits {
  requestsMax: number;
  /** How many characters of bodies are kept in total. */
  charsMax: number;
}

class LoggedRequest implements RecordedRequest {
  readonly number: number;
  readonly receivedAt: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly keyId: string;
  readonly text: string;
  status: number | null = null;
  usage: WireUsage | null = null;

  constructor(request: Omit<RecordedRequest, 'body' | 'status' | 'usage'> & { text: string }) {
    this.number = request.number;
    this.receivedAt = request.receivedAt;
    this.method = request.method;
    this.path = request.path;
    this.headers = request.headers;
    this.keyId = request.keyId;
    this.text = request.text;
  }

  get body(): unknown {
    try {
      return JSON.parse(this.text) as unknown;
    } catch {
      return null;
    }
  }

  toJSON(): unknown {
    const { number, receivedAt, method, path, headers, keyId, status, usage, body } = this;
    return { number, receivedAt, method, path, headers, keyId, status, usage, body };
  }
}

export class RequestLog {
  readonly #limits: RequestLogLimits;
  #requests: LoggedRequest[] = [];
  #chars = 0;
  #count = 0;

  constructor(limits: RequestLogLimits) {
    this.#limits = limits;
  }

  /** The kept requests, oldest first. */
  get requests(): RecordedRequest[] {
    return [...this.#requests];
  }

  /** How many requests came since the start, kept or not. */
  get count(): number {
    return this.#count;
  }

  /** Adds a request and returns its record; the oldest go when a limit is passed. */
  add(request: {
    receivedAt: string;
    method: string;
    path: string;
    headers: Record<string, string>;
    keyId: string;
    text: string;
  }): RecordedRequest {
    this.#count += 1;
    const logged = new LoggedRequest({ ...request, number: this.#count });
    this.#requests.push(logged);
    this.#chars += request.text.length;
    let surplus = 0;
    while (this.#requests.length - surplus > this.#limits.requestsMax || this.#chars > this.#limits.charsMax) {
      this.#chars -= this.#requests[surplus]?.text.length ?? 0;
      surplus += 1;
    }
    if (surplus > 0) this.#requests.splice(0, surplus);
    return logged;
  }

  clear(): void {
    this.#requests = [];
    this.#chars = 0;
  }
}
