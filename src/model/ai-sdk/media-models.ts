// Models of pictures and sounds, through the packages of the AI SDK. As for language models, the
// `fetch` is ours: it checks the lease right before the request is written, bounds the answer and
// follows no redirect; and one call is one request.
import type { ImageModelV4, SpeechModelV4, TranscriptionModelV4 } from '@ai-sdk/provider';
import type { Dispatcher } from 'undici';
import type { ServedProvider } from '../../config.ts';
import { given, isObject } from '../../core/json.ts';
import { createPool } from '../connections.ts';
import { ModelError } from '../model.ts';
import { cutAnswer, malformedAnswer, post } from '../post.ts';
import { loadProvider, unusable, type MakeOptions } from './apis.ts';
import { parsed, refusalIn, toModelError } from './to-model-error.ts';

interface MediaModels {
  image: ImageModelV4;
  speech: SpeechModelV4;
  transcription: TranscriptionModelV4;
}
export type MediaKind = keyof MediaModels;

/** The settings of a call, in the words of the AI SDK. */
export type MediaSettings<Kind extends MediaKind> = Omit<
  Parameters<MediaModels[Kind]['doGenerate']>[0],
  'abortSignal' | 'headers'
>;
export type MediaResult<Kind extends MediaKind> = Awaited<ReturnType<MediaModels[Kind]['doGenerate']>>;

/** How a call is sent. */
export interface MediaWay {
  signal: AbortSignal;
  headers: Record<string, string>;
  onSend: (body: Uint8Array) => void;
  onBytes: (count: number) => void;
}

/** The provider with one of its keys, and the model. */
export interface MediaTarget extends Omit<ServedProvider, 'keys'> {
  apiKey: string;
  model: string;
}

/** The most of an answer: a picture in base64 has some megabytes. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** Statuses of answers that can have no body. */
const WITHOUT_BODY: readonly number[] = [204, 205, 304];

let pool: Dispatcher | null = null;

/** Asks once. Throws `ModelError`, or the signal's reason. */
export async function askMedia<Kind extends MediaKind>(
  kind: Kind,
  target: MediaTarget,
  settings: MediaSettings<Kind>,
  way: MediaWay,
): Promise<MediaResult<Kind>> {
  const heard: Heard = { body: null, isSound: false };
  try {
    const model = await loadModel(kind, target, createFetch(kind, way, heard));
    // The settings and the result belong to the same kind.
    const generate = model.doGenerate.bind(model) as (all: object) => PromiseLike<MediaResult<Kind>>;
    const result = await generate({ ...settings, headers: way.headers, abortSignal: way.signal });
    if ('audio' in result && isWords(result.audio, heard))
      throw malformedAnswer('The answer is text instead of sound.');
    return result;
  } catch (error) {
    way.signal.throwIfAborted();
    const fault = toModelError(error);
    const isUnreadable = fault instanceof ModelError && fault.type === 'malformed_stream' && heard.body !== null;
    throw isUnreadable ? refusalIn(heard.body?.toString(), { status: 200, cause: fault }) : fault;
  }
}

/**
 * The last answer with a status of success, once it has arrived whole: what it has in place of a
 * picture or a sound says why there is none.
 */
interface Heard {
  body: Buffer | null;
  /** True if its type is one of sounds. */
  isSound: boolean;
}

/** True for the text of an answer that a package has taken for its sound. */
function isWords(audio: string | Uint8Array, { body, isSound }: Heard): boolean {
  if (typeof audio === 'string' || audio.length === 0 || body?.equals(audio) !== true) return false;
  const text = body.toString();
  if (isObject(parsed(text))) return true;
  return !isSound && !/[\p{Cc}\ufffd]/u.test(text.replaceAll(/[\t\r\n]/g, ''));
}

async function loadModel<Kind extends MediaKind>(
  kind: Kind,
  { name, model, apiKey, baseUrl, headers, ...served }: MediaTarget,
  fetch: typeof globalThis.fetch,
): Promise<MediaModels[Kind]> {
  const options = { name, apiKey, fetch, ...given({ baseURL: baseUrl, headers }) };
  const provider = (await makeProvider(served, options)) as Record<string, unknown>;
  const make = provider[`${kind}Model`];
  const made = typeof make === 'function' ? (make.call(provider, model) as MediaModels[Kind]) : undefined;
  if (made?.specificationVersion === 'v4') return made;
  throw unusable(`The provider ${name} has no ${kind} models that Holdfast can call.`);
}

async function makeProvider(
  { api, package: packageName = '', options: settings = {} }: Pick<ServedProvider, 'api' | 'package' | 'options'>,
  options: MakeOptions,
): Promise<unknown> {
  switch (api) {
    // Other servers have the addresses of OpenAI for pictures and sounds, too.
    case 'openai':
    case 'openai-chat':
    case 'openai-compatible':
      return (await import('@ai-sdk/openai')).createOpenAI(options);
    case 'google':
      return (await import('@ai-sdk/google')).createGoogle(options);
    case 'xai':
      return (await import('@ai-sdk/xai')).createXai(options);
    case 'package':
      return (await loadProvider({ package: packageName, settings }))(options);
    case 'anthropic':
      throw unusable('Anthropic has no models of pictures or sounds.');
    default:
      return api satisfies never;
  }
}

function createFetch(kind: MediaKind, { signal, onSend, onBytes }: MediaWay, heard: Heard): typeof globalThis.fetch {
  return async (input, { signal: _own, ...init } = {}) => {
    heard.body = null;
    // Writes the body of a form, with its boundary.
    const request = new Request(input, init);
    const body = new Uint8Array(await request.arrayBuffer());
    const { url, method } = request;
    const reply = await post(
      (pool ??= createPool()),
      {
        url,
        method: method as Dispatcher.HttpMethod,
        headers: Object.fromEntries(request.headers),
        ...(body.length === 0 ? {} : { body }),
      },
      { signal, onWrite: () => onSend(body) },
    );
    const { status, headers } = reply;
    // They are of the body as it was sent; this one is decoded.
    for (const header of ['content-encoding', 'content-length']) headers.delete(header);
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const chunk of reply.bytes as AsyncIterable<Buffer>) {
        onBytes(chunk.length);
        bytes += chunk.length;
        if (bytes > ANSWER_BYTES_MAX) break;
        chunks.push(chunk);
      }
    } catch (error) {
      signal.throwIfAborted();
      throw cutAnswer(error);
    } finally {
      reply.bytes.destroy();
    }
    if (bytes > ANSWER_BYTES_MAX) throw malformedAnswer(`The answer is longer than ${ANSWER_BYTES_MAX} bytes.`);
    const whole = Buffer.concat(chunks);
    if (status < 300)
      Object.assign(heard, { body: whole, isSound: headers.get('content-type')?.startsWith('audio/') === true });
    const answer = kind === 'image' ? withAddresses(whole) : whole;
    return new Response(WITHOUT_BODY.includes(status) ? null : answer, { status, headers });
  };
}

/**
 * With the addresses of pictures in the places of pictures: no package fetches them, and each lets
 * them through.
 */
function withAddresses(body: Buffer): Buffer {
  const answer = body.includes('"url"') ? parsed(body.toString()) : null;
  if (!isObject(answer) || !Array.isArray(answer['data'])) return body;
  const data = answer['data'].map((item: unknown) =>
    isObject(item) && !item['b64_json'] && typeof item['url'] === 'string' ? { ...item, b64_json: item['url'] } : item,
  );
  return Buffer.from(JSON.stringify({ ...answer, data }));
}
