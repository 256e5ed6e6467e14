// Lines of JSON as a stream of bytes: written from items, and read again.

/** The largest number of characters of one line that is read. */
const LINE_CHARS_MAX = 67_108_864;

/** A stream of one line for each item, made as it is sent; for the body of `postBatches`. */
export function linesOf(items: Iterable<unknown> | AsyncIterable<unknown>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const source = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await source.next();
      if (done === true) controller.close();
      else controller.enqueue(encoder.encode(`${JSON.stringify(value)}\n`));
    },
    async cancel() {
      await source.return?.();
    },
  });
}

/** The lines of a stream, each as it is complete. Throws when the stream breaks, or ends in the middle of a line. */
export async function* readLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let parts: string[] = [];
  let chars = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const [first = '', ...others] = decoder.decode(value, { stream: true }).split('\n');
      parts.push(first);
      chars += first.length;
      if (chars > LINE_CHARS_MAX) throw new Error(`a line is longer than ${LINE_CHARS_MAX} characters`);
      for (const next of others) {
        yield parts.join('');
        parts = [next];
        chars = next.length;
      }
    }
    if (chars > 0) throw new Error('the stream ended in the middle of a line');
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
