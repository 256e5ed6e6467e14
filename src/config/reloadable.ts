// Which settings can change while a process runs: the parts that the schema marks. A part is changed as a whole or not at all.
import { environmentSchema } from './schema-environment.ts';
import { reloads } from './schema-scalars.ts';
import { fileSchema, type Config } from './schema.ts';
import { schemasBelow } from './walk-schema.ts';

/** The parts with the effect of a change, by their paths, in the order of the alphabet. */
export const RELOADABLE_PARTS: ReadonlyMap<string, string> = new Map(
  [...schemasBelow(fileSchema, ''), ...schemasBelow(environmentSchema, 'runtime')]
    .flatMap(({ path, schema }): [string, string][] => {
      const mark = reloads.get(schema);
      return mark === undefined ? [] : [[path, mark.effect]];
    })
    .toSorted(([one], [other]) => (one < other ? -1 : 1)),
);
const PATHS = [...RELOADABLE_PARTS.keys()];

/** What must stay as it is for a part to change: the rest of the process was built from it. */
const FIXED: Record<string, (config: Config) => unknown> = {
  // Workspaces are opened, and the slots of subagents are counted, when a worker starts.
  agents: ({ agents }) => [
    agents.list.map(({ id, workspace }) => [id, workspace]),
    agents.defaults.subagents.maxConcurrent,
  ],
};

/** The part that a setting is in; undefined: a change of the setting needs a restart. */
export function findReloadablePart(path: string): string | undefined {
  return PATHS.find((part) => path === part || path.startsWith(`${part}.`) || path.startsWith(`${part}[`));
}

/** The parts that differ and may change. */
export function changeableParts(before: Config, after: Config): string[] {
  return PATHS.filter((path) => {
    const isChanged = !isSame(valueAt(before, path), valueAt(after, path));
    const fixed = FIXED[path];
    return isChanged && (fixed === undefined || isSame(fixed(before), fixed(after)));
  });
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
