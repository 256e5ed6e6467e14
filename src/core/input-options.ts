// What an input says about its turn and about everything that this turn starts: subagents, messages
// to other sessions, follow-ups, crons. It is one field of the body of every input, whatever its
// kind, so code that writes an input passes it on as it is.
import { type ExternalTool, narrowPolicy, type ToolPolicy } from './tool-policy.ts';
import { given } from './json.ts';
import type { ResponseFormat } from './response-format.ts';
import type { ImageBlock } from './content.ts';
import type { Sampling, ToolSpec } from './model-request.ts';
import { cutHead } from './text.ts';

/** Facts by which people and programs find turns again, such as `{"customer": "42"}`. */
export type Tags = Readonly<Record<string, string>>;

/** The most tags of an input, with those that it takes over. */
export const TAGS_MAX = 16;

export interface InputOptions {
  /** Which of its agent's tools the turn has; absent: all of them. */
  tools?: ToolPolicy;
  tags?: Tags;
  /**
   * The form of the turn's answer; absent: any text. What the turn starts does not take it over.
   */
  responseFormat?: ResponseFormat;
  /**
   * Tools that another program runs, in addition to those of the agent. What the turn starts does
   * not take them over.
   */
  externalTools?: readonly ExternalTool[];
}

/**
 * The part of a body that has them; none where there are none, so that bodies without options are
 * as short as before.
 */
export interface WithOptions {
  options?: InputOptions;
}

export function readOptions(body: unknown): InputOptions {
  return (body as WithOptions | null)?.options ?? {};
}

/**
 * The options of a turn with these inputs. They share a turn only if they have equal ones; of
 * announcements, all of them count.
 */
export function optionsOfInputs(inputs: readonly { body: unknown }[]): InputOptions {
  return inputs.reduce<InputOptions>((all, { body }) => joinOptions(all, readOptions(body)), {});
}

/** The options of what is started with `own` ones under `outer` ones. */
export function inheritOptions(outer: InputOptions, own: InputOptions): InputOptions {
  return joinOptions(sharedOptions(outer), own);
}

/** The options that what a turn starts takes over. */
export function sharedOptions({
  responseFormat: _format,
  externalTools: _external,
  ...shared
}: InputOptions): InputOptions {
  return shared;
}

/**
 * Both options: never more tools than either has, the tags of both and one form of the answer, each
 * its own first.
 */
export function joinOptions(outer: InputOptions, own: InputOptions): InputOptions {
  const tools =
    outer.tools === undefined || own.tools === undefined
      ? (own.tools ?? outer.tools)
      : narrowPolicy(outer.tools, own.tools);
  const tags =
    outer.tags === undefined || own.tags === undefined
      ? (own.tags ?? outer.tags)
      : Object.fromEntries(Object.entries({ ...own.tags, ...outer.tags, ...own.tags }).slice(0, TAGS_MAX));
  return pickOptions({
    tools,
    tags,
    responseFormat: own.responseFormat ?? outer.responseFormat,
    externalTools: own.externalTools ?? outer.externalTools,
  });
}

/** The options as a part of a body. */
export function withOptions(options: InputOptions): WithOptions {
  return Object.keys(options).length === 0 ? {} : { options };
}

/** The options as JSON text; null: none. */
export function storedOptions(options: InputOptions = {}): string | null {
  return Object.keys(options).length === 0 ? null : JSON.stringify(options);
}

/** The options among these fields. */
export function pickOptions({
  tools,
  tags,
  responseFormat,
  externalTools,
}: {
  [Name in keyof InputOptions]?: InputOptions[Name] | undefined;
}): InputOptions {
  const hasTags = tags !== undefined && Object.keys(tags).length > 0;
  return given({ tools, tags: hasTags ? tags : undefined, responseFormat, externalTools });
}

/** Options as requests have them: the tools that another program runs are among the other tools. */
interface RequestOptions extends Omit<InputOptions, 'tools' | 'externalTools'> {
  tools?: ToolPolicy & { external?: readonly ExternalTool[] };
}

/** A request with the options among its own fields, as a body has them. */
export function nestOptions<Request extends RequestOptions>(request: Request) {
  const { tools: asked, tags, responseFormat, ...rest } = request;
  if (asked?.external === undefined)
    return { ...rest, ...withOptions(pickOptions({ tools: asked, tags, responseFormat })) };
  const { external, ...policy } = asked;
  const tools = Object.keys(policy).length === 0 ? undefined : policy;
  const externalTools = external.length === 0 ? undefined : external;
  return { ...rest, ...withOptions(pickOptions({ tools, tags, responseFormat, externalTools })) };
}

/** Stable: equal options have equal texts. Null: there are none. */
export function keyOfOptions(options: InputOptions): string | null {
  const { tools, tags, responseFormat, externalTools } = options;
  if (Object.values(options).every((option) => option === undefined)) return null;
  const sorted = Object.entries(tags ?? {}).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const policy = [tools?.allow ?? null, tools?.deny ?? null, sorted];
  const more = [responseFormat ?? null, ...(externalTools === undefined ? [] : [externalTools])];
  return JSON.stringify(responseFormat === undefined && externalTools === undefined ? policy : [...policy, ...more]);
}

// The further fields of an OpenAI client's request besides its message: tools that it runs itself,
// and settings of the model. It is part of the body of the message, so a retry of the turn finds it
// again.

/** A tool that the client runs. `name` is unique among those of its request. */
export interface CallerTool extends ToolSpec {
  /** What the client calls it, where that is not a function of this name. */
  known?: { name: string; namespace?: string; /** Its input is a text. */ isCustom?: true };
}

/**
 * The names of a client's tools for the model, where they differ from their own: pairs of a tool's
 * name and that name.
 */
export type CallerNames = readonly (readonly [name: string, modelName: string])[];

export interface CallerRequest {
  /** Whose request it is, see `Principal.owner`. */
  owner?: string;
  /** Tools that the client runs: the turn waits until it has sent their results. */
  tools?: CallerTool[];
  /**
   * True: the tool that must be called is one of the agent, which may have the name of one of the
   * client's.
   */
  isOwnToolForced?: true;
  /**
   * False: of several calls of its tools in one answer, only the first is made. Absent: all are.
   */
  isParallel?: false;
  /** The most tokens of an answer. */
  maxTokens?: number;
  sampling?: Sampling;
  images?: ImageBlock[];
  /** True when the history that the client sent differs from the stored one. */
  differs?: true;
  /** What answers repeat of the request, in OpenAI's names. */
  asked?: Record<string, unknown>;
}

/**
 * The request of the client that sent one of these inputs; null: none of them came from such a
 * client. They never share a turn.
 */
export function findCaller(inputs: readonly { body: unknown }[]): CallerRequest | null {
  for (const { body } of inputs) {
    const { caller } = body as { caller?: CallerRequest };
    if (caller !== undefined) return caller;
  }
  return null;
}

const NAME_CHARS_MAX = 64;

/**
 * The longest of `<name>`, `<name>_2`, `<name>_3` and so on that is a name of a tool and not taken;
 * `taken` has names in lower case.
 */
export function freeToolName(name: string, taken: ReadonlySet<string>): string {
  for (let n = 1; ; n += 1) {
    const suffix = n === 1 ? '' : `_${n}`;
    const free = `${cutHead(name, NAME_CHARS_MAX - suffix.length)}${suffix}`;
    if (!taken.has(free.toLowerCase())) return free;
  }
}

/**
 * The names for the model of those tools of a client whose names the agent's own tools have, letter
 * case aside.
 */
export function nameCallerTools(tools: readonly CallerTool[], ownNames: readonly string[]): CallerNames {
  const own = new Set(ownNames.map((name) => name.toLowerCase()));
  const taken = new Set([...own, ...tools.map(({ name }) => name.toLowerCase())]);
  return tools.flatMap(({ name }) => {
    if (!own.has(name.toLowerCase())) return [];
    const free = freeToolName(`client_${name}`, taken);
    taken.add(free.toLowerCase());
    return [[name, free] as const];
  });
}

/** What the model calls the client's tool of this name. */
export function modelNameOf(name: string, names: CallerNames): string {
  return names.find(([own]) => own === name)?.[1] ?? name;
}

/** The client's tool that the model calls by this name; undefined: it has none. */
export function findCallerTool(
  caller: CallerRequest | null,
  names: CallerNames,
  modelName: string,
): CallerTool | undefined {
  return caller?.tools?.find(({ name }) => modelNameOf(name, names) === modelName);
}

/**
 * The sampling of a call: a tool that must be called must be called in the first step only, or the
 * turn would never end.
 */
export function samplingAt(sampling: Sampling | undefined, step: number): Sampling | undefined {
  if (sampling?.tool_choice === undefined || step <= 1) return sampling;
  const { tool_choice: choice, ...rest } = sampling;
  return choice.type === 'none' ? sampling : rest;
}
