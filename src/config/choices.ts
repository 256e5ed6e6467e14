// The words that settings choose from, with their types.

/** A class of turns with its own concurrency. */
export type Lane = 'main' | 'subagent' | 'cron' | 'batch';
export const LANES: readonly Lane[] = ['main', 'subagent', 'cron', 'batch'];

/** What happens to a message that finds its session busy. */
export type QueueMode = 'steer' | 'followup' | 'collect' | 'interrupt' | 'steer-backlog' | 'reject' | 'rollback';
export const QUEUE_MODES: readonly QueueMode[] = [
  'steer',
  'followup',
  'collect',
  'interrupt',
  'steer-backlog',
  'reject',
  'rollback',
];

/** What gives way when a session's inbox is over its cap. */
export type QueueDrop = 'summarize' | 'old' | 'new';
export const QUEUE_DROPS: readonly QueueDrop[] = ['summarize', 'old', 'new'];

export type ThinkingLevel = 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'adaptive';
export const THINKING_LEVELS: readonly ThinkingLevel[] = [
  'off',
  'minimal',
  'low',
  'medium',
  'high',
  'xhigh',
  'adaptive',
];

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
export type LogFormat = 'pretty' | 'json';
