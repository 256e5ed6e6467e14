// Which tools an agent has, when a person is asked about a call, and the tools of other programs
// and of MCP servers. A policy is names and patterns; deny wins over allow, and the model has no
// way around it (G30): a tool that is not allowed is not in the toolset, so it is neither shown nor
// found.
import { matchesPattern } from './text.ts';
import { callerCallId, parseCallerCallId, type CallerCall } from './client-ids.ts';

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
 * One policy that lets through only what both do. Where two patterns overlap and neither contains
 * the other, what they have in common is not allowed: no pattern names it.
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

/**
 * The built-in tools that send what the model writes to the internet, and bring back what others
 * write.
 */
export const WEB_TOOLS: ReadonlySet<string> = new Set(['web_search', 'web_fetch', 'image']);

// When a person is asked about a tool call.

/** What may be true of a call. */
export const APPROVAL_CONDITIONS = ['outside-sandbox', 'outside-workspace', 'network', 'untrusted'] as const;
export type ApprovalCondition = (typeof APPROVAL_CONDITIONS)[number];

export const APPROVAL_ASKS = ['always', 'once', 'never'] as const;
export type ApprovalAsk = (typeof APPROVAL_ASKS)[number];

// Tools that other programs run: what a definition says, and the id of a call of one.

export interface ExternalTool {
  name: string;
  description: string;
  /** JSON Schema of type object. */
  inputSchema: Record<string, unknown>;
  /** How long a call waits for its result, in milliseconds. */
  timeout: number;
}

/** The most tools of one message. */
export const EXTERNAL_TOOLS_MAX = 64;

/** A name that the model of any provider takes. */
export const TOOL_NAME = /^[A-Za-z][\w-]{0,63}$/;
export const TOOL_NAME_TEXT = 'expected a letter and at most 63 more letters, digits, "_" and "-"';

/** The id of a call of an external tool: it names its row in the ledger. */
export const toolCallId = (place: CallerCall): string => callerCallId(place);

/** Null: no call has such an id. */
export const parseToolCallId = (id: string): CallerCall | null => parseCallerCallId(id);

// The names of the tools of MCP servers among those of an agent.

/** Divides the name of a server, which does not have it, from that of its tool. */
const BETWEEN = '__';

/** The name under which a tool is offered. Characters that not all providers take become `_`. */
export function nameMcpTool(server: string, tool: string): string {
  return `${server}${BETWEEN}${tool.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`;
}

/** The server of a tool that has such a name; null: it is of no server. */
export function serverOfMcpTool(name: string): string | null {
  const at = name.indexOf(BETWEEN);
  return at < 1 ? null : name.slice(0, at);
}
