// Makes a tool out of one zod schema: the JSON Schema that the model sees and the check of what it
// sends come from the same place, so they cannot disagree. The bytes of the specs are part of the
// prompt cache's key and are pinned by a test.
import { z } from 'zod';
import { describeFault, IN_WORDS } from '../config/check-input.ts';
import type { ToolSpec } from '../core/model-request.ts';
import { errorOutcome, type Tool, type ToolCall, type ToolOutcome } from './tool.ts';

interface ToolDefinition<Input extends z.ZodObject> {
  name: string;
  /** The description of the tool for the model. */
  description: string;
  /** One line for the system prompt. */
  summary: string;
  /**
   * Strict: a field that the tool does not know is an error, not a setting that is silently
   * ignored.
   */
  input: Input;
  /**
   * Other names of fields that models write: the field by each. They are accepted, and not shown.
   */
  aliases?: Readonly<Record<string, string>>;
  isIdempotent: boolean;
  isReadOnly: boolean;
  timeoutMs?: number;
  run(input: z.output<Input>, call: ToolCall): Promise<ToolOutcome>;
}

/** The tool, with its spec made from `input` and its input checked before `run` is called. */
export function defineTool<Input extends z.ZodObject>(definition: ToolDefinition<Input>): Tool {
  const { name, description, summary, input: schema, isIdempotent, isReadOnly, timeoutMs } = definition;
  return {
    spec: { name, description, input_schema: toJsonSchema(schema) },
    summary,
    isIdempotent,
    isReadOnly,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    async run(input, call) {
      const named = renamed(input, definition.aliases ?? {});
      if (named.kind === 'twice') {
        return errorOutcome(`${name}: ${named.field} and ${named.alias} differ; give ${named.field} alone`);
      }
      const parsed = schema.safeParse(named.input, IN_WORDS);
      return parsed.success ? definition.run(parsed.data, call) : errorOutcome(`${name}: ${toFaults(parsed.error)}`);
    },
  };
}

type AliasResult = { kind: 'ok'; input: unknown } | { kind: 'twice'; field: string; alias: string };

/** The input with its fields under their own names. */
function renamed(input: unknown, aliases: Readonly<Record<string, string>>): AliasResult {
  if (typeof input !== 'object' || input === null) return { kind: 'ok', input };
  const fields: Record<string, unknown> = { ...input };
  for (const [alias, field] of Object.entries(aliases)) {
    if (!Object.hasOwn(fields, alias)) continue;
    const { [alias]: value } = fields;
    if (Object.hasOwn(fields, field) && fields[field] !== value) return { kind: 'twice', field, alias };
    fields[field] = value;
    delete fields[alias];
  }
  return { kind: 'ok', input: fields };
}

function toJsonSchema(schema: z.ZodObject): ToolSpec['input_schema'] {
  const { $schema: _dialect, ...jsonSchema } = z.toJSONSchema(schema);
  // A zod object always becomes a JSON Schema of type object.
  return jsonSchema as ToolSpec['input_schema'];
}

/** `field: fault`, one for each fault; a fault of the whole input has no field in front. */
export function toFaults(error: z.ZodError): string {
  return error.issues
    .map((issue) => {
      const path = issue.path.join('.');
      return `${path === '' ? '' : `${path}: `}${describeFault(issue, path)}`;
    })
    .join('; ');
}
