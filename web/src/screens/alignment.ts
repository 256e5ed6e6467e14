// Aligns two lists or two texts side by side.
import { diffArrays, diffLines } from 'diff';

/**
 * Longer texts are shown one after the other: a person does not read their differences line by
 * line, and finding them takes long.
 */
const DIFF_CHARS_MAX = 200_000;
/**
 * How long differences are looked for; lists that take longer are paired by the kinds of their
 * items alone.
 */
const DIFF_MS = 300;

/** One row of two lists; a side that has nothing there is null. */
export interface Pair<Item> {
  state: 'same' | 'changed' | 'only A' | 'only B';
  a: Item | null;
  b: Item | null;
}

/** The compared properties of an item: its kind, and its text. */
export interface Compared {
  kind: string;
  text: string;
}

/**
 * Two lists in their order. What is equal on both sides is `same`. Between two equal items, the
 * items of one kind are paired in their order as `changed`, and what is left is on one side only.
 */
export function alignItems<Item>(a: readonly Item[], b: readonly Item[], of: (item: Item) => Compared): Pair<Item>[] {
  const facts = new Map([...a, ...b].map((item) => [item, of(item)]));
  // Every item is in the map.
  const factsOf = (item: Item): Compared => facts.get(item)!;
  const isSame = (left: Item, right: Item): boolean =>
    factsOf(left).kind === factsOf(right).kind && factsOf(left).text === factsOf(right).text;
  const pairs: Pair<Item>[] = [];
  let [removed, added]: [Item[], Item[]] = [[], []];
  const flush = (): void => {
    pairs.push(...pairKinds(removed, added, (item) => factsOf(item).kind));
    [removed, added] = [[], []];
  };
  const changes = diffArrays([...a], [...b], { comparator: isSame, timeout: DIFF_MS }) ?? [
    { removed: true, added: false, value: [...a] },
    { removed: false, added: true, value: [...b] },
  ];
  // What is equal is given once, from one of the lists: each side is read from its own.
  let [atA, atB] = [0, 0];
  const takeA = (count: number): Item[] => a.slice(atA, (atA += count));
  const takeB = (count: number): Item[] => b.slice(atB, (atB += count));
  for (const { removed: isRemoved, added: isAdded, value } of changes) {
    if (isRemoved) removed = takeA(value.length);
    else if (isAdded) added = takeB(value.length);
    else {
      flush();
      const others = takeB(value.length);
      pairs.push(
        ...takeA(value.length).map((item, n): Pair<Item> => ({ state: 'same', a: item, b: others[n] ?? null })),
      );
    }
  }
  flush();
  return pairs;
}

function pairKinds<Item>(
  removed: readonly Item[],
  added: readonly Item[],
  kindOf: (item: Item) => string,
): Pair<Item>[] {
  const left = [...added];
  const pairs = removed.map((item): Pair<Item> => {
    const found = left.findIndex((other) => kindOf(other) === kindOf(item));
    if (found === -1) return { state: 'only A', a: item, b: null };
    const [b = null] = left.splice(found, 1);
    return { state: 'changed', a: item, b };
  });
  return [...pairs, ...left.map((item): Pair<Item> => ({ state: 'only B', a: null, b: item }))];
}

/** Lines of two texts, in order; `side` says where they are. */
export interface DiffRun {
  side: 'both' | 'A' | 'B';
  text: string;
  lines: number;
}

/**
 * The lines that two texts have in common and those that one of them has; null: the texts are too
 * long or too different for that.
 */
export function diffTexts(a: string, b: string): DiffRun[] | null {
  if (a.length + b.length > DIFF_CHARS_MAX) return null;
  const changes = diffLines(a, b, { timeout: DIFF_MS });
  return (
    changes?.map(({ removed, added, value, count }) => ({
      side: removed ? 'A' : added ? 'B' : 'both',
      text: value,
      lines: count,
    })) ?? null
  );
}

/** A setting of two requests as JSON; a side that does not have it is null. */
export interface ComparedSetting extends Pair<string> {
  name: string;
}

/** These are compared part by part. */
const PARTED: ReadonlySet<string> = new Set(['tools', 'system', 'messages']);

/** The fields of two requests besides their tools, system prompts and messages, by name. */
export function comparedSettings(a: unknown, b: unknown): ComparedSetting[] {
  const [left, right] = [settingsOf(a), settingsOf(b)];
  return [...new Set([...left.keys(), ...right.keys()])].toSorted().map((name) => {
    const [one, other] = [left.get(name) ?? null, right.get(name) ?? null];
    const state = one === null ? 'only B' : other === null ? 'only A' : one === other ? 'same' : 'changed';
    return { name, a: one, b: other, state };
  });
}

function settingsOf(request: unknown): Map<string, string> {
  if (typeof request !== 'object' || request === null) return new Map();
  return new Map(
    Object.entries(request).flatMap(([name, value]) =>
      PARTED.has(name) || value === undefined ? [] : [[name, JSON.stringify(value)]],
    ),
  );
}
