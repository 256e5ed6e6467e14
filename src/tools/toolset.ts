// The tools of one agent: what policy lets through, in the stable order in which the system prompt
// lists them and the model is sent them. The order and the bytes of the specs depend on the tools
// alone, or the provider's prompt cache is lost.
import { tidySchema } from '../core/json-schema.ts';
import { cutHead } from '../core/text.ts';
import type { ToolSpec } from '../core/model-request.ts';
import { isToolAllowed, type ToolPolicy } from '../core/tool-policy.ts';
import { errorOutcome, type Tool, type ToolOutcome } from './tool.ts';

/** Well-known tools first, in this order; all others follow in the order of their names. */
const TOOL_ORDER = (
  'read write edit apply_patch grep find glob ls exec process web_search web_fetch browser canvas nodes cron message gateway ' +
  'agents_list sessions_list sessions_history sessions_send subagents session_status image image_generate tts'
).split(' ');

/** Tools that may be others at the next turn. */
export interface ChangingTools {
  /** Equal versions are equal tools. */
  readonly version: string;
  /**
   * Those that an agent gets whose policies let through what `isAllowed` says; `isTaken`: another
   * tool has the name.
   */
  readonly choose: (rules: {
    isAllowed: (tool: Tool) => boolean;
    isTaken: (name: string) => boolean;
  }) => readonly Tool[];
}

export interface Toolset {
  /** Allowed tools, in order. */
  tools: readonly Tool[];
  /** The specs that the model receives, in the same order. */
  specs: ToolSpec[];
  /** The tools for a session on this channel. Equal channels get the same list. */
  specsOn(channel: string | undefined): ToolSpec[];
  /**
   * The tool of that exact name, blanks around it aside; undefined for one that does not exist or
   * is not allowed.
   */
  findTool(name: string): Tool | undefined;
}

/**
 * Two tools have the same name; one of them would be unreachable, so nothing starts until one is
 * renamed or removed.
 */
export class DuplicateToolError extends Error {
  readonly code = 'duplicate_tool';

  constructor(name: string) {
    super(`two tools are named ${JSON.stringify(name)} (letter case aside)`);
    this.name = 'DuplicateToolError';
  }
}

/**
 * The toolset of an agent. `policy` is one policy or several that must all let a tool through (that
 * of all agents and that of one). Throws `DuplicateToolError` when two of `tools`, allowed or not,
 * have the same name.
 */
export function createToolset({
  tools,
  policy = [],
  changing = [],
}: {
  tools: readonly Tool[];
  policy?: ToolPolicy | readonly ToolPolicy[];
  changing?: readonly ChangingTools[];
}): Toolset {
  refuseDuplicates(tools);
  const policies: readonly ToolPolicy[] = 'length' in policy ? policy : [policy];
  const isAllowed = ({ spec: { name }, isReadOnly = false }: Tool): boolean =>
    policies.every((each) => isToolAllowed({ name, isReadOnly }, each));
  const taken = new Set(tools.map(({ spec }) => spec.name.toLowerCase()));
  const isTaken = (name: string): boolean => taken.has(name.toLowerCase());
  const chosen = changing.flatMap((each) => each.choose({ isAllowed, isTaken }));
  const allowed = [...tools.filter(isAllowed), ...chosen].toSorted((a, b) => compareNames(a.spec.name, b.spec.name));
  const byName = new Map(allowed.map((tool) => [tool.spec.name, tool]));
  const specs = allowed.map(({ spec }) => sentSpec(spec));
  const byShape = new Map<string, ToolSpec[]>();
  return {
    tools: allowed,
    specs,
    specsOn(channel) {
      if (channel === undefined) return specs;
      const own = allowed.map((tool) => tool.specOn?.(channel) ?? tool.spec);
      if (own.every((spec, at) => spec === allowed[at]?.spec)) return specs;
      // Channels are named by messages, the shapes of a tool by its code: so few lists are kept.
      const shape = JSON.stringify(own.filter((spec, at) => spec !== allowed[at]?.spec));
      const known = byShape.get(shape);
      if (known !== undefined) return known;
      const made = own.map(sentSpec);
      byShape.set(shape, made);
      return made;
    },
    findTool: (name) => byName.get(name.trim()),
  };
}

/**
 * Only the port's fields, in a fixed order of keys: the model's API would refuse a plugin's own
 * fields, and odd schemas.
 */
export function sentSpec({ name, description, input_schema }: ToolSpec): ToolSpec {
  const schema = tidySchema(input_schema);
  // OpenAI refuses an object without properties.
  return { name, description, input_schema: schema.properties === undefined ? { ...schema, properties: {} } : schema };
}

/**
 * The result of a call of a tool that does not exist: it names those that do, so that the model can
 * continue.
 */
export function unknownToolOutcome(name: string, toolset: Toolset): ToolOutcome {
  const names = toolset.specs.map((spec) => spec.name).join(', ') || 'none';
  return errorOutcome(`Unknown tool ${JSON.stringify(cutHead(name, 100))}. Available tools: ${names}.`);
}

function refuseDuplicates(tools: readonly Tool[]): void {
  const seen = new Set<string>();
  for (const { spec } of tools) {
    const name = spec.name.toLowerCase();
    if (seen.has(name)) throw new DuplicateToolError(spec.name);
    seen.add(name);
  }
}

/** By place in TOOL_ORDER, then by UTF-16 code units: no locale has a say. */
function compareNames(a: string, b: string): number {
  return rankTool(a) - rankTool(b) || (a < b ? -1 : 1);
}

function rankTool(name: string): number {
  const place = TOOL_ORDER.indexOf(name.toLowerCase());
  return place === -1 ? TOOL_ORDER.length : place;
}
