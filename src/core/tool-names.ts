// The names of the built-in tools, in the order in which the prompt lists the well-known ones. A policy may name each of them, also those
// that the configuration has switched off.

export const BUILT_IN_TOOLS: readonly string[] = [
  'read',
  'write',
  'edit',
  'grep',
  'glob',
  'exec',
  'process',
  'web_fetch',
  'cron',
  'message',
  'agents_list',
  'sessions_list',
  'sessions_history',
  'sessions_send',
  'sessions_spawn',
  'sessions_yield',
  'subagents',
  'session_status',
  'memory_search',
  'memory_get',
];
