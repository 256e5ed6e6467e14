// The tools of a request in either of OpenAI's forms, and which of them the model may or must call.
// Functions, tools whose input is a text (`custom`) and both in namespaces are tools that the
// client runs. All others are services of OpenAI: those that the agent has, too, are its own tools.
import { z } from 'zod';
import { parseWith } from '../../api/parse-json.ts';
import type { AgentSettings, Config } from '../../config.ts';
import { freeToolName, type CallerRequest, type CallerTool } from '../../core/input-options.ts';
import { isObject, isKeptInteger } from '../../core/json.ts';
import type { Sampling, ToolSpec } from '../../core/model-request.ts';
import { listSearchProviders } from '../../config/providers.ts';
import { cutHead } from '../../core/text.ts';
import { isToolAllowed } from '../../core/tool-policy.ts';
import { fieldProblem } from '../../api/problem.ts';

const TOOLS_MAX = 128;
const TOOL_NAME = /^[\w-]{1,64}$/;

const name = z.string().regex(TOOL_NAME, 'expected 1 to 64 letters, digits, _ and -');
const functionTool = z.looseObject({
  name,
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
});
const grammar = z.looseObject({ syntax: z.string(), definition: z.string() });
const customTool = z.looseObject({
  name,
  description: z.string().nullish(),
  format: z
    .union([
      z.looseObject({ type: z.literal('text') }),
      z.looseObject({ type: z.literal('grammar'), ...grammar.shape }),
      z.looseObject({ type: z.literal('grammar'), grammar }),
    ])
    .nullish(),
});
const anyTool = z.looseObject({ type: z.string() });
const namespace = z.looseObject({
  name,
  description: z.string().nullish(),
  tools: z.array(anyTool).max(TOOLS_MAX),
});

export const clientTools = z.array(anyTool).max(TOOLS_MAX).nullish();

const named = z.looseObject({ type: z.string() });
export const clientToolChoice = z.union([z.enum(['auto', 'none', 'required']), named]).nullish();
const allowedTools = z.looseObject({ mode: z.enum(['auto', 'required']), tools: z.array(named).max(TOOLS_MAX) });

/** The form that the request has: in chats, what a tool is stands under the name of its type. */
export type ToolForm = 'chat' | 'responses';

/** A tool that is not the client's to run, and its place in the request. */
interface HostedTool {
  type: string;
  path: string;
}

export interface ClientTools {
  tools: CallerTool[];
  hosted: HostedTool[];
  choice: ToolChoice;
}

interface ToolChoice {
  mode: 'auto' | 'none' | 'required';
  path: string;
  /** Absent: all tools. */
  only?: { tools: CallerTool[]; hosted: HostedTool[] };
  /** True: the model does not see the others. */
  isFilter?: true;
}

/** Reads them. Throws `Problem` with the place of a fault. */
export function readTools(
  form: ToolForm,
  tools: z.output<typeof clientTools>,
  choice: z.output<typeof clientToolChoice>,
): ClientTools {
  const read = (tools ?? []).map((tool, at) => readTool(form, tool, `tools[${at}]`));
  const own = nameTools(read.flatMap((one) => one.tools));
  const hosted = read.flatMap((one) => one.hosted);
  return { tools: own, hosted, choice: readChoice(form, choice, { tools: own, hosted }) };
}

type PlacedTool = CallerTool & { path: string };
type ReadTool = { tools: PlacedTool[]; hosted: HostedTool[] };

function readTool(form: ToolForm, tool: z.output<typeof anyTool>, path: string): ReadTool {
  const { type } = tool;
  if (type === 'namespace') return readNamespace(form, tool, path);
  if (type !== 'function' && type !== 'custom') return { tools: [], hosted: [{ type, path }] };
  const place = form === 'chat' ? `${path}.${type}` : path;
  const inner = form === 'chat' ? tool[type] : tool;
  const spec = type === 'function' ? readFunction(inner, place) : readCustom(inner, place);
  return { tools: [{ ...spec, path: place }], hosted: [] };
}

function readNamespace(form: ToolForm, tool: unknown, path: string): ReadTool {
  const { name: outer, description, tools } = parseWith(namespace, tool, 'invalid_body', path);
  const read = tools.map((one, at) => readTool(form, one, `${path}.tools[${at}]`));
  return {
    tools: read
      .flatMap((one) => one.tools)
      .map((one) => ({
        ...one,
        description: [description, one.description].filter((text) => text).join('\n\n'),
        known: { ...one.known, name: one.name, namespace: outer },
      })),
    hosted: read.flatMap((one) => one.hosted),
  };
}

function readFunction(tool: unknown, path: string): ToolSpec {
  const { name: own, description, parameters } = parseWith(functionTool, tool, 'invalid_body', path);
  const schema = parameters ?? { type: 'object', properties: {} };
  if (schema['type'] !== 'object')
    throw fieldProblem(`${path}.parameters.type`, 'expected "object", as JSON Schema of a tool has it');
  const { properties } = schema;
  if (properties !== undefined && (!isObject(properties) || isKeptInteger(properties)))
    throw fieldProblem(`${path}.parameters.properties`, 'expected an object');
  return { name: own, description: description ?? '', input_schema: schema as ToolSpec['input_schema'] };
}

/** The one argument of a tool whose input is a text. */
const INPUT = 'input';

function readCustom(tool: unknown, path: string): CallerTool {
  const { name: own, description, format } = parseWith(customTool, tool, 'invalid_body', path);
  const rules = format?.type === 'grammar' ? grammar.parse(format['grammar'] ?? format) : null;
  const form = rules === null ? [] : [`The input is a text of this ${rules.syntax} grammar:\n${rules.definition}`];
  return {
    name: own,
    description: [...(description ? [description] : []), ...form].join('\n\n'),
    input_schema: { type: 'object', properties: { [INPUT]: { type: 'string' } }, required: [INPUT] },
    known: { name: own, isCustom: true },
  };
}

/** The arguments of a call of such a tool. */
export function customInput(text: string): object {
  return { [INPUT]: text };
}

/** The text in them. */
export function customText(input: unknown): string {
  const text = isObject(input) ? (input as Record<string, unknown>)[INPUT] : undefined;
  return typeof text === 'string' ? text : JSON.stringify(input ?? '');
}

/**
 * Gives each tool of a namespace a name that no other tool has. Throws when the client calls two
 * tools the same.
 */
function nameTools(tools: readonly PlacedTool[]): CallerTool[] {
  const outside = tools.filter(({ known }) => known?.namespace === undefined);
  const taken = new Set(outside.map((tool) => tool.name.toLowerCase()));
  const seen = new Set<string>();
  return tools.map(({ path, ...tool }) => {
    const { known } = tool;
    const identity = JSON.stringify([known?.namespace, tool.name]);
    if (seen.has(identity)) throw fieldProblem(path, `two tools are named ${JSON.stringify(tool.name)}`);
    seen.add(identity);
    if (known?.namespace === undefined) return tool;
    const free = freeToolName(joinNames(known.namespace, known.name), taken);
    taken.add(free.toLowerCase());
    return { ...tool, name: free };
  });
}

function joinNames(outer: string, inner: string): string {
  return `${outer}__${inner}`;
}

/** A tool as calls and choices name it. */
export interface ToolName {
  name: string;
  namespace?: string | null | undefined;
}

/**
 * The name of the tool that a call of the history has called; the tools of the request need not
 * have it.
 */
export function nameOfCalled(tools: readonly CallerTool[], called: ToolName): string {
  const { name: own, namespace: outer } = called;
  return findTool(tools, called)?.name ?? (outer ? freeToolName(joinNames(outer, own), new Set()) : own);
}

function findTool(tools: readonly CallerTool[], { name: own, namespace: outer }: ToolName): CallerTool | undefined {
  return tools.find(
    (tool) => (tool.known?.name ?? tool.name) === own && (tool.known?.namespace ?? '') === (outer ?? ''),
  );
}

function readChoice(
  form: ToolForm,
  choice: z.output<typeof clientToolChoice>,
  all: Pick<ClientTools, 'tools' | 'hosted'>,
): ToolChoice {
  const path = 'tool_choice';
  if (typeof choice !== 'object' || choice === null) return { mode: choice ?? 'auto', path };
  if (choice.type !== 'allowed_tools') return { mode: 'required', path, only: pick(form, choice, path, all) };
  const place = form === 'chat' ? `${path}.allowed_tools` : path;
  const inner = form === 'chat' ? choice['allowed_tools'] : choice;
  const { mode, tools } = parseWith(allowedTools, inner, 'invalid_body', place);
  const picked = tools.map((tool, at) => pick(form, tool, `${place}.tools[${at}]`, all));
  const only = { tools: picked.flatMap((one) => one.tools), hosted: picked.flatMap((one) => one.hosted) };
  return { mode, path: place, only, isFilter: true };
}

const toolName = z.looseObject({ name: z.string(), namespace: z.string().nullish() });

/** The tools of the request that a choice names. Throws when it has none of them. */
function pick(
  form: ToolForm,
  choice: z.output<typeof named>,
  path: string,
  { tools, hosted }: Pick<ClientTools, 'tools' | 'hosted'>,
): Pick<ClientTools, 'tools' | 'hosted'> {
  const { type } = choice;
  if (type !== 'function' && type !== 'custom' && type !== 'namespace') {
    const found = hosted.filter(
      (tool) => tool.type === type || (OURS.has(type) && OURS.get(type) === OURS.get(tool.type)),
    );
    if (found.length === 0)
      throw fieldProblem(`${path}.type`, `there is no tool of the type ${JSON.stringify(cutHead(type, 100))} in tools`);
    return { tools: [], hosted: found };
  }
  const place = form === 'chat' ? `${path}.${type}` : path;
  const wanted = parseWith(toolName, form === 'chat' ? choice[type] : choice, 'invalid_body', place);
  const isWanted = (tool: CallerTool): boolean =>
    type === 'namespace' ? tool.known?.namespace === wanted.name : tool === findTool(tools, wanted);
  const found = tools.filter(isWanted);
  // A choice need not say in which namespace its tool is.
  const inner = found.length > 0 || wanted.namespace ? found : tools.filter(({ known }) => known?.name === wanted.name);
  if (inner.length === 0)
    throw fieldProblem(`${place}.name`, `there is no tool ${JSON.stringify(cutHead(wanted.name, 100))} in tools`);
  return { tools: inner, hosted: [] };
}

/** The tools of agents that do what services of OpenAI do, by the types of these. */
const OURS: ReadonlyMap<string, string> = new Map([
  ['web_search', 'web_search'],
  ['web_search_2025_08_26', 'web_search'],
  ['web_search_preview', 'web_search'],
  ['web_search_preview_2025_03_11', 'web_search'],
  ['image_generation', 'image_generate'],
]);

/**
 * What a request asks of tools, for this agent. `ignored`: the places of those that are left out.
 * Throws when the choice needs one of these.
 */
export function chooseTools(
  config: Config,
  agent: AgentSettings,
  { tools, hosted, choice }: ClientTools,
): Pick<CallerRequest, 'tools' | 'isOwnToolForced'> & {
  toolChoice: Sampling['tool_choice'] | undefined;
  ignored: string[];
} {
  const ownOf = ({ type }: HostedTool): string[] => {
    const own = OURS.get(type);
    return own !== undefined && hasTool(config, agent, own) ? [own] : [];
  };
  const ignored = hosted.filter((tool) => ownOf(tool).length === 0).map(({ path }) => path);
  const { only = { tools, hosted }, mode, path } = choice;
  const shown = choice.isFilter ? tools.filter((tool) => only.tools.includes(tool)) : tools;
  const given = { tools: shown, ignored };
  if (mode !== 'required') return { ...given, toolChoice: mode === 'none' ? { type: 'none' } : undefined };
  const own = [...new Set(only.hosted.flatMap(ownOf))];
  const names = [...only.tools.map((tool) => tool.name), ...own];
  if (names.length === 0 && only.hosted.length > 0)
    throw fieldProblem(
      path,
      `needs a tool that this agent does not have: ${only.hosted.map((tool) => tool.path).join(', ')}`,
    );
  const [first] = names;
  if (choice.only === undefined || first === undefined || names.length > 1)
    return { ...given, toolChoice: { type: 'any' } };
  return { ...given, toolChoice: { type: 'tool', name: first }, ...(own.length > 0 ? { isOwnToolForced: true } : {}) };
}

/** True when the agent has this tool: it is configured, and its policies let it through. */
function hasTool({ tools }: Config, { toolPolicies }: AgentSettings, own: string): boolean {
  const isThere = own === 'web_search' ? listSearchProviders(tools).length > 0 : tools.imageGenerate !== undefined;
  return isThere && toolPolicies.every((policy) => isToolAllowed({ name: own, isReadOnly: false }, policy));
}
