// Reads what a server says of a tool. An odd field costs that field where it is optional, and else
// its own tool, which is listed with the reason.
import { given, isObject } from '../../../core/json.ts';
import { cutHead, storableValue } from '../../../core/text.ts';
import type { ListedTool, ToolDefinition } from '../rules.ts';

/** Longer names are cut: no agent has their tools. */
const NAME_CHARS_MAX = 200;
const DEPTH_MAX = 64;
/** Longer schemas of results are not checked against. */
const OUTPUT_SCHEMA_CHARS_MAX = 65_536;
const ANY_OBJECT = { type: 'object' } as const;

/** The tool; `place` is its number in the list. */
export function readDefinition(value: unknown, place: number): ListedTool {
  const { name, title, description, inputSchema, outputSchema, annotations, execution } = isObject(value) ? value : {};
  const hints = isObject(annotations) ? annotations : {};
  const flag = (hint: string): boolean | undefined => (typeof hints[hint] === 'boolean' ? hints[hint] : undefined);
  const schema = readSchema(inputSchema);
  const fault =
    typeof name !== 'string' || name === '' ? 'it has no name' : typeof schema === 'string' ? schema : undefined;
  const definition: ToolDefinition = {
    description: textOf(description) ?? textOf(title) ?? '',
    inputSchema: typeof schema === 'string' ? ANY_OBJECT : schema,
    annotations: given({
      readOnlyHint: flag('readOnlyHint'),
      idempotentHint: flag('idempotentHint'),
      destructiveHint: flag('destructiveHint'),
      openWorldHint: flag('openWorldHint'),
    }),
    needsTask: isObject(execution) && execution['taskSupport'] === 'required',
    ...given({ outputSchema: readOutputSchema(outputSchema), fault }),
  };
  const shown = typeof name === 'string' && name !== '' ? cutHead(name, NAME_CHARS_MAX) : `(tool ${place} of the list)`;
  // PostgreSQL stores no NUL, and no half characters.
  return storableValue({ name: shown, definition });
}

/** The tools of a list, each name once: of two with one name, neither is chosen. */
export function mergeTools(tools: readonly ListedTool[]): ListedTool[] {
  const byName = new Map<string, ListedTool>();
  for (const tool of tools) {
    const { name } = tool;
    const other = byName.get(name);
    const fault = 'the server has several tools of this name';
    byName.set(name, other === undefined ? tool : { name, definition: { ...other.definition, fault } });
  }
  return [...byName.values()];
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The schema, or what is wrong with it. */
function readSchema(value: unknown): ToolDefinition['inputSchema'] | string {
  if (value === undefined || value === null) return 'it has no input schema';
  if (!isObject(value)) return 'its input schema is not an object';
  const { $schema: _dialect, type, ...schema } = value;
  const isOfObjects = type === undefined || type === null || [type].flat().includes('object');
  if (!isOfObjects) return `its input schema is of type ${cutHead(JSON.stringify(type), 100)}, not of type object`;
  if (!isWithin(schema, DEPTH_MAX)) return `its input schema has more than ${DEPTH_MAX} levels`;
  // The order of the keys is part of what is stored and sent.
  return Object.hasOwn(value, 'type')
    ? (Object.fromEntries(Object.entries({ ...value, type: 'object' }).filter(([key]) => key !== '$schema')) as never)
    : { type: 'object', ...schema };
}

function readOutputSchema(value: unknown): object | undefined {
  if (!isObject(value) || !isWithin(value, DEPTH_MAX)) return undefined;
  return JSON.stringify(value).length > OUTPUT_SCHEMA_CHARS_MAX ? undefined : value;
}

/** True for a value of at most so many levels. */
function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isWithin(inner, levels - 1));
}
