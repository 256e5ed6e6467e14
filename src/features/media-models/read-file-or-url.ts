// The bytes of a picture or a sound that a call or a message names.
import { join } from 'node:path';
import type { Config } from '../../config.ts';
import { ImageFault } from '../../images/fit-image.ts';
import { readConfined } from '../../images/read-confined.ts';
import { fetchWeb, WebFetchError } from '../../tools/web-fetch-request.ts';

export const IS_URL = /^https?:\/\//i;

interface Fetching {
  bytesMax: number;
  signal: AbortSignal;
  traceparent?: string | undefined;
}

/**
 * The bytes of a file of the workspace or of the folders for media, or of an address. Throws
 * `ImageFault`, `WebFetchError`.
 */
export async function readFileOrUrl(
  config: Config,
  name: string,
  { workspaceDir, bytesMax, ...how }: Fetching & { workspaceDir: string },
): Promise<Buffer> {
  const { runtime, images, tools } = config;
  if (IS_URL.test(name))
    return await fetchFile(config, name, { ...how, bytesMax: Math.min(bytesMax, tools.fetch.maxBytes) });
  const roots = [workspaceDir, join(runtime.dataDir, 'media'), ...images.roots];
  const reading = await readConfined(name, { workspaceDir, roots, bytesMax });
  if (reading.kind === 'read') return reading.bytes;
  throw new ImageFault(reading.kind === 'too-large' ? `larger than ${bytesMax} bytes` : 'not found in the workspace');
}

/**
 * The bytes of an address, by the rules of `web_fetch`. Throws `WebFetchError`, or the reason of
 * the signal.
 */
export async function fetchFile(
  { tools: { fetch } }: Config,
  url: string,
  { bytesMax, signal, traceparent }: Fetching,
): Promise<Buffer> {
  const { enabled, allowPrivate, timeoutSeconds, maxBytes } = fetch;
  if (!enabled) throw new WebFetchError('addresses are not fetched: tools.fetch.enabled is false');
  const late = AbortSignal.timeout(timeoutSeconds * 1000);
  const within = AbortSignal.any([signal, late]);
  const answer = await fetchWeb({ url, bytesMax, allowPrivate, traceparent, signal: within }).catch(
    (error: unknown) => {
      signal.throwIfAborted();
      if (late.aborted) throw new WebFetchError(`no answer within ${timeoutSeconds} s (tools.fetch.timeoutSeconds)`);
      throw error;
    },
  );
  if (answer.status < 200 || answer.status > 299) throw new WebFetchError(`the answer has the status ${answer.status}`);
  if (answer.isCut)
    throw new WebFetchError(`larger than ${bytesMax} bytes${bytesMax === maxBytes ? ' (tools.fetch.maxBytes)' : ''}`);
  return answer.body;
}
