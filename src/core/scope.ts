// What an API key sees. A session belongs to its root: the session that it comes from (as a
// subagent, a fork or a try), or the key that made it. A scope is a list of texts with which the
// roots begin that the key sees.
import { cutHead } from './text.ts';

/** Null: everything. */
export type Scope = readonly string[] | null;

/** What the service itself reads, and every key without a scope. */
export const EVERYTHING = null satisfies Scope;

/** What an administrator asks for; absent fields do not limit. Not empty. */
export interface ScopeSettings {
  /** Agents whose sessions the key sees. */
  agents?: readonly string[] | null | undefined;
  /** Beginnings of session keys, each with a `*` at its end. */
  sessions?: readonly string[] | null | undefined;
}

const PREFIX = /^agent:[a-z0-9_.@+-]+:[a-z0-9:_.@+-]{0,200}\*$/;

/** Why this is no prefix of session keys; null: it is one. */
export function faultOfPrefix(text: string): string | null {
  if (PREFIX.test(text)) return null;
  return `${JSON.stringify(cutHead(text, 80))} is not the beginning of session keys. Write the agent, what the keys begin with, and one * at the end, in lower case, such as "agent:main:shop:*"`;
}

/** The roots that meet all of the settings; empty: there can be none. Null: all do. */
export function rootsOf({ agents, sessions }: ScopeSettings): string[] | null {
  const ofAgents = agents?.map((id) => `agent:${id}:`);
  const ofSessions = sessions?.map((text) => text.slice(0, -1));
  if (ofAgents === undefined || ofSessions === undefined) return ofAgents ?? ofSessions ?? null;
  return ofSessions.filter((prefix) => ofAgents.some((agent) => prefix.startsWith(agent)));
}

/** The root of what a key makes that comes from no session. `owner` is that of its `Principal`. */
export function rootOfKey(owner: string): string {
  // No name of a key has this character, so no root begins with that of another key.
  return `${owner}/`;
}

/** A scope for people: what the keys of its sessions begin with, each with a `*` at its end. */
export function describeScope(scope: Scope): string[] | null {
  return scope && scope.filter((root) => root.startsWith('agent:')).map((root) => `${root}*`);
}

/** What is stored as the owner of what a key makes; null: the key sees everything. */
export function ownerOf({ owner, scope }: { owner: string; scope: Scope }): string | null {
  return scope === EVERYTHING ? null : rootOfKey(owner);
}

/** `root` null: nothing, which only a key without a scope sees. */
export function isInside(scope: Scope, root: string | null): boolean {
  return scope === null || (root !== null && scope.some((prefix) => root.startsWith(prefix)));
}

/** True when every session of the agent that comes from no other is inside. */
export function holdsAgent(scope: Scope, agentId: string): boolean {
  return isInside(scope, `agent:${agentId}:`);
}

/** True when the scope has something of the agent, so that a caller may use it. */
export function reachesAgent(scope: Scope, agentId: string): boolean {
  return scope === null || scope.some((prefix) => prefix.startsWith(`agent:${agentId}:`));
}

/** The agents of which the scope has everything; null: all agents. */
export function wholeAgents(scope: Scope): string[] | null {
  return scope && scope.flatMap((prefix) => /^agent:([^:]+):$/.exec(prefix)?.[1] ?? []);
}
