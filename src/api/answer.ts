// The answer of a route.

/** The `body` is written as JSON unless it is text with a content type. */
export interface Answer {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
  /**
   * Fields of this answer alone: they are not stored with an Idempotency-Key, so a retry gets those
   * of `body`. For secrets.
   */
  once?: Record<string, unknown>;
}
