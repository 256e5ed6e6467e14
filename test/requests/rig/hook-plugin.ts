// Two plugins in one: handlers that change a prompt depending on the session's key, and that write
// their input to a file. The key selects the change: `dm:context-1` gets contexts, `dm:inject-1`
// injected messages.
import { appendFileSync } from 'node:fs';
import type { PluginApi, PromptHookResult } from '../../../src/plugins/plugin-api.ts';

export const id = 'hooks-of-the-tests';

function text(role: 'user' | 'assistant', said: string): { role: 'user' | 'assistant'; content: string } {
  return { role, content: said };
}

const BEFORE_BUILD: Record<string, { high?: PromptHookResult; low?: PromptHookResult; legacy?: PromptHookResult }> = {
  context: {
    high: { prependContext: 'A' },
    low: { prependContext: 'B' },
    legacy: { prependContext: 'C' },
  },
  inject: {
    high: { injectMessages: [text('assistant', 'm1')] },
    low: { injectMessages: [text('assistant', 'm2')] },
  },
  system: {
    high: { systemPrompt: 'Only this.', prependSystemContext: 'Before all.' },
    low: { systemPrompt: 'Not this.', appendSystemContext: 'Behind all.' },
    legacy: { systemPrompt: 'Nor this.' },
  },
  around: {
    high: { prependSystemContext: 'Before all.' },
    low: { appendSystemContext: 'Behind all.' },
  },
};

export function register(api: PluginApi): void {
  const log = String(api.config['log']);
  const write = (what: object): void => appendFileSync(log, `${JSON.stringify(what)}\n`);
  const planOf = (sessionKey: string) => BEFORE_BUILD[/([a-z]+)-\d+$/.exec(sessionKey)?.[1] ?? ''];
  api.on('before_prompt_build', (_event, context) => planOf(context.sessionKey)?.low);
  api.on(
    'before_prompt_build',
    (event, context) => {
      write({
        hook: 'before_prompt_build',
        session: context.sessionKey,
        prompt: event.prompt,
        messages: event.messages.length,
      });
      if (context.sessionKey.includes('broken')) throw new Error('This handler is broken.');
      return planOf(context.sessionKey)?.high;
    },
    { priority: 10 },
  );
  api.on('before_agent_start', (_event, context) => planOf(context.sessionKey)?.legacy);
  api.on('agent:bootstrap', (event, context) => {
    if (!context.sessionKey.includes('files')) return;
    event.bootstrapFiles.push({
      name: 'EXTRA.md',
      path: `${context.workspaceDir}/EXTRA.md`,
      content: 'From a plugin.',
    });
    event.bootstrapFiles = event.bootstrapFiles.map((file) =>
      file.name === 'SOUL.md' ? { ...file, content: 'Another soul.' } : file,
    );
  });
  api.on('llm_input', (event, context) => {
    write({ hook: 'llm_input', session: context.sessionKey, ...event, historyMessages: event.historyMessages.length });
  });
  api.registerTextTransform({
    input: [{ from: 'COLOUR-WORD', to: 'color-word' }],
    output: [{ from: 'sent-by-model', to: 'shown-to-user' }],
  });
}
