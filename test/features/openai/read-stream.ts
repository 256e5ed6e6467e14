// Reads the stream of a chat completion as it comes over the wire.
import { createParser } from 'eventsource-parser';
import type { Chunk } from './check-chunks.ts';

/** `isDone`: it ended with [DONE], so nothing is missing. `error`: what the stream says instead. */
export interface ReadStream {
  status: number;
  chunks: Chunk[];
  isDone: boolean;
  error: { message: string; code: string | null } | null;
}

/**
 * Sends the request and reads its answer to the end, whatever that is. Rejects when nothing can be
 * reached.
 */
export async function readStream(
  url: string,
  { key, body, headers = {} }: { key: string; body: object; headers?: Record<string, string> },
): Promise<ReadStream> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ ...body, stream: true }),
  });
  const read: ReadStream = { status: response.status, chunks: [], isDone: false, error: null };
  if (!response.ok) return { ...read, error: ((await response.json()) as { error: ReadStream['error'] }).error };
  const parser = createParser({
    onEvent({ data }) {
      if (data === '[DONE]') read.isDone = true;
      else {
        const value = JSON.parse(data) as Chunk & { error?: ReadStream['error'] };
        if (value.error === undefined) read.chunks.push(value);
        else read.error = value.error;
      }
    },
  });
  const decoder = new TextDecoder();
  try {
    for await (const bytes of response.body ?? []) parser.feed(decoder.decode(bytes as Uint8Array, { stream: true }));
  } catch {
    // The connection broke: what has come has come.
  }
  return read;
}
