// OpenAI's routes of pictures and sounds. The prompt, the text or the audio file is the script: its
// first answer decides.
import { SCRIPTED_ID_START } from '../src/core/models.ts';
import {
  auditHeadersOf,
  keyIdOf,
  refuseKey,
  sendJson,
  toProviderError,
  type Call,
  type CallParts,
} from './answer-call.ts';
import { tokensOf } from './cache-figures.ts';
import { pictureOf } from './picture.ts';
import { parseScript, type ScriptAnswer } from './parse-script.ts';
import { parseJson } from './read-body.ts';
import type { RecordedRequest } from './request-log.ts';
import { pause, scriptedError } from './stream-answer.ts';
import { isRecord } from './wire.ts';
import { asText, checkFields, invalid, missing, refused, unsupported } from './wires/openai-errors.ts';

const FIELDS: Readonly<Record<string, ReadonlySet<string>>> = Object.fromEntries(
  Object.entries({
    '/v1/images/generations':
      'model prompt n size quality style background moderation output_format output_compression partial_images response_format stream user',
    '/v1/audio/speech': 'model input voice response_format speed instructions stream_format',
    '/v1/audio/transcriptions':
      'model file response_format language prompt temperature timestamp_granularities[] include[] chunking_strategy stream',
  }).map(([path, names]) => [path, new Set(names.split(' '))]),
);

/** The types of files of speech. */
const SPEECH_TYPES: Readonly<Record<string, string>> = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
};
const SPEECH_CHARS_MAX = 4096;
const PICTURE_CHARS_MAX = 32_000;
/** What a picture of these models has. */
const PICTURE_TOKENS = 1056;
/** An audio file is as long as speech of 16 kbit for a second. */
const BYTES_PER_SECOND = 2000;

/** Answers a call, and remembers it. Throws `ProviderError` for an error. */
export async function answerMediaCall(server: CallParts, call: Call, path: string): Promise<void> {
  const body = await readMedia(call);
  const record = server.log.add({
    receivedAt: new Date().toISOString(),
    method: 'POST',
    path,
    headers: auditHeadersOf(call.request.headers),
    keyId: keyIdOf(call),
    text: JSON.stringify(body),
  });
  server.onRequest(record);
  try {
    record.status = await answer(server, call, { path, body, record });
  } catch (error) {
    const refusal = toProviderError(error);
    record.status = refusal.status;
    throw refusal;
  }
}

/** The fields of the body; of a file, its name, type, size and text. */
async function readMedia({ request, bytes, text }: Call): Promise<Record<string, unknown>> {
  const type = request.headers['content-type'] ?? '';
  if (!type.startsWith('multipart/form-data')) {
    const body = parseJson(text);
    return isRecord(body) ? body : {};
  }
  const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': type } }).formData();
  const fields: Record<string, unknown> = {};
  for (const [name, value] of form) {
    fields[name] =
      typeof value === 'string'
        ? value
        : { name: value.name, type: value.type, bytes: value.size, text: await value.text() };
  }
  return fields;
}

interface MediaExchange {
  path: string;
  body: Record<string, unknown>;
  record: RecordedRequest;
}

async function answer(server: CallParts, call: Call, { path, body, record }: MediaExchange): Promise<number | null> {
  checkFields(body, FIELDS[path] ?? new Set(), '');
  const model = asText(body['model'], 'model');
  const said = checkMedia(path, body);
  refuseKey(server, call, model);
  const script = parseScript([said], model);
  const scripted = script?.answers[0] ?? null;
  const { response, wire } = call;
  const delayMs = scripted?.delayMs ?? script?.delayMsEach ?? 0;
  if (delayMs > 0) await pause(response, delayMs);
  if (response.destroyed) return null;
  const { headers } = record;
  const place = `${path}|${headers['x-holdfast-turn'] ?? ''}|${model}|${said}`;
  const fault = server.memory.takeFault(
    place,
    scripted?.faults ?? [],
    (one) => !('model' in one) || one.model === model,
  );
  if (fault?.kind === 'error') throw scriptedError(fault, wire, model);
  if (fault?.kind === 'cut') response.destroy();
  if (fault !== null) return null;
  const id = server.newId(SCRIPTED_ID_START);
  const words = textOf(scripted);
  if (path === '/v1/images/generations') sendJson(response, 200, JSON.stringify(pictures(model, said, body)), id);
  else if (path === '/v1/audio/transcriptions') sendJson(response, 200, JSON.stringify(transcript(body, words)), id);
  else {
    const sound = Buffer.from(`ID3 scripted speech: ${words ?? said}`);
    const { response_format: format = 'mp3' } = body;
    const type = typeof format === 'string' ? SPEECH_TYPES[format] : '';
    response.writeHead(200, { 'content-type': type, 'content-length': sound.length, 'x-request-id': id }).end(sound);
  }
  return 200;
}

/** Throws at the first thing that the API would refuse; returns the text that has the script. */
function checkMedia(path: string, body: Record<string, unknown>): string {
  if (path === '/v1/images/generations') return asText(body['prompt'], 'prompt', PICTURE_CHARS_MAX);
  if (path === '/v1/audio/speech') {
    const { response_format: format = 'mp3' } = body;
    if (!Object.hasOwn(SPEECH_TYPES, String(format)))
      throw unsupported(format, Object.keys(SPEECH_TYPES), 'response_format');
    asText(body['voice'], 'voice');
    return asText(body['input'], 'input', SPEECH_CHARS_MAX);
  }
  const { file } = body;
  if (file === undefined) throw missing('file');
  if (!isRecord(file)) throw invalid('file', ': expected a file.');
  if (file['bytes'] === 0) throw refused('Audio file might be corrupted or unsupported', 'file', 'invalid_value');
  return String(file['text']);
}

function textOf(answer: ScriptAnswer | null): string | null {
  const texts = (answer?.blocks ?? []).flatMap((block) => (block.kind === 'text' ? [block.text] : []));
  return texts.length === 0 ? null : texts.join('\n');
}

function pictures(model: string, prompt: string, { n = 1 }: Record<string, unknown>): unknown {
  const data = Array.from({ length: Number(n) }, () => ({ b64_json: pictureOf(prompt).toString('base64') }));
  const created = Math.floor(Date.now() / 1000);
  if (model.startsWith('dall-e')) return { created, data };
  const input = tokensOf(prompt.length);
  const output = PICTURE_TOKENS * data.length;
  const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output };
  return { created, data, usage: { ...usage, input_tokens_details: { image_tokens: 0, text_tokens: input } } };
}

function transcript(body: Record<string, unknown>, words: string | null): unknown {
  const { bytes = 0 } = isRecord(body['file']) ? body['file'] : {};
  const text = words ?? `Scripted words of ${String(bytes)} bytes.`;
  const seconds = Math.max(1, Math.ceil(Number(bytes) / BYTES_PER_SECOND));
  const usage = { type: 'duration', seconds };
  return body['response_format'] === 'verbose_json'
    ? { task: 'transcribe', language: 'english', duration: seconds, text, segments: [], usage }
    : { text, usage };
}
