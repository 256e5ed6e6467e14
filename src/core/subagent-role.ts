// What a session may do by its place in a family: deeper sessions may do less. A subagent works on a task; it sends messages neither
// to users nor to other sessions, and at the bottom of its family it has no subagents.

/** `main`: it was not spawned. `orchestrator`: a subagent that may spawn. `leaf`: one that may not. */
export type SubagentRole = 'main' | 'orchestrator' | 'leaf';

const DENIED_BELOW = ['gateway', 'agents_list', 'whatsapp_login', 'cron', 'sessions_send', 'message'] as const;

/** Tools that a role does not have, regardless of the tool policy. */
export const DENIED_TOOLS: Readonly<Record<SubagentRole, readonly string[]>> = {
  main: [],
  orchestrator: DENIED_BELOW,
  leaf: [...DENIED_BELOW, 'subagents', 'sessions_list', 'sessions_history', 'sessions_spawn'],
};

/** The role of a session at this depth, when subagents may be spawned down to `depthMax`. */
export function roleAt(depth: number, depthMax: number): SubagentRole {
  if (depth === 0) return 'main';
  return depth < depthMax ? 'orchestrator' : 'leaf';
}
