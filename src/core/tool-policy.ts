// Which tools an agent has. A policy is names and patterns; deny wins over allow, and the model has no way around it (G30): a tool
// that is not allowed is not in the toolset, so it is neither shown nor found.
import { matchesPattern } from './text-filter.ts';

/** Names of tools, or patterns in which `*` matches any text; letter case does not matter. */
export interface ToolPolicy {
  /** Absent: every tool. Empty: none. */
  allow?: string[];
  deny?: string[];
  /** True: only tools that read. Set only inside Holdfast. */
  readOnly?: true;
}

/** The facts of a tool that policies decide by. */
interface JudgedTool {
  name: string;
  isReadOnly: boolean;
}

/** True when the tool passes `allow` and does not match `deny`. */
export function isToolAllowed({ name, isReadOnly }: JudgedTool, policy: ToolPolicy): boolean {
  const { allow, deny = [], readOnly = false } = policy;
  if (readOnly && !isReadOnly) return false;
  if (deny.some((pattern) => matches(name, pattern))) return false;
  return allow === undefined || allow.some((pattern) => matches(name, pattern));
}

/**
 * One policy that lets through only what both do. Where two patterns overlap and neither contains the other, what they have in common is
 * not allowed: no pattern names it.
 */
export function narrowPolicy(outer: ToolPolicy, inner: ToolPolicy): ToolPolicy {
  const deny = [...new Set([...(outer.deny ?? []), ...(inner.deny ?? [])])];
  const allow = commonNames(outer.allow, inner.allow);
  return { ...(allow === undefined ? {} : { allow }), ...(deny.length === 0 ? {} : { deny }) };
}

function commonNames(outer: string[] | undefined, inner: string[] | undefined): string[] | undefined {
  if (outer === undefined || inner === undefined) return outer ?? inner;
  // A pattern whose text matches another one names a part of it.
  const within = (some: readonly string[], others: readonly string[]) =>
    some.filter((name) => others.some((pattern) => matches(name, pattern)));
  return [...new Set([...within(inner, outer), ...within(outer, inner)])];
}

function matches(name: string, pattern: string): boolean {
  return matchesPattern(name.trim().toLowerCase(), pattern.trim().toLowerCase());
}

/** Only turns of owners have these. */
export const OWNER_TOOLS: readonly string[] = ['gateway'];

export const BUILT_IN_TOOLS: readonly string[] = [
  'read',
  'write',
  'edit',
  'grep',
  'glob',
  'exec',
  'process',
  'web_search',
  'web_fetch',
  'canvas',
  'nodes',
  'gateway',
  'image',
  'image_generate',
  'tts',
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

/** The built-in tools that send what the model writes to the internet, and bring back what others write. */
export const WEB_TOOLS: ReadonlySet<string> = new Set(['web_search', 'web_fetch', 'image']);
