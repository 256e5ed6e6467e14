// What the client reads from streams: server-sent events, as the HTML standard defines the format,
// and lines of JSON, which it also writes. Written here because the client has no dependencies.

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

/**
 * The lines of a stream, each as it is complete. Throws when the stream breaks, or ends in the
 * middle of a line.
 */
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

/** The fields of one block between two blank lines. */
export interface EventBlock {
  /** The last id up to here; empty: none yet. */
  id: string;
  type: string;
  /** null: the block moved the id, and holds no event. */
  data: string | null;
}

/** The largest number of characters of one event. */
const EVENT_CHARS_MAX = 4_194_304;

/**
 * Reads one stream. Takes its bytes as they come, cut anywhere, and gives the blocks that they
 * complete.
 */
export function createEventParser(): (bytes: Uint8Array) => EventBlock[] {
  const decoder = new TextDecoder();
  /** The line that is not complete, in parts. */
  let line: string[] = [];
  let data: string[] = [];
  let chars = 0;
  let type = '';
  let id = '';
  let hasId = false;
  /** The text before ended with a carriage return: a newline that follows belongs to it. */
  let isAfterReturn = false;

  function takeField(text: string): void {
    const colon = text.indexOf(':');
    if (colon === 0) return;
    const name = colon === -1 ? text : text.slice(0, colon);
    const value = colon === -1 ? '' : text.slice(colon + (text[colon + 1] === ' ' ? 2 : 1));
    if (name === 'data') data.push(value);
    else if (name === 'event') type = value;
    else if (name === 'id' && !value.includes('\0')) {
      id = value;
      hasId = true;
    }
  }

  function endBlock(): EventBlock | null {
    const block = { id, type: type === '' ? 'message' : type, data: data.length === 0 ? null : data.join('\n') };
    const isBlock = hasId || block.data !== null;
    data = [];
    chars = 0;
    type = '';
    hasId = false;
    return isBlock ? block : null;
  }

  return (bytes) => {
    let text = decoder.decode(bytes, { stream: true });
    const blocks: EventBlock[] = [];
    if (isAfterReturn && text.startsWith('\n')) text = text.slice(1);
    else if (text === '') return blocks;
    isAfterReturn = text.endsWith('\r');
    let start = 0;
    for (const { 0: end, index } of text.matchAll(/\r\n|\n|\r/g)) {
      line.push(text.slice(start, index));
      start = index + end.length;
      const whole = line.join('');
      line = [];
      if (whole !== '') takeField(whole);
      else {
        const block = endBlock();
        if (block !== null) blocks.push(block);
      }
    }
    if (start < text.length) line.push(text.slice(start));
    chars += text.length;
    if (chars > EVENT_CHARS_MAX) chars = countChars(line) + countChars(data);
    if (chars > EVENT_CHARS_MAX) throw new Error(`an event is longer than ${EVENT_CHARS_MAX} characters`);
    return blocks;
  };
}

function countChars(parts: string[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}
