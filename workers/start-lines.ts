// What a service prints and logs for the person who starts it: its parts, and warnings.
import { systemClock } from '../src/clock.ts';
import { agentOf, modelNotices, type Config } from '../src/config.ts';
import { DEFAULT_PROVIDER } from '../src/core/models.ts';
import { isLoopbackHost } from '../src/network/public-address.ts';
import { describeExec, type SandboxState } from '../src/tools/sandbox/sandbox.ts';

/** The parts on which a service runs. */
export interface ServiceFacts {
  database: 'embedded' | 'configured';
  queue: string;
  model: string;
  isScripted: boolean;
}

/** The facts that a process logs when it has started. */
export function readServiceFacts(config: Config, queue: string, isScripted: boolean): ServiceFacts {
  const database = config.runtime.databaseUrl === undefined ? 'embedded' : 'configured';
  const { model } = agentOf(config, config.agents.list[0]?.id ?? 'main');
  return { database, queue, model, isScripted: isScripted && model.startsWith(`${DEFAULT_PROVIDER}/`) };
}

/** The lines that name the parts, for the person at the terminal. */
export function formatLines(
  config: Config,
  { database, queue, model, isScripted }: ServiceFacts,
  sandbox: SandboxState | undefined,
): string[] {
  return [
    `database   ${database === 'embedded' ? `embedded PostgreSQL in ${config.runtime.dataDir}` : 'DATABASE_URL'}`,
    `queue      BullMQ on ${queue === 'redis' ? 'Redis' : 'PostgreSQL'}`,
    `model      ${isScripted ? 'scripted answers (no ANTHROPIC_API_KEY; tools are real)' : model}`,
    ...(sandbox === undefined ? [] : [`commands   ${describeExec(config, sandbox)}`]),
    ...modelNotices(config, formatDay(systemClock.now())).map(asWarning),
  ];
}

/** A warning as a line. */
export function asWarning(text: string): string {
  return `warning    ${text}`;
}

function formatDay(date: Date): string {
  return date.toISOString().slice(0, 10);
}

/**
 * Beyond this machine everything is sent in the clear, keys too, unless a proxy in front of the API
 * speaks TLS.
 */
export function listenWarnings({
  runtime: { host },
  api: { publicUrl },
}: {
  runtime: Pick<Config['runtime'], 'host'>;
  api: Pick<Config['api'], 'publicUrl'>;
}): string[] {
  if (isLoopbackHost(host) || publicUrl?.startsWith('https://') === true) return [];
  return [
    `The API listens on ${host} without TLS: API keys and messages can be read on the network. ` +
      'Put a proxy with TLS in front of it and set api.publicUrl to its https address, or set HOLDFAST_HOST=127.0.0.1.',
  ];
}
