// Which tools of MCP servers agents have, under which names, and what is believed of them. Pure.
import { type ApprovalAsk, nameMcpTool, isToolAllowed } from '../../core/tool-policy.ts';

/** What the configuration says of the tools of a server. */
interface ServerRules {
  trust: 'none' | 'hints';
  tools: { allow?: string[]; deny: string[]; [tool: string]: string[] | ToolRule | undefined };
}

interface ToolRule {
  readOnly?: boolean;
  idempotent?: boolean;
  approval?: ApprovalAsk;
}

/** What a server says of a tool, as it is stored. */
export interface ToolDefinition {
  description: string;
  inputSchema: { type: 'object'; [key: string]: unknown };
  annotations: { readOnlyHint?: boolean; idempotentHint?: boolean; destructiveHint?: boolean; openWorldHint?: boolean };
  /** True: it runs only as a task. */
  needsTask: boolean;
  /** The form of the structured content of its results; absent: it has none that can be used. */
  outputSchema?: object;
  /** What is wrong with the definition, so that no agent has the tool; absent: nothing. */
  fault?: string;
}

export interface ListedTool {
  name: string;
  definition: ToolDefinition;
}

/** A tool of a server as agents may have it. */
export interface OfferedTool extends ListedTool {
  server: string;
  /** Its name among the tools of an agent. */
  offeredAs: string;
  isReadOnly: boolean;
  isIdempotent: boolean;
  /** Whether a person is asked before a call; null: `tools.approvals.rules` say it. */
  approval: ApprovalAsk | null;
  /** Why no agent has it; null: agents have it. */
  leftOut: string | null;
}

/** The longest name that providers accept. */
const NAME_CHARS_MAX = 64;
const SCHEMA_CHARS_MAX = 65_536;

/** The tools of a server: each offered, or left out with the reason. */
export function judgeTools(server: string, settings: ServerRules, tools: readonly ListedTool[]): OfferedTool[] {
  const folded = tools.map(({ name }) => nameMcpTool(server, name).toLowerCase());
  return tools.map((tool, place) => {
    const offeredAs = nameMcpTool(server, tool.name);
    // None is chosen: which one a call reaches would depend on the others.
    const other = tools.find((_each, at) => at !== place && folded[at] === folded[place]);
    const leftOut =
      reasonToLeaveOut(settings, tool, offeredAs) ??
      (other === undefined ? null : `its name would be that of ${other.name}`);
    return { ...tool, server, offeredAs, leftOut, ...believe(settings, tool) };
  });
}

function reasonToLeaveOut({ tools }: ServerRules, { name, definition }: ListedTool, offeredAs: string): string | null {
  // Policies compare names without regard to blanks and the case of letters; these are the server's
  // own names.
  if (!isToolAllowed({ name, isReadOnly: true }, tools)) return 'the configuration of its server does not allow it';
  if (definition.fault !== undefined) return definition.fault;
  if (offeredAs.length > NAME_CHARS_MAX)
    return `its name would have ${offeredAs.length} characters, more than ${NAME_CHARS_MAX}`;
  if (JSON.stringify(definition.inputSchema).length > SCHEMA_CHARS_MAX)
    return `its input schema has more than ${SCHEMA_CHARS_MAX} characters`;
  return null;
}

/** What the operator says of a tool counts first, then what the server says, if it is trusted. */
function believe({ tools, trust }: ServerRules, { name, definition: { annotations } }: ListedTool) {
  const said = settingsOfTool(tools, name);
  const hints = trust === 'hints' ? annotations : {};
  const isReadOnly = said.readOnly ?? hints.readOnlyHint === true;
  const isIdempotent = isReadOnly || (said.idempotent ?? hints.idempotentHint === true);
  return { isReadOnly, isIdempotent, approval: said.approval ?? null };
}

function settingsOfTool(tools: ServerRules['tools'], name: string): ToolRule {
  const said = Object.hasOwn(tools, name) ? tools[name] : undefined;
  return said === undefined || Array.isArray(said) ? {} : said;
}

/**
 * The lines of a text that have changed, `- ` before those that are gone and `+ ` before new ones.
 */
export function diffLines(before: string, after: string): string[] {
  const [old, fresh] = [before.split('\n'), after.split('\n')];
  return [
    ...old.filter((line) => !fresh.includes(line)).map((line) => `- ${line}`),
    ...fresh.filter((line) => !old.includes(line)).map((line) => `+ ${line}`),
  ];
}

/** What has changed in a definition, in lines. */
export function describeChange(before: ToolDefinition, after: ToolDefinition): string[] {
  const json = (value: unknown) => JSON.stringify(value, null, 1);
  return [
    ...diffLines(before.description, after.description),
    ...diffLines(json(before.inputSchema), json(after.inputSchema)),
    ...diffLines(json(before.annotations), json(after.annotations)),
    ...diffLines(json(before.outputSchema ?? {}), json(after.outputSchema ?? {})),
    ...diffLines(before.fault ?? '', after.fault ?? ''),
  ];
}

/**
 * The tools that fit a query best, at most `most`: a word in the name counts more than one in the
 * description.
 */
export function rankTools<Found extends Pick<OfferedTool, 'offeredAs' | 'definition'>>(
  tools: readonly Found[],
  query: string,
  most: number,
): Found[] {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const score = ({ offeredAs, definition }: Found): number => {
    const [name, text] = [offeredAs.toLowerCase(), definition.description.toLowerCase()];
    return words.reduce((sum, word) => sum + (name.includes(word) ? 3 : 0) + (text.includes(word) ? 1 : 0), 0);
  };
  return tools
    .map((tool) => ({ tool, score: score(tool) }))
    .filter((each) => each.score > 0)
    .toSorted((a, b) => b.score - a.score || (a.tool.offeredAs < b.tool.offeredAs ? -1 : 1))
    .slice(0, most)
    .map(({ tool }) => tool);
}
