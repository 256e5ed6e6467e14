// The configuration of a running process, which can be read again. `config` is one object for the
// life of the process: each of its sections is replaced as a whole, so what reads a section when it
// uses it sees the newest one, and no read sees half of two. A configuration with a fault, or one
// that a part of the process refuses, changes nothing.
import { environmentSchema } from './schema-environment.ts';
import { fileSchema, type Config } from './schema.ts';
import { schemasBelow } from './check-input.ts';
import { mapRawSettings, type Setting } from './sources.ts';
import { hash } from 'node:crypto';
import { priceTable, type PriceBook } from '../core/prices.ts';

// Which settings can change while a process runs: the parts that the schema marks. A part is
// changed as a whole or not at all.

/** The parts with the effect of a change, by their paths, in the order of the alphabet. */
export const RELOADABLE_PARTS: ReadonlyMap<string, string> = new Map(
  [...schemasBelow(fileSchema, ''), ...schemasBelow(environmentSchema, 'runtime')]
    .flatMap(({ path, schema }): [string, string][] => {
      const { reload } = schema.meta() ?? {};
      return reload === undefined ? [] : [[path, reload]];
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

export interface LoadedConfig {
  config: Config;
  settings: readonly Setting[];
}

/**
 * A setting that differs between the running configuration and the current file and environment.
 */
export interface ConfigChange {
  path: string;
  /** The values as they may be shown, see `Setting`. Null: there is no such setting. */
  value: unknown;
  next: unknown;
  isSecret: boolean;
  needsRestart: boolean;
  /**
   * False: neither a reload nor a restart changes anything by it. A configuration without `budgets`
   * leaves the budgets as they are.
   */
  hasEffect: boolean;
}

/** A part of the process that follows the configuration. */
interface ConfigFollower {
  /**
   * Called with the configuration that is about to be used. When it rejects, nothing is changed.
   */
  prepare?: (next: Config) => void | Promise<void>;
  /**
   * Called when no part refuses it, for what is stored. When it rejects, the configuration stays as
   * it was.
   */
  store?: (next: Config) => Promise<unknown>;
  /** Called when it is in use. Must not throw. */
  apply?: () => void;
}

export class LiveConfig {
  readonly config: Config;
  readonly #load: () => LoadedConfig;
  readonly #followers: ConfigFollower[] = [];
  #current: Config;
  #settings: readonly Setting[];
  #reloading: Promise<unknown> = Promise.resolve();

  /** `load` reads file and environment, and throws `ConfigError` with every fault. */
  constructor(load: () => LoadedConfig) {
    const { config, settings } = load();
    this.#load = load;
    this.#current = config;
    this.#settings = settings;
    this.config = Object.defineProperties(
      {},
      Object.fromEntries(
        // The one section that may be absent.
        [...new Set([...Object.keys(config), 'budgets'])].map((section) => [
          section,
          { enumerable: true, get: () => this.#current[section as keyof Config] },
        ]),
      ),
    ) as Config;
  }

  /** The running configuration with its sources, without secrets. */
  get settings(): readonly Setting[] {
    return this.#settings;
  }

  /** Adds a part of the process that is notified of changes. */
  follow(follower: ConfigFollower): void {
    this.#followers.push(follower);
  }

  /**
   * The changes that a reload would make, and those that need a restart. Throws `ConfigError` when
   * the configuration has a fault.
   */
  compare(): ConfigChange[] {
    return this.#changesTo(this.#load());
  }

  /**
   * Reads the configuration again and uses what can change. Returns every difference. Rejects with
   * `ConfigError` or with the fault of a follower, and then the configuration stays as it was.
   */
  reload(): Promise<ConfigChange[]> {
    const reloaded = this.#reloading.then(() => this.#reload());
    this.#reloading = reloaded.catch(() => undefined);
    return reloaded;
  }

  async #reload(): Promise<ConfigChange[]> {
    const loaded = this.#load();
    const changes = this.#changesTo(loaded);
    const parts = changeableParts(this.#current, loaded.config);
    const next = withParts(this.#current, loaded.config, parts);
    for (const { prepare } of this.#followers) await prepare?.(next);
    for (const { store } of this.#followers) await store?.(next);
    this.#settings = mergedSettings(this.#settings, loaded.settings, parts);
    this.#current = next;
    for (const { apply } of this.#followers) apply?.();
    return changes;
  }

  #changesTo({ config, settings }: LoadedConfig): ConfigChange[] {
    const [before, after] = [mapRawSettings(this.#current), mapRawSettings(config)];
    const [shown, shownNext] = [byPath(this.#settings), byPath(settings)];
    const parts = changeableParts(this.#current, config);
    return [...new Set([...before.keys(), ...after.keys()])]
      .filter((path) => JSON.stringify(before.get(path)) !== JSON.stringify(after.get(path)))
      .filter((path) => !hasParts(before.has(path) ? after : before, path))
      .map((path) => {
        const part = findReloadablePart(path);
        return {
          path,
          value: shown.get(path)?.value ?? null,
          next: shownNext.get(path)?.value ?? null,
          isSecret: shown.get(path)?.isSecret ?? shownNext.get(path)?.isSecret ?? false,
          needsRestart: part === undefined || !parts.includes(part),
          hasEffect: part !== 'budgets' || config.budgets !== undefined,
        };
      });
  }
}

/**
 * True when a list or section that is empty on the one side has parts on the other: the parts are
 * the changes.
 */
function hasParts(settings: ReadonlyMap<string, unknown>, path: string): boolean {
  return (
    !settings.has(path) && [...settings.keys()].some((key) => key.startsWith(`${path}[`) || key.startsWith(`${path}.`))
  );
}

function byPath(settings: readonly Setting[]): Map<string, Setting> {
  return new Map(settings.map((setting) => [setting.path, setting]));
}

/**
 * The settings in which these parts are those of `after`, at the place of the first setting of each
 * part.
 */
function mergedSettings(before: readonly Setting[], after: readonly Setting[], parts: readonly string[]): Setting[] {
  const taken = new Set<string>();
  return before.flatMap((setting) => {
    const part = findReloadablePart(setting.path);
    if (part === undefined || !parts.includes(part)) return [setting];
    if (taken.has(part)) return [];
    taken.add(part);
    return after.filter(({ path }) => findReloadablePart(path) === part);
  });
}

// The prices that a configuration gives: the built-in table with its own rows over it.

const VERSION_CHARS = 12;

/** Makes the book of a configuration. Its version depends on the rows only. */
export function buildPriceBook({ models }: Pick<Config, 'models'>): PriceBook {
  const table = priceTable(models.prices);
  const sha256 = hash('sha256', JSON.stringify(table), 'hex');
  return { version: sha256.slice(0, VERSION_CHARS), sha256, table };
}

/** The book of the running configuration: it is another one after `models.prices` has changed. */
export function livePriceBook(config: Pick<Config, 'models'>): PriceBook {
  let known = { rows: config.models.prices, book: buildPriceBook(config) };
  const current = (): PriceBook => {
    const { prices } = config.models;
    if (known.rows !== prices) known = { rows: prices, book: buildPriceBook(config) };
    return known.book;
  };
  return {
    get version() {
      return current().version;
    },
    get sha256() {
      return current().sha256;
    },
    get table() {
      return current().table;
    },
  };
}
