// Memories: gives the agent the contents of its MEMORY.md as its own recollections, as messages of
// the assistant at the beginning of every conversation, rather than as a document from the user.
// See the README beside this file.
import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { HookContext, PluginApi, PromptHookResult } from '../../src/plugins/plugin-api.ts';

export const id = 'memories';

/** The most text of all memories together; the newest, those at the end of the file, come first. */
const CHARS_MAX = 20_000;

interface Settings {
  /** The file, relative to the agent's workspace. */
  file: string;
  /** True also gives the memories to group chats, where others can ask for them. */
  inGroups: boolean;
}

export function register(api: PluginApi): void {
  const settings = settingsOf(api.config);

  api.on('before_prompt_build', async (_event, context): Promise<PromptHookResult | undefined> => {
    if (!settings.inGroups && isGroup(context)) return undefined;
    const text = await readIfThere(resolve(context.workspaceDir, settings.file), context.signal);
    // Text that an agent wrote may come from others, so it must not pass for a message of Holdfast.
    const memories = memoriesOf(api.neutralise(text));
    return { injectMessages: memories.map((memory) => ({ role: 'assistant' as const, content: memory })) };
  });

  // Otherwise the same file would also be shown among the workspace files.
  api.on('agent:bootstrap', (event) => {
    event.bootstrapFiles = event.bootstrapFiles.filter(({ name }) => basename(name) !== basename(settings.file));
  });
}

function settingsOf({ file = 'MEMORY.md', inGroups = false }: PluginApi['config']): Settings {
  if (typeof file !== 'string' || file === '')
    throw new Error(`config.file is ${JSON.stringify(file)}, not a file name`);
  if (typeof inGroups !== 'boolean')
    throw new Error(`config.inGroups is ${JSON.stringify(inGroups)}, not true or false`);
  return { file, inGroups };
}

function isGroup({ sessionKey }: HookContext): boolean {
  return /:(?:group|channel):/.test(sessionKey);
}

async function readIfThere(path: string, signal: AbortSignal): Promise<string> {
  try {
    return await readFile(path, { encoding: 'utf8', signal });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

/**
 * One memory for each section of the file, in order; the text above the first heading is one, too.
 */
function memoriesOf(text: string): string[] {
  const memories = text
    .split(/^(?=#{1,6} )/m)
    .map((section) => section.trim())
    .filter((section) => section !== '')
    .flatMap(memoryOf);
  let charsLeft = CHARS_MAX;
  const first = memories.findLastIndex((memory) => (charsLeft -= memory.length) < 0);
  return memories.slice(first + 1);
}

function memoryOf(section: string): string[] {
  const [, heading, body = ''] = /^#{1,6} +(.*)\n?([^]*)$/.exec(section) ?? [null, null, section];
  if (body.trim() === '') return [];
  return [`I remember${heading === null ? '' : ` (${heading})`}:\n${body.trim()}`];
}
