// The words that settings choose from, with their types.
/** A class of turns with its own concurrency. */
export type Lane = 'main' | 'subagent' | 'cron' | 'batch';
export const LANES: readonly Lane[] = ['main', 'subagent', 'cron', 'batch'];

export { QUEUE_DROPS, QUEUE_MODES, type QueueMode } from '../core/queue-mode.ts';
export { THINKING_LEVELS, type ThinkingLevel } from '../core/models.ts';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
/** The samplers of OTEL_TRACES_SAMPLER. */
export const TRACE_SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type TraceSampler = (typeof TRACE_SAMPLERS)[number];

export type LogFormat = 'pretty' | 'json';

/** A key of the API: long enough that it cannot be guessed. */
export const API_KEY = /^[\x21-\x7e]{16,512}$/;
export const API_KEY_TEXT = '16 to 512 visible ASCII characters without spaces';

/** The APIs that Holdfast speaks. All but Anthropic's go through a provider package of the AI SDK; `package` is any that is installed. */
export const PROVIDER_APIS = [
  'anthropic',
  'openai',
  'openai-chat',
  'google',
  'xai',
  'openai-compatible',
  'package',
] as const;

export type ProviderApi = (typeof PROVIDER_APIS)[number];

export { APPROVAL_ASKS, APPROVAL_CONDITIONS } from '../core/tool-policy.ts';
