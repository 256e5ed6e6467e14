// Which settings can change while a process runs. What is not listed here is read once, when the process starts: by the pools, the server of
// the API, the tools, the transports. A part is changed as a whole or not at all.
import type { Config } from './config-type.ts';

interface ReloadablePart {
  path: string;
  /** What must stay as it is for the part to change: the rest of the process was built from it. Absent: nothing. */
  fixed?: (config: Config) => unknown;
}

/** Workspaces are opened, and the slots of subagents are counted, when a worker starts. */
const fixedOfAgents = ({ agents }: Config): unknown => [
  agents.list.map(({ id, workspace }) => [id, workspace]),
  agents.defaults.subagents.maxConcurrent,
];

const PARTS: readonly ReloadablePart[] = [
  { path: 'agents', fixed: fixedOfAgents },
  { path: 'api.environment' },
  { path: 'api.keys' },
  { path: 'batches' },
  { path: 'budgets' },
  { path: 'channels.webhook' },
  { path: 'cron' },
  { path: 'events' },
  { path: 'heartbeat' },
  { path: 'limits.waitSeconds' },
  { path: 'limits.waitingPerSession' },
  { path: 'limits.waitingTotal' },
  { path: 'memory' },
  { path: 'messages' },
  { path: 'models.limits' },
  { path: 'models.outage.giveUpAfter' },
  { path: 'models.prices' },
  { path: 'owner' },
  { path: 'reactions' },
  { path: 'reasoning' },
  { path: 'retention' },
  { path: 'runtime.apiKey' },
  { path: 'session' },
  { path: 'shutdown' },
  { path: 'tts' },
];

/** The paths of the parts, in the order of the alphabet. */
export const RELOADABLE_PATHS: readonly string[] = PARTS.map(({ path }) => path);

/** The part that a setting is in; undefined: a change of the setting needs a restart. */
export function reloadablePartOf(path: string): string | undefined {
  return RELOADABLE_PATHS.find((part) => path === part || path.startsWith(`${part}.`) || path.startsWith(`${part}[`));
}

/** The parts that differ and may change. */
export function changeableParts(before: Config, after: Config): string[] {
  return PARTS.filter(({ path, fixed }) => {
    const isChanged = !isSame(valueAt(before, path), valueAt(after, path));
    return isChanged && (fixed === undefined || isSame(fixed(before), fixed(after)));
  }).map(({ path }) => path);
}

/** A copy of `before` in which these parts are those of `after`. */
export function withParts(before: Config, after: Config, paths: readonly string[]): Config {
  let changed = before;
  for (const path of paths) changed = withValue(changed, path.split('.'), valueAt(after, path)) as Config;
  return changed;
}

function valueAt(config: Config, path: string): unknown {
  let value: unknown = config;
  for (const step of path.split('.')) value = (value as Record<string, unknown> | undefined)?.[step];
  return value;
}

function withValue(tree: object, [step = '', ...rest]: string[], value: unknown): object {
  const before = tree as Record<string, unknown>;
  const inner = rest.length === 0 ? value : withValue(before[step] as object, rest, value);
  const { [step]: _replaced, ...others } = before;
  return Object.freeze(inner === undefined ? others : { ...others, [step]: inner });
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
