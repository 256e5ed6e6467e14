// What the scripted model remembers between calls: which errors it has already given, and with
// which prompt each turn began. Everything else follows from the request alone. Bounded: the oldest
// entry is dropped.
import type { ScriptFault } from './parse-script.ts';

const ITEMS_MAX = 10_000;

export class ScriptMemory {
  readonly #given = new Map<string, number>();
  readonly #firstKeys = new Map<string, string>();
  readonly #calls = new Map<string, number>();

  /**
   * The fault that is due at this place (a key of turn and position), of those that apply to the
   * call, counting it as given; null when the answer is due.
   */
  takeFault(
    place: string,
    faults: readonly ScriptFault[],
    applies: (fault: ScriptFault) => boolean,
  ): ScriptFault | null {
    for (const [index, fault] of faults.entries()) {
      if (!applies(fault)) continue;
      const key = `${place}|${index}`;
      const given = this.#given.get(key) ?? 0;
      if (given >= fault.times) continue;
      keep(this.#given, key, given + 1);
      return fault;
    }
    return null;
  }

  /** Remembers which answer of its script made a call. */
  rememberCall(call: string, position: number): void {
    keep(this.#calls, call, position);
  }

  /** Which answer of its script made a call; null when that is not known. */
  positionOfCall(call: string): number | null {
    return this.#calls.get(call) ?? null;
  }

  /** The key of the prompt with which a turn began; `current` when this is its first call. */
  firstKeyOf(turn: string, current: () => string): string {
    const known = this.#firstKeys.get(turn);
    if (known !== undefined) return known;
    const key = current();
    keep(this.#firstKeys, turn, key);
    return key;
  }
}

function keep<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value);
  if (map.size <= ITEMS_MAX) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    break;
  }
}
