// The model of a process, made from its configuration: transports, what providers need, and the
// observers that are switched on.
import { join } from 'node:path';
import { decodeHTMLStrict } from 'entities/decode';
import {
  keysOfProvider,
  listServedProviders,
  secretsOf,
  type Config,
  type ProviderKey,
  type ProviderSettings,
  type ServedProvider,
} from '../config.ts';
import { createRedact } from '../config/secrets.ts';
import type { Clock } from '../clock.ts';
import { given } from '../core/json.ts';
import type { Logger } from '../logger.ts';
import { createAiSdkTransport } from './ai-sdk/create-transport.ts';
import { createAnthropicTransport } from './anthropic.ts';
import { createModel, type ModelParts } from './create-model.ts';
import type { Model } from './model.ts';
import { createCacheTrace } from './observers/cache-trace.ts';
import type { ModelObserver } from './observers/observer.ts';
import { createPayloadLog } from './observers/payload-log.ts';
import type { Transport } from './transport.ts';

export interface ConfiguredModelOptions {
  config: Config;
  clock: Clock;
  logger: Logger;
  /** Where and with which key Anthropic's models are asked. */
  endpoint: { apiKey: string; baseUrl?: string };
  /** Transports that go before the built-in one: those of plugins. */
  transports?: readonly Transport[];
}

/** Makes the model; close it after the last call. */
export function createConfiguredModel({
  config,
  clock,
  logger,
  endpoint,
  transports = [],
}: ConfiguredModelOptions): Model {
  const { anthropic } = config.models.providers;
  const { headers, streaming: isStreaming, keys } = anthropic;
  const builtIn = keysOfProvider({ apiKey: endpoint.apiKey, ...given({ keys }) }).map(
    withKey((apiKey) => createAnthropicTransport({ ...endpoint, apiKey, headers, isStreaming })),
  );
  const all = [
    ...transports,
    ...builtIn,
    ...listServedProviders(config.models).flatMap((served) => createServedTransports(served, config)),
  ];
  return createModel({
    transports: all,
    ...createWireForms(config, all),
    observers: createObservers(config, clock, logger),
    // Made for each text: keys change while the process runs, and such texts are rare.
    redact: (text) => createRedact([...secretsOf(config), endpoint.apiKey])(text),
    onObserverFault: (name, error) => logger.warn({ err: error, observer: name }, 'Observer of the model failed'),
  });
}

/** The transports to a provider of the configuration, one for each key. */
function createServedTransports(
  { name: provider, api, keys, ...settings }: ServedProvider,
  { models: { catalogue } }: Config,
): Transport[] {
  const start = `${provider}/`;
  const own = Object.entries(catalogue).filter(([ref]) => ref.startsWith(start));
  const models = Object.fromEntries(own.map(([ref, facts]) => [ref.slice(start.length), facts]));
  const { baseUrl = '', headers = {} } = settings;
  const make = (apiKey: string) =>
    api === 'anthropic'
      ? createAnthropicTransport({ provider, baseUrl, apiKey, headers })
      : createAiSdkTransport({ provider, api, apiKey, models, ...settings });
  return keys.map(withKey(make));
}

/** A transport that says which key it uses. */
function withKey(make: (apiKey: string) => Transport): (key: ProviderKey) => Transport {
  return ({ key, name, scope }) => ({ ...make(key), key: { name, scope } });
}

/**
 * The form in which each provider takes histories and writes arguments: the configured one,
 * otherwise that of its transport.
 */
function createWireForms(
  { models: { providers } }: Config,
  transports: readonly Transport[],
): Pick<ModelParts, 'families' | 'argumentDecoders'> {
  const findSettings = (provider: string): ProviderSettings | undefined =>
    Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  const families = Object.entries(providers).flatMap(([name, { family }]) => (family ? [[name, family] as const] : []));
  const decoders = transports.flatMap(({ provider, toolCallArgumentsEncoding: own }) => {
    const encoding = findSettings(provider)?.toolCallArgumentsEncoding ?? own;
    return encoding === 'html-entities' ? [[provider, decodeHTMLStrict] as const] : [];
  });
  return { families: Object.fromEntries(families), argumentDecoders: Object.fromEntries(decoders) };
}

function createObservers(config: Config, clock: Clock, logger: Logger): ModelObserver[] {
  const { payloadLog, cacheTrace } = config.diagnostics;
  const { dataDir } = config.runtime;
  const now = () => clock.now();
  const observers: ModelObserver[] = [];
  if (payloadLog.enabled) {
    const path = payloadLog.path ?? join(dataDir, 'payloads.jsonl');
    const onFault = (error: unknown) => logger.warn({ err: error, path }, 'Payload log cannot be written');
    observers.push(createPayloadLog({ path, onFault, secrets: secretsOf(config), now }));
  }
  if (cacheTrace.enabled) {
    const path = cacheTrace.path ?? join(dataDir, 'cache-trace.jsonl');
    const onFault = (error: unknown) => logger.warn({ err: error, path }, 'Cache trace cannot be written');
    observers.push(createCacheTrace({ path, onFault, now }));
  }
  return observers;
}
