// Plugins from handlers, without modules.
import { NO_TRANSFORMS } from '../../src/prompt/read-contributions.ts';
import { createLogger } from '../../src/logger.ts';
import { HookTable, Plugins, type PluginParts } from '../../src/plugins/plugins.ts';
import type { HookHandlers, HookName } from '../../src/plugins/plugin-api.ts';

/** Handlers with the hooks that they are of. */
type Handlers<Names extends HookName[]> = {
  [Index in keyof Names]: [Names[Index], HookHandlers[Names[Index]], { plugin?: string; priority?: number }?];
};

/** Plugins with these handlers and further parts; lines of the log are added to `lines`. */
export function pluginsWith<Names extends HookName[]>(
  handlers: Handlers<[...Names]>,
  more: Partial<PluginParts> = {},
): { plugins: Plugins; lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger({
    level: 'debug',
    format: 'json',
    name: 'test',
    destination: { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
  });
  const hooks = new HookTable();
  for (const [hook, handler, { plugin = 'p', priority = 0 } = {}] of handlers) {
    hooks.add(hook, { plugin, priority, handler });
  }
  const parts = { ids: ['p'], tools: [], hooks, textTransforms: NO_TRANSFORMS, contributions: [], logger };
  return { plugins: new Plugins({ ...parts, ...more }), lines };
}
