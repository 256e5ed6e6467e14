// A plugin of the configuration that cannot be used stops the start: better than to be missed in
// the middle of a turn.
import type { z } from 'zod';
import type { Deadline } from '../clock.ts';

/** The message names the plugin's path and the fault. */
export class PluginError extends Error {
  readonly code = 'plugin_error';
  readonly path: string;

  constructor(path: string, fault: string, cause?: unknown) {
    super(`plugin ${path}: ${fault}`, { cause });
    this.name = 'PluginError';
    this.path = path;
  }
}

/** A handler of a plugin took longer than it may. */
class HookTimeoutError extends Error {
  readonly code = 'hook_timeout';
  readonly timeoutMs: number;

  constructor(timeoutMs: number) {
    super(`took longer than ${timeoutMs} ms`);
    this.name = 'HookTimeoutError';
    this.timeoutMs = timeoutMs;
  }
}

/** The deadline of a handler of a plugin. */
export function hookDeadline(timeoutMs: number): Deadline {
  return { ms: timeoutMs, late: () => new HookTimeoutError(timeoutMs) };
}

/** The text of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The first fault of a value of a plugin, after the field that has it. */
export function firstFault({ issues: [fault] }: z.ZodError): string {
  return `${fault?.path.join('.') || 'value'}: ${fault?.message}`;
}
