// Calls a model of pictures or sounds for the kernel, which passes the gate before and stores its
// cost after.
import { listServedProviders, secretsOf, type Config } from '../../config.ts';
import { createRedact } from '../../config/secrets.ts';
import { modelOfRef, providerOf } from '../../core/models.ts';
import type { ModelRequest, TokenCounts } from '../../core/model-request.ts';
import { askMedia, type MediaKind, type MediaResult, type MediaSettings } from '../../model/ai-sdk/media-models.ts';
import { ModelError } from '../../model/model.ts';
import { type PaidAnswer, type PaidWay, PaidCallError } from '../../tools/paid-call.ts';
import { errorOutcome, type ToolOutcome } from '../../tools/tool.ts';

/**
 * A request to such a model, for limits and budgets: its text, and about how many tokens its answer
 * has at most.
 */
export function requestOf(model: string, text: string, maxTokens: number): ModelRequest {
  return {
    ...modelOfRef(model),
    maxTokens,
    system: [],
    tools: [],
    messages: [{ role: 'user', content: [{ type: 'text', text }] }],
  };
}

/** Sends it. `options`: of the configuration. Throws `ModelError`, or the signal's reason. */
export async function sendMedia<Kind extends MediaKind>(
  config: Config,
  kind: Kind,
  { request, ...way }: PaidWay,
  { options = {}, ...settings }: Omit<MediaSettings<Kind>, 'providerOptions'> & { options?: object | undefined },
): Promise<MediaResult<Kind>> {
  const name = providerOf(request);
  const served = listServedProviders(config.models).find((one) => one.name === name);
  if (served === undefined) throw refusal(`No provider ${name} is configured.`);
  const { keys, ...provider } = served;
  const apiKey = (keys.find((key) => key.name === request.key) ?? keys[0])?.key ?? '';
  const { api } = provider;
  // The packages look for options under the name of their own provider.
  const owner = api === 'package' ? name : api.startsWith('openai') ? 'openai' : api;
  const all = { ...settings, providerOptions: { [owner]: options } } as unknown as MediaSettings<Kind>;
  try {
    return await askMedia(kind, { ...provider, apiKey, model: request.model }, all, way);
  } catch (error) {
    throw error instanceof ModelError ? redacted(config, error) : error;
  }
}

function refusal(message: string): ModelError {
  return new ModelError({ type: 'invalid_request_error', status: null, retryAfterMs: null, message });
}

/** The answer of a provider may repeat the key of the request. */
function redacted(config: Config, { type, status, retryAfterMs, message }: ModelError): ModelError {
  return new ModelError({ type, status, retryAfterMs, message: createRedact(secretsOf(config))(message) });
}

/** What the ledger of costs stores of an answer. */
export function answerOf<Result>(
  result: Result,
  { response, usage }: { response: { headers?: Record<string, string | undefined> | undefined }; usage?: unknown },
): PaidAnswer<Result> {
  return { result, id: response.headers?.['x-request-id'] ?? null, usage: toTokens(usage) };
}

/** The packages name tokens in their words, or pass on the words of the provider. */
function toTokens(usage: unknown): TokenCounts | null {
  const counts = (usage ?? {}) as Record<string, unknown>;
  const read = (...names: string[]): number => {
    const found = names.map((name) => counts[name]).find((value) => typeof value === 'number');
    return found ?? 0;
  };
  const inputTokens = read('inputTokens', 'input_tokens');
  const outputTokens = read('outputTokens', 'output_tokens');
  if (inputTokens + outputTokens === 0) return null;
  return { inputTokens, outputTokens, cacheReadTokens: 0, cacheWriteTokens: 0 };
}

/**
 * The outcome of a tool whose call has no answer. A call that may have been made and paid is not
 * made again (G11). Rethrows other errors.
 */
export function paidFailure(tool: string, error: unknown, { mayRepeat }: { mayRepeat: boolean }): ToolOutcome {
  if (!(error instanceof PaidCallError)) throw error;
  const { kind, message } = error;
  if (kind === 'refused') return errorOutcome(`${tool}: the call was not made. ${message}`);
  if (kind === 'failed' || mayRepeat) return errorOutcome(`${tool}: the model has not answered. ${message}`);
  const content =
    `outcome unknown: the request was sent, and then there was no answer: ${message} ` +
    'It may have been carried out and paid, and was not sent again. Repeat it only if its cost does not matter.';
  return { content, isError: true, isUnknown: true };
}
