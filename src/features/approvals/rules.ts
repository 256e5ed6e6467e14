// Which calls a rule holds back, why, and what a person is shown of them. Nothing here reads a
// command to find out whether it is safe: what cannot be known counts as yes.
import { type ApprovalAsk, type ApprovalCondition, BUILT_IN_TOOLS, WEB_TOOLS } from '../../core/tool-policy.ts';
import { listToolUses, type ToolUseBlock } from '../../core/content.ts';
import type { Entry } from '../../core/entry.ts';
import { isObject } from '../../core/json.ts';
import { matchesPattern } from '../../core/text.ts';
import { foldText } from '../../prompt/fold-text.ts';

export const APPROVAL_STATUSES = ['open', 'approved', 'denied', 'expired', 'cancelled'] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

export interface ApprovalRule {
  tools: readonly string[];
  agents: readonly string[];
  when: readonly ApprovalCondition[];
  ask: ApprovalAsk;
  /** Milliseconds. */
  timeout: number;
}

/** What is certain about the sandbox of commands, whatever happens before the call runs. */
export interface CertainSandbox {
  /** They run in one or not at all. */
  isInside: boolean;
  /** They write nowhere but in the workspace. */
  isConfined: boolean;
  /** They reach no network. */
  isOffline: boolean;
}

/** What is known of a call that may have to be approved. */
export interface JudgedCall {
  /** The name of the tool that would run, whatever the model has called it. */
  tool: string;
  agentId: string;
  sandbox: CertainSandbox;
  /** True when a path of its input is outside the workspace. */
  leavesWorkspace: boolean;
  /** True when the turn has read words of others. */
  isUntrusted: boolean;
}

/**
 * The first rule that matches a call, with the conditions that hold of it; null: none does, or it
 * says never to ask.
 */
export function findRule(
  rules: readonly ApprovalRule[],
  call: JudgedCall,
): { rule: ApprovalRule; reasons: string[] } | null {
  for (const rule of rules) {
    if (!rule.tools.some((pattern) => matchesPattern(call.tool.toLowerCase(), pattern.trim().toLowerCase()))) continue;
    if (rule.agents.length > 0 && !rule.agents.includes(call.agentId)) continue;
    const reasons = rule.when.filter((condition) => holds(condition, call));
    if (rule.when.length > 0 && reasons.length === 0) continue;
    return rule.ask === 'never' ? null : { rule, reasons: rule.when.length === 0 ? ['rule'] : reasons };
  }
  return null;
}

/** The built-in tools that run commands. */
const COMMANDS: ReadonlySet<string> = new Set(['exec', 'process']);

/** The tools that read and write files that their input names. */
const FILE_TOOLS: ReadonlySet<string> = new Set([
  'read',
  'write',
  'edit',
  'grep',
  'glob',
  'image',
  'image_generate',
  'tts',
]);

function holds(condition: ApprovalCondition, { tool, sandbox, leavesWorkspace, isUntrusted }: JudgedCall): boolean {
  const isCommand = COMMANDS.has(tool);
  // A tool of a plugin or of another server can do anything.
  const isUnknown = !BUILT_IN_TOOLS.includes(tool);
  switch (condition) {
    case 'outside-sandbox':
      return isUnknown || (isCommand && !sandbox.isInside);
    case 'outside-workspace':
      return isUnknown || (isCommand && !sandbox.isConfined) || (FILE_TOOLS.has(tool) && leavesWorkspace);
    case 'network':
      return isUnknown || (isCommand && !sandbox.isOffline) || WEB_TOOLS.has(tool);
    case 'untrusted':
      return isUntrusted;
    default:
      return condition satisfies never;
  }
}

/**
 * The built-in tools whose results have no words of others: with every input, or with these
 * actions. What is not listed may have some: a name or a text that is stored can come from a turn
 * that has read a stranger's message. Files and what commands print do not count.
 */
const RETURNS_NO_WORDS_OF_OTHERS: Readonly<Record<string, 'always' | readonly unknown[]>> = {
  read: 'always',
  write: 'always',
  edit: 'always',
  grep: 'always',
  glob: 'always',
  exec: 'always',
  process: ['poll', 'log', 'write', 'kill'],
  canvas: ['present', 'clear'],
  gateway: ['config.get', 'config.schema', 'config.apply'],
  image_generate: 'always',
  tts: 'always',
  cron: ['add', 'remove', 'run'],
  message: 'always',
  agents_list: 'always',
  sessions_send: 'always',
  sessions_spawn: 'always',
  sessions_yield: 'always',
  session_status: 'always',
};

function returnsWordsOfOthers({ name, input }: ToolUseBlock): boolean {
  const known = name.trim().toLowerCase();
  const without = Object.hasOwn(RETURNS_NO_WORDS_OF_OTHERS, known) ? RETURNS_NO_WORDS_OF_OTHERS[known] : [];
  return without !== 'always' && without?.includes(isObject(input) ? input['action'] : undefined) !== true;
}

/**
 * True for an entry of a transcript in which the model may read words of others. A summary does not
 * say what it was made from.
 */
export function isOfOthers({ kind, content, provenance }: Pick<Entry, 'kind' | 'content' | 'provenance'>): boolean {
  if (kind === 'summary') return true;
  if (provenance) return provenance.kind !== 'heartbeat' || provenance.isOfOthers === true;
  if (kind !== 'answer') return false;
  return listToolUses(content).some(returnsWordsOfOthers);
}

/** The input as text that is the same for equal inputs: fields in the order of their names. */
export function canonicalInput(input: unknown): string {
  return JSON.stringify(sorted(input));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([name, inner]) => [name, sorted(inner)]));
}

/** Characters that a screen does not show, or that change how others are shown. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}\u{2800}]|(?! )\p{Zs}/gu;
const FOREIGN = /[^\p{ASCII}]/gu;

/** The most different letters and digits that are listed of those that look like none of ASCII. */
const LISTED_MAX = 40;

/**
 * What a person reads of a call: the whole input decoded, unseen characters as their numbers, and a
 * list of the characters that are not ASCII.
 */
export function showCall(tool: string, input: unknown, folder: string): string {
  const text = JSON.stringify(sorted(input), null, 2) ?? 'null';
  const lines = text.split('\n').map((line) => line.replaceAll(UNSEEN, numberOf));
  const foreign = [...new Set(text.match(FOREIGN) ?? [])];
  // What may be taken for something else comes first and is listed whole, however many letters of
  // other scripts there are.
  const { odd = [], plain = [] } = Object.groupBy(foreign, (char) => (isPlainLetter(char) ? 'plain' : 'odd'));
  const listed = [...odd, ...plain.slice(0, LISTED_MAX)].map((char) =>
    `${numberOf(char)} ${char.replaceAll(UNSEEN, '')}`.trim(),
  );
  return [
    `${tool.replaceAll(UNSEEN, numberOf)} in ${folder.replaceAll(UNSEEN, numberOf)}`,
    ...lines,
    ...(foreign.length === 0 ? [] : [`Not ASCII: ${listed.join(', ')}${plain.length > LISTED_MAX ? ', ...' : ''}`]),
  ].join('\n');
}

/** True for a letter or a digit that looks like none of ASCII. */
function isPlainLetter(char: string): boolean {
  return /[\p{L}\p{N}]/u.test(char) && foldText(char).text.search(FOREIGN) !== -1;
}

function numberOf(char: string): string {
  return `<U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`;
}
