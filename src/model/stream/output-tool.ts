// The form of an answer where the provider has no mode of its own for it: one more tool, whose arguments are the answer. A call of it becomes the
// text of the answer before anything else sees it, so a turn ends in the same way on every provider.
import type { ModelAnswer, ModelRequest, ToolSpec } from '../../core/model-request.ts';
import { listToolUses } from '../../core/content.ts';

const OUTPUT_TOOL = 'structured_output';

/** The name of the tool; an agent or a client may have one of this name. */
function outputTool(tools: readonly { name: string }[]): string {
  let free = OUTPUT_TOOL;
  while (tools.some(({ name }) => name === free)) free += '_';
  return free;
}

/**
 * The request with the tool. It is the only one that may be called where the others may not, and one must be called where the model takes that: one
 * that thinks refuses to be forced, and some think without being asked to.
 */
export function withOutputTool<Request extends ModelRequest>(request: Request): Request {
  const { responseFormat, ...rest } = request;
  if (responseFormat === undefined) return request;
  const { thinking, effort, sampling = {}, tools, traits } = request;
  const { tool_choice: choice, ...others } = sampling;
  const isFree = tools.length > 0 && choice?.type !== 'none';
  const forced = isFree ? ({ type: 'any' } as const) : ({ type: 'tool', name: outputTool(tools) } as const);
  const mayForce =
    traits?.isUnforced !== true && (thinking === undefined ? effort === undefined : thinking.type === 'disabled');
  const chosen = choice?.type === 'tool' ? choice : mayForce ? forced : undefined;
  return {
    ...rest,
    tools: [
      ...(choice?.type === 'none' && chosen === undefined ? [] : tools),
      toTool(outputTool(tools), responseFormat),
    ],
    sampling: { ...others, ...(chosen === undefined ? {} : { tool_choice: chosen }) },
  } as Request;
}

/** True when the request that was written forces a call, which its caller has not asked for. */
export function isForced(asked: ModelRequest, choice: unknown): boolean {
  return asked.responseFormat !== undefined && choice !== undefined && choice !== asked.sampling?.tool_choice;
}

function toTool(
  name: string,
  { schema, name: about = 'answer' }: NonNullable<ModelRequest['responseFormat']>,
): ToolSpec {
  return {
    name,
    description: `Give your final answer (${about}) with this tool, as its arguments, and not as text. Call it once, when you need no other tool.`,
    // A schema of type object: `findSchemaFault` has checked it.
    input_schema: schema as ToolSpec['input_schema'],
  };
}

/** The tools that an answer may call. */
export function answerTools({ tools, responseFormat }: ModelRequest): readonly { name: string }[] {
  return responseFormat === undefined ? tools : [...tools, { name: outputTool(tools) }];
}

/** The answer with the arguments of the tool as its text. With calls of other tools it is not the last one: they are made, and it is asked again. */
export function takeOutput(answer: ModelAnswer, { responseFormat, tools }: ModelRequest): ModelAnswer {
  const own = outputTool(tools);
  const output = listToolUses(answer.content).find(({ name }) => name === own);
  if (responseFormat === undefined || output === undefined) return answer;
  const rest = answer.content.filter((block) => block.type !== 'tool_use' || block.name !== own);
  if (rest.some(({ type }) => type === 'tool_use')) return { ...answer, content: rest };
  const text = withoutNuls(answer.malformedInputs?.[output.id] ?? JSON.stringify(output.input));
  const { malformedInputs: _read, ...others } = answer;
  return {
    ...others,
    stopReason: answer.stopReason === 'tool_use' ? 'end_turn' : answer.stopReason,
    content: [...rest.filter(({ type }) => type !== 'text'), { type: 'text', text }],
  };
}

/** JSON without escaped NULs, which no database and no client of one takes; a backslash before another one escapes that. */
function withoutNuls(json: string): string {
  return json.replace(/\\(?:\\|u0000)/g, (found) => (found === '\\u0000' ? '' : found));
}
