// What a route answers.

/** The `body` is written as JSON unless it is text with a content type. */
export interface Answer {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}
