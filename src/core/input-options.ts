// What an input says about its turn and about everything that this turn starts: subagents, messages to other sessions, follow-ups, crons.
// It is one field of the body of every input, whatever its kind, so whoever writes an input passes it on as it is.
import { narrowPolicy, type ToolPolicy } from './tool-policy.ts';

export interface InputOptions {
  /** Which of its agent's tools the turn has; absent: all of them. */
  tools?: ToolPolicy;
}

/** The part of a body that has them; none where there are none, so that bodies without options are as short as before. */
export interface WithOptions {
  options?: InputOptions;
}

/** The options of an input, from its body. */
export function optionsOf(body: unknown): InputOptions {
  return (body as WithOptions | null)?.options ?? {};
}

/** The options of a turn with these inputs. They share a turn only if they have equal ones; of announcements, all of them count. */
export function optionsOfInputs(inputs: readonly { body: unknown }[]): InputOptions {
  return inputs.reduce<InputOptions>((all, { body }) => inheritOptions(all, optionsOf(body)), {});
}

/** The options of what is started with `own` ones under `outer` ones: it never has more tools than what has started it. */
export function inheritOptions(outer: InputOptions, own: InputOptions): InputOptions {
  const tools =
    outer.tools === undefined || own.tools === undefined
      ? (own.tools ?? outer.tools)
      : narrowPolicy(outer.tools, own.tools);
  return tools === undefined ? {} : { tools };
}

/** The options as a part of a body. */
export function withOptions(options: InputOptions): WithOptions {
  return Object.keys(options).length === 0 ? {} : { options };
}

/** The options as JSON text; null: none. */
export function storedOptions(options: InputOptions = {}): string | null {
  return Object.keys(options).length === 0 ? null : JSON.stringify(options);
}

/** The options among the fields of a request. */
export function pickOptions({ tools }: { [Name in keyof InputOptions]: InputOptions[Name] | undefined }): InputOptions {
  return tools === undefined ? {} : { tools };
}

/** A request with the options among its own fields, as a body has them. */
export function nestOptions<Request extends InputOptions>(request: Request) {
  const { tools: _tools, ...rest } = request;
  return { ...rest, ...withOptions(pickOptions(request)) };
}

/** Stable: equal options have equal texts. */
export function keyOfOptions({ tools }: InputOptions): string | null {
  return tools === undefined ? null : JSON.stringify([tools.allow ?? null, tools.deny ?? null]);
}
