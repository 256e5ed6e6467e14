// Tools of plugins, checked when they are loaded rather than missed in the middle of a turn.
import { z } from 'zod';
import type { Tool } from '../tools/tool.ts';
import { firstFault, PluginError } from './plugin-error.ts';

/** The required fields of a tool; the methods are not called here. */
const toolShape = z.object({
  spec: z.object({
    name: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/, '1 to 64 of a-z A-Z 0-9 _ -'),
    description: z.string(),
    input_schema: z.looseObject({ type: z.literal('object') }),
  }),
  summary: z.string(),
  isIdempotent: z.boolean(),
  isReadOnly: z.boolean().optional(),
  timeoutMs: z.number().positive().optional(),
  run: z.custom<Tool['run']>((value) => typeof value === 'function', 'must be a function'),
});

/** The very objects of the list. Throws `PluginError` when one of them is no tool. */
export function readTools(path: string, value: unknown): Tool[] {
  if (!Array.isArray(value)) throw new PluginError(path, `its tools are ${typeof value}, not an array`);
  return value.map((tool: unknown, index) => readTool(path, tool, `tool ${index}`));
}

/** The very object. Throws `PluginError` when it is no tool; `name` says which it is. */
export function readTool(path: string, value: unknown, name: string): Tool {
  const { error } = toolShape.safeParse(value);
  if (error !== undefined) throw new PluginError(path, `${name}: ${firstFault(error)}`);
  // Checked just above. The object itself is kept: `run` may use `this`.
  return value as Tool;
}
