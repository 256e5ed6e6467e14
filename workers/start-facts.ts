// The facts that a process logs when it has started.
import { agentOf, isAgent, type Config, type ThinkingLevel } from '../src/config.ts';
import type { ServiceFacts } from './start-lines.ts';

export function factsOf(config: Config, queue: string, isScripted: boolean): ServiceFacts {
  const database = config.runtime.databaseUrl === undefined ? 'embedded' : 'configured';
  return { database, queue, model: agentOf(config, config.agents.list[0]?.id ?? 'main').model, isScripted };
}

/** The thinking level of an agent's turns that set none. */
export function thinkingOf(config: Config): (agentId: string) => ThinkingLevel {
  return (agentId) => (isAgent(config, agentId) ? agentOf(config, agentId).thinking : 'off');
}
