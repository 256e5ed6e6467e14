// Which tools an agent has. A policy is names and patterns; deny wins over allow, and the model has no way around it (G30): a tool
// that is not allowed is not in the toolset, so it is neither shown nor found.

import { matchesPattern } from '../core/matches-pattern.ts';

/** Names of tools, or patterns in which `*` matches any text; letter case does not matter. */
export interface ToolPolicy {
  /** Absent: every tool. Empty: none. */
  allow?: readonly string[] | undefined;
  deny?: readonly string[] | undefined;
}

/** True when `name` passes `allow` and does not match `deny`. */
export function isToolAllowed(name: string, policy: ToolPolicy): boolean {
  const { allow, deny = [] } = policy;
  if (deny.some((pattern) => matches(name, pattern))) return false;
  return allow === undefined || allow.some((pattern) => matches(name, pattern));
}

function matches(name: string, pattern: string): boolean {
  return matchesPattern(name.toLowerCase(), pattern.trim().toLowerCase());
}
