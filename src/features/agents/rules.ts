// What is known of an agent, put together: which of its tools policies let through, and which texts
// of files its prompts had.
import { isToolAllowed, type ApprovalAsk, type ToolPolicy } from '../../core/tool-policy.ts';
import { matchesPattern } from '../../core/text.ts';

export const TOOL_ORIGINS = ['holdfast', 'mcp', 'external', 'plugin'] as const;

/** A policy with the setting that it is. */
export interface NamedPolicy extends ToolPolicy {
  setting: string;
}

/** The setting that leaves a tool out; null: the policies let it through. */
export function whyLeftOut(name: string, policies: readonly NamedPolicy[]): string | null {
  const tool = { name, isReadOnly: false };
  const refusing = policies.find((policy) => !isToolAllowed(tool, policy));
  if (refusing === undefined) return null;
  const isDenied = !isToolAllowed(tool, { deny: refusing.deny ?? [] });
  return `${refusing.setting}.${isDenied ? 'deny' : 'allow'}`;
}

interface AskingRule {
  tools: readonly string[];
  agents: readonly string[];
  ask: ApprovalAsk;
}

/** What the first rule that names a tool of an agent says; null: none does. */
export function approvalOf(name: string, agentId: string, rules: readonly AskingRule[]): ApprovalAsk | null {
  const found = rules.find(
    ({ tools, agents }) =>
      (agents.length === 0 || agents.includes(agentId)) &&
      tools.some((pattern) => matchesPattern(name.toLowerCase(), pattern.trim().toLowerCase())),
  );
  return found?.ask ?? null;
}

/** A system prompt as it is stored: its blocks, and where its sections stand in them. */
export interface StoredPrompt {
  blocks: readonly { text: string }[];
  sections: readonly { name: string; isStable: boolean; start: number; end: number }[];
}

const FILE_SECTIONS: ReadonlySet<string> = new Set(['project-context', 'dynamic-project-context']);

/** The texts that a prompt has of these files: each follows a line with its path. */
export function textsOfFiles({ blocks, sections }: StoredPrompt, names: readonly string[]): Map<string, string> {
  const hasStable = sections.some(({ isStable }) => isStable);
  const texts = new Map<string, string[]>();
  for (const { name, isStable, start, end } of sections) {
    if (!FILE_SECTIONS.has(name)) continue;
    let lines: string[] = [];
    for (const line of (blocks[hasStable && !isStable ? 1 : 0]?.text ?? '').slice(start, end).split('\n')) {
      const file = line.startsWith('## ') ? names.find((one) => line.endsWith(`/${one}`)) : undefined;
      if (file === undefined) lines.push(line);
      else texts.set(file, (lines = []));
    }
  }
  return new Map([...texts].map(([name, lines]) => [name, lines.join('\n')]));
}

/** The files in a prompt, and the turns that had it. */
export interface PromptFiles {
  /** Hash and text by the name of the file. */
  files: ReadonlyMap<string, { sha256: string; text: string }>;
  since: string;
  until: string;
  turnId: string | null;
}

/** The versions of a file, newest first; `prompts`: newest first. */
export function versionsOf(name: string, prompts: readonly PromptFiles[]) {
  const versions = new Map<
    string,
    { sha256: string; chars: number; since: string; until: string; turnId: string | null }
  >();
  for (const { files, since, until, turnId } of prompts) {
    const file = files.get(name);
    if (file === undefined) continue;
    const known = versions.get(file.sha256) ?? { sha256: file.sha256, chars: file.text.length, since, until, turnId };
    versions.set(file.sha256, { ...known, since: since < known.since ? since : known.since });
  }
  return [...versions.values()];
}
