// The handlers of all plugins, in the order in which they run.
import type { HookHandlers, HookName } from './plugin-api.ts';

export const HOOK_NAMES: readonly HookName[] = [
  'before_prompt_build',
  'before_agent_start',
  'agent:bootstrap',
  'llm_input',
];

export interface RegisteredHandler<Name extends HookName> {
  plugin: string;
  priority: number;
  handler: HookHandlers[Name];
}

export class HookTable {
  readonly #handlers: { [Name in HookName]: RegisteredHandler<Name>[] } = {
    before_prompt_build: [],
    before_agent_start: [],
    'agent:bootstrap': [],
    llm_input: [],
  };

  /** Adds a handler after those of the same priority. */
  add<Name extends HookName>(hook: Name, added: RegisteredHandler<Name>): void {
    const handlers = this.#handlers[hook];
    const at = handlers.findIndex(({ priority }) => priority < added.priority);
    handlers.splice(at === -1 ? handlers.length : at, 0, added);
  }

  /** The handlers of a hook, higher priority first. */
  of<Name extends HookName>(hook: Name): readonly RegisteredHandler<Name>[] {
    return this.#handlers[hook];
  }
}
