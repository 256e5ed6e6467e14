// The words that settings choose from, with their types.

/** A class of turns with its own concurrency. */
export type Lane = 'main' | 'subagent' | 'cron' | 'batch';
export const LANES: readonly Lane[] = ['main', 'subagent', 'cron', 'batch'];

export { QUEUE_DROPS, QUEUE_MODES, type QueueDrop, type QueueMode } from '../core/queue-mode.ts';
export { THINKING_LEVELS, type ThinkingLevel } from '../core/prompt/thinking-directive.ts';

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
export type LogFormat = 'pretty' | 'json';
