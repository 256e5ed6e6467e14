// Downloads a file of a message within a bound.
import { given } from '../../core/json.ts';
import { PlatformError } from './platform.ts';

/** The bytes that a platform has at an address. Rejects with `PlatformError`. */
export async function fetchFile(
  url: string,
  from: { platform: string; bytesMax: number; signal: AbortSignal; headers?: Record<string, string> },
): Promise<{ bytes: Buffer; type?: string }> {
  const { platform, bytesMax, signal, headers = {} } = from;
  const answer = await fetch(url, { headers, signal, redirect: 'error' }).catch(() => null);
  if (answer?.ok !== true || answer.body === null)
    throw new PlatformError('later', `${platform} did not send the file: ${answer?.status ?? 'no answer'}`);
  const bytes = await readBytes(answer.body, bytesMax);
  if (bytes === null) throw tooLarge(bytesMax);
  return { bytes, ...given({ type: answer.headers.get('content-type') ?? undefined }) };
}

/** Null: there are more than `bytesMax`; the rest is not read. */
export async function readBytes(body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Buffer | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > bytesMax) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export function tooLarge(bytesMax: number): PlatformError {
  return new PlatformError('refused', `The file is larger than mediaBytesMax (${bytesMax} bytes)`);
}
