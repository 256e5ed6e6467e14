// The bytes of a picture or a sound that a call or a message names.
import { join } from 'node:path';
import type { Config } from '../../config.ts';
import { ImageFault } from '../../images/fit-image.ts';
import { readConfined } from '../../images/read-confined.ts';
import { fetchWeb, WebFetchError } from '../../tools/web-fetch-request.ts';

const IS_URL = /^https?:\/\//i;

/** The bytes of a file of the workspace or of the folders for media, or of an address by the rules of `web_fetch`. Throws `ImageFault`, `WebFetchError`. */
export async function readFileOrUrl(
  { runtime, images, tools }: Config,
  name: string,
  {
    workspaceDir,
    signal,
    traceparent,
    bytesMax,
  }: { workspaceDir: string; signal: AbortSignal; traceparent?: string | undefined; bytesMax: number },
): Promise<Buffer> {
  if (!IS_URL.test(name)) {
    const roots = [workspaceDir, join(runtime.dataDir, 'media'), ...images.roots];
    const reading = await readConfined(name, { workspaceDir, roots, bytesMax });
    if (reading.kind === 'read') return reading.bytes;
    throw new ImageFault(reading.kind === 'too-large' ? `larger than ${bytesMax} bytes` : 'not found in the workspace');
  }
  const { enabled, allowPrivate, timeoutSeconds } = tools.fetch;
  if (!enabled) throw new WebFetchError('addresses are not fetched: tools.fetch.enabled is false');
  const within = AbortSignal.any([signal, AbortSignal.timeout(timeoutSeconds * 1000)]);
  const most = Math.min(bytesMax, tools.fetch.maxBytes);
  const answer = await fetchWeb({ url: name, bytesMax: most, allowPrivate, traceparent, signal: within });
  if (answer.status < 200 || answer.status > 299) throw new WebFetchError(`the answer has the status ${answer.status}`);
  if (answer.isCut) throw new WebFetchError(`larger than ${most} bytes (tools.fetch.maxBytes)`);
  return answer.body;
}
