// Makes a tool out of one zod schema: the JSON Schema that the model sees and the check of what it sends come from the same
// place, so they cannot disagree. The bytes of the specs are part of the prompt cache's key and are pinned by a test.
import { z } from 'zod';
import type { ToolSpec } from '../core/model-request.ts';
import { errorOutcome, type Tool, type ToolCall, type ToolOutcome } from './tool.ts';

interface ToolDefinition<Input extends z.ZodObject> {
  name: string;
  /** What the model is told about the tool. */
  description: string;
  /** One line for the system prompt. */
  summary: string;
  /** Strict: a field that the tool does not know is an error, not a setting that is silently ignored. */
  input: Input;
  isIdempotent: boolean;
  isReadOnly?: boolean;
  timeoutMs?: number;
  run(input: z.output<Input>, call: ToolCall): Promise<ToolOutcome>;
}

/** The tool, with its spec made from `input` and its input checked before `run` is called. */
export function defineTool<Input extends z.ZodObject>(definition: ToolDefinition<Input>): Tool {
  const { name, description, summary, input: schema, isIdempotent, isReadOnly = false, timeoutMs } = definition;
  return {
    spec: { name, description, input_schema: jsonSchemaOf(schema) },
    summary,
    isIdempotent,
    isReadOnly,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    async run(input, call) {
      const parsed = schema.safeParse(input);
      return parsed.success ? definition.run(parsed.data, call) : errorOutcome(`${name}: ${faultsOf(parsed.error)}`);
    },
  };
}

function jsonSchemaOf(schema: z.ZodObject): ToolSpec['input_schema'] {
  const { $schema: _dialect, ...jsonSchema } = z.toJSONSchema(schema);
  // A zod object always becomes a JSON Schema of type object.
  return jsonSchema as ToolSpec['input_schema'];
}

/** `field: what is wrong`, one for each fault; a fault of the whole input has no field in front. */
function faultsOf(error: z.ZodError): string {
  return error.issues
    .map((issue) => (issue.path.length === 0 ? issue.message : `${issue.path.join('.')}: ${issue.message}`))
    .join('; ');
}
