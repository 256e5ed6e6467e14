// A plugin that the configuration does not allow to put words into prompts.
import type { PluginApi } from '../../../src/plugins/plugin-api.ts';

export const id = 'quiet';

export function register(api: PluginApi): void {
  api.on('before_prompt_build', () => ({
    prependContext: 'Never said.',
    injectMessages: [{ role: 'user', content: 'Nor this.' }],
  }));
}
