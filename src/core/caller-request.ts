// The further fields of an OpenAI client's request besides its message: tools that it runs itself, and settings of the model.
// It is part of the body of the message, so a retry of the turn finds it again.
import type { ImageBlock } from './content.ts';
import type { Sampling, ToolSpec } from './model-request.ts';
import { cutHead } from './text.ts';

/** A tool that the client runs. `name` is unique among those of its request. */
export interface CallerTool extends ToolSpec {
  /** What the client calls it, where that is not a function of this name. */
  known?: { name: string; namespace?: string; /** Its input is a text. */ isCustom?: true };
}

/** The names of a client's tools for the model, where they differ from their own: pairs of a tool's name and that name. */
export type CallerNames = readonly (readonly [name: string, modelName: string])[];

export interface CallerRequest {
  /** As `Principal.owner`: whose request it is. */
  owner?: string;
  /** Tools that the client runs: the turn waits until it has sent their results. */
  tools?: CallerTool[];
  /** True: the tool that must be called is one of the agent, which may have the name of one of the client's. */
  isOwnToolForced?: true;
  /** False: of several calls of its tools in one answer, only the first is made. Absent: all are. */
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

/** The request of the client that sent one of these inputs; null: none of them came from such a client. They never share a turn. */
export function findCaller(inputs: readonly { body: unknown }[]): CallerRequest | null {
  for (const { body } of inputs) {
    const { caller } = body as { caller?: CallerRequest };
    if (caller !== undefined) return caller;
  }
  return null;
}

const NAME_CHARS_MAX = 64;

/** The longest of `<name>`, `<name>_2`, `<name>_3` and so on that is a name of a tool and not taken; `taken` has names in lower case. */
export function freeToolName(name: string, taken: ReadonlySet<string>): string {
  for (let n = 1; ; n += 1) {
    const suffix = n === 1 ? '' : `_${n}`;
    const free = `${cutHead(name, NAME_CHARS_MAX - suffix.length)}${suffix}`;
    if (!taken.has(free.toLowerCase())) return free;
  }
}

/** The names for the model of those tools of a client whose names the agent's own tools have, letter case aside. */
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

/** The sampling of a call: a tool that must be called must be called in the first step only, or the turn would never end. */
export function samplingAt(sampling: Sampling | undefined, step: number): Sampling | undefined {
  if (sampling?.tool_choice === undefined || step <= 1) return sampling;
  const { tool_choice: choice, ...rest } = sampling;
  return choice.type === 'none' ? sampling : rest;
}
