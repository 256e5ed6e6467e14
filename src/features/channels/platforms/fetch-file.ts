// Downloads a file of a message within a bound.
import { given } from '../../../core/given.ts';
import { PlatformError } from '../platform.ts';

/** The bytes behind an address of a platform. Rejects with `PlatformError`. */
export async function fetchFile(
  url: string,
  from: { platform: string; bytesMax: number; signal: AbortSignal; headers?: Record<string, string> },
): Promise<{ bytes: Buffer; type?: string }> {
  const { platform, bytesMax, signal, headers = {} } = from;
  const answer = await fetch(url, { headers, signal, redirect: 'error' }).catch(() => null);
  if (answer?.ok !== true || answer.body === null)
    throw new PlatformError('later', `${platform} did not send the file: ${answer?.status ?? 'no answer'}`);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer.body) {
    size += chunk.length;
    if (size > bytesMax)
      throw new PlatformError('refused', `The file is larger than mediaBytesMax (${bytesMax} bytes)`);
    chunks.push(chunk);
  }
  return { bytes: Buffer.concat(chunks), ...given({ type: answer.headers.get('content-type') ?? undefined }) };
}
