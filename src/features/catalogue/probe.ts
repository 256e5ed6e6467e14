// Asks a provider for its list of models and a model for a few tokens, and says in one sentence
// what is wrong. Nothing of it is in the statistics.
import { findClosest } from '../../config/config-error.ts';
import { setUpHint } from '../../config/providers.ts';
import type { ModelProbe } from '../../contract/models.ts';
import { given } from '../../core/json.ts';
import { WRONG_ADDRESS } from '../../core/failure.ts';
import { DEFAULT_PROVIDER } from '../../core/models.ts';
import { cutHead } from '../../core/text.ts';
import { ModelError, type Model } from '../../model/model.ts';

/** Some APIs take no fewer. */
const TOKENS = 16;
/** How much of the provider's own words is shown. */
const SAID_CHARS_MAX = 400;

/** What a person asks for: a provider, or `provider/model`. */
export async function probeModel(model: Model, asked: string, signal: AbortSignal): Promise<ModelProbe> {
  const [provider = '', ...rest] = asked.split('/');
  const name = rest.join('/');
  const to = (code: ModelProbe['code'], text: string, names: readonly string[] | null): ModelProbe => {
    return { model: asked, code, text, listed: names?.length ?? null };
  };
  if (!model.providers.includes(provider)) {
    const known = model.providers.join(', ');
    const text = `No provider "${provider}" is configured; the configured ones are: ${known}${setUpHint(`${provider}/`)}.`;
    return to('not_configured', text, null);
  }
  try {
    const names = await model.listModels(provider, signal).catch((error: unknown) => {
      // Some servers have no list; what they say to a call counts.
      if (name === '') throw error;
      return null;
    });
    if (name === '') return to('ok', listText(provider, names), names);
    try {
      await askOnce(model, { provider, name, signal });
      return to('ok', `${asked} answers.`, names);
    } catch (error) {
      const { code, text } = explain(error, { provider, name, names });
      return to(code, text, names);
    }
  } catch (error) {
    const { code, text } = explain(error, { provider, name, names: null });
    return to(code, text, null);
  }
}

function listText(provider: string, names: readonly string[] | null): string {
  if (names === null) return `${provider} has no list of models that is known; name a model: ${provider}/<model>.`;
  return `${provider} takes the key and lists ${names.length} models.`;
}

async function askOnce(
  model: Model,
  { provider, name, signal }: { provider: string; name: string; signal: AbortSignal },
): Promise<void> {
  const request = {
    ...given({ provider: provider === DEFAULT_PROVIDER ? undefined : provider }),
    model: name,
    maxTokens: TOKENS,
    system: [],
    tools: [],
    messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Say ok.' }] }],
  };
  await model.ask(request, { signal, headers: {} });
}

type Verdict = Pick<ModelProbe, 'code' | 'text'>;

interface Probed {
  provider: string;
  name: string;
  /** The names that it lists; null: not known. */
  names: readonly string[] | null;
}

/** What is wrong, in one sentence with what to do. */
export function explain(error: unknown, { provider, name, names }: Probed): Verdict {
  if (error instanceof DOMException && error.name === 'TimeoutError') {
    const text = `${provider} does not answer in time. Check models.providers.${provider}.baseUrl and the network.`;
    return { code: 'unreachable', text };
  }
  if (!(error instanceof ModelError)) throw error;
  const { type, status } = error;
  const said = cutHead(error.message, SAID_CHARS_MAX).replaceAll(/\s+/g, ' ').trim().replace(/\.$/, '');
  const settings = `models.providers.${provider}`;
  switch (type) {
    case 'authentication_error':
    case 'permission_error':
      return {
        code: 'key_refused',
        text: `${provider} refuses the key: ${said}. Check ${settings}.apiKey${setUpHint(`${provider}/`)}.`,
      };
    case 'billing_error':
      return { code: 'quota', text: `The account at ${provider} has no credit left: ${said}.` };
    case 'rate_limit_error':
      return { code: 'limited', text: `${provider} limits the account now: ${said}.` };
    case 'not_found_error':
      if (names === null || names.includes(name)) {
        return {
          code: 'wrong_address',
          text: `${provider} knows neither this model nor a list of models (${status}: ${said}). Check ${settings}.baseUrl and the name of the model.`,
        };
      }
      return { code: 'model_unknown', text: `${provider} has no model "${name}"${nearest(name, names)}.` };
    case WRONG_ADDRESS:
    case 'malformed_stream':
      return {
        code: 'wrong_address',
        text: `What answers for ${provider} is not its API: ${said}. Check ${settings}.baseUrl and ${settings}.api.`,
      };
    case 'network':
      return explainNetwork(provider, said, error.cause);
    case 'overloaded_error':
    case 'api_error':
      return { code: 'failed', text: `${provider} fails at the moment (${status ?? 'within its answer'}): ${said}.` };
    default:
      if (status === null && said.startsWith('The package ')) return { code: 'package_missing', text: `${said}.` };
      return { code: 'failed', text: `${provider} refuses the request (${status ?? 'within its answer'}): ${said}.` };
  }
}

function nearest(name: string, names: readonly string[]): string {
  const close = findClosest(name, names);
  const alike = names.filter((one) => one !== close && (one.includes(name) || name.includes(one))).slice(0, 2);
  const found = [...(close === undefined ? [] : [close]), ...alike];
  return found.length === 0
    ? `; it lists ${names.length} others`
    : `; did you mean ${found.join(' or ')}?`.replace(/\?$/, '');
}

function explainNetwork(provider: string, said: string, cause: unknown): Verdict {
  const codes = [cause, cause instanceof Error ? cause.cause : undefined].map((one) =>
    one instanceof Error && 'code' in one ? String(one.code) : '',
  );
  if (codes.some((code) => /CERT|TLS|SSL|ISSUER|EPROTO/.test(code))) {
    return { code: 'tls', text: `There is no secure connection to ${provider}: ${said}.` };
  }
  return {
    code: 'unreachable',
    text: `${provider} cannot be reached: ${said}. Its address is models.providers.${provider}.baseUrl; if there is a proxy, set NODE_USE_ENV_PROXY and HTTPS_PROXY.`,
  };
}
