// The lines that a service prints for the person who starts it.
import { systemClock } from '../src/clock.ts';
import { modelNotices, type Config } from '../src/config.ts';
import { describeCommands } from '../src/tools/command-user.ts';
import type { Role } from './load-modules.ts';

/** The parts on which a service runs. */
export interface ServiceFacts {
  database: 'embedded' | 'configured';
  queue: string;
  model: string;
  isScripted: boolean;
}

/** The lines that name the parts, for the person at the terminal. */
export function linesOf(
  config: Config,
  roles: readonly Role[],
  { database, queue, model, isScripted }: ServiceFacts,
): string[] {
  return [
    `database   ${database === 'embedded' ? `embedded PostgreSQL in ${config.runtime.dataDir}` : 'DATABASE_URL'}`,
    `queue      BullMQ on ${queue === 'redis' ? 'Redis' : 'PostgreSQL'}`,
    `model      ${isScripted ? 'scripted answers (no ANTHROPIC_API_KEY; tools are real)' : model}`,
    ...(roles.includes('worker') ? [`commands   ${describeCommands(config)}`] : []),
    ...modelNotices(config, dayOf(systemClock.now())).map(asWarning),
  ];
}

/** A warning as a line. */
export function asWarning(text: string): string {
  return `warning    ${text}`;
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}
