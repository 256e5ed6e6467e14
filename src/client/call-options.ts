// What the functions of the client take beside the fields of their requests.

/** How a client reaches the service. */
export interface ClientOptions {
  /**
   * Where the service is: `http://127.0.0.1:7420`. In a page of the service itself, the empty text.
   */
  url: string;
  /** An API key. Absent: the browser sends its cookie. */
  key?: string | undefined;
  /** Sends the requests; absent: the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined;
  /** Sent with every request. */
  headers?: Record<string, string> | undefined;
  /** How long a call may take, all attempts together; absent: 30 s. */
  timeoutMs?: number | undefined;
  /** Reads the JSON of an answer; absent: `JSON.parse`. Throws when the text is no JSON. */
  parse?: ((text: string) => unknown) | undefined;
  /** How often a request is sent again at most, where that is safe; absent: 3. */
  retriesMax?: number | undefined;
}

/** What one call may change. */
export interface CallOptions {
  /** Aborts the call; it then throws the reason of the signal. */
  signal?: AbortSignal | undefined;
  /** How long the call may take, all attempts together; the time of `waitSeconds` is added. */
  timeoutMs?: number | undefined;
  /** Asks the service to wait for the end of the message, up to 30 s: `Prefer: wait`. */
  waitSeconds?: number | undefined;
  /**
   * The key of a POST; absent: a new one. A call that is repeated with its key has its effect once.
   */
  idempotencyKey?: string | undefined;
  /** Further headers, such as `content-encoding: gzip` for lines that are compressed. */
  headers?: Record<string, string> | undefined;
}

/**
 * Lines of JSON, sent as they are. A stream can be sent only once, so its request is never
 * repeated.
 */
export type LineBody = string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array>;
