// Loads the tools of the configured plugins: modules that export `tools`, or `createTools()` that makes them. A plugin that cannot
// be loaded or whose tools are not tools stops the start with its path and the reason, rather than being missed in the middle of a turn.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import type { Tool } from './tool.ts';

/** A plugin of the configuration is unusable. The message names its path and what is wrong. */
export class PluginError extends Error {
  readonly code = 'plugin_error';
  readonly path: string;

  constructor(path: string, fault: string, cause?: unknown) {
    super(`plugin ${path}: ${fault}`, { cause });
    this.name = 'PluginError';
    this.path = path;
  }
}

/** What a tool must have; the methods are not called here. */
const toolShape = z.object({
  spec: z.object({
    name: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/, '1 to 64 of a-z A-Z 0-9 _ -'),
    description: z.string(),
    input_schema: z.looseObject({ type: z.literal('object') }),
  }),
  summary: z.string(),
  isIdempotent: z.boolean(),
  timeoutMs: z.number().positive().optional(),
  run: z.custom<Tool['run']>((value) => typeof value === 'function', 'must be a function'),
});

/**
 * The tools of all modules, in the order of `paths` (absolute, or relative to `cwd`). The same objects that the modules export: a module
 * is loaded once in a process. Throws `PluginError`.
 */
export async function loadPluginTools(paths: readonly string[], { cwd }: { cwd: string }): Promise<Tool[]> {
  const tools = await Promise.all(paths.map((path) => toolsOf(resolve(cwd, path))));
  return tools.flat();
}

async function toolsOf(path: string): Promise<Tool[]> {
  const exported = await exportsOf(path);
  const found = 'createTools' in exported ? await createdBy(path, exported['createTools']) : exported['tools'];
  if (found === undefined) throw new PluginError(path, 'it exports neither `tools` nor `createTools`');
  if (!Array.isArray(found)) throw new PluginError(path, `its tools are ${typeof found}, not an array`);
  return found.map((tool: unknown, index) => {
    const fault = toolShape.safeParse(tool).error?.issues[0];
    // Checked just above. The object itself is kept: `run` may use `this`.
    if (fault === undefined) return tool as Tool;
    throw new PluginError(path, `tool ${index}: ${fault.path.join('.') || 'value'}: ${fault.message}`);
  });
}

async function exportsOf(path: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  } catch (error) {
    throw new PluginError(path, `cannot be loaded: ${messageOf(error)}`, error);
  }
}

async function createdBy(path: string, createTools: unknown): Promise<unknown> {
  if (typeof createTools !== 'function') throw new PluginError(path, '`createTools` is not a function');
  try {
    return await createTools();
  } catch (error) {
    throw new PluginError(path, `createTools() failed: ${messageOf(error)}`, error);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
