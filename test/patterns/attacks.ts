// Texts that a pattern is slow on if it is slow on any: beginnings of what it matches, repeated,
// and every character class that it repeats, pumped. They follow from the source of the pattern
// alone, so a new pattern brings its own.

/** One element that a pattern reads: its characters, and whether it can repeat. */
interface Atom {
  samples: string[];
  isRepeated: boolean;
}

/** Tried in this order for a character class. */
const CANDIDATES = Array.from(
  ' a\t\n0A[](){}<>-_.,:;/\\#*~`\'"|&@+=!?$^%x\r\u2028\u00a0é你🙂⚠\u200b\u0301\u2014\u{e0061}\u{1f3f4}\0',
);
const SAMPLES_MAX = 3;
const WALKS_MAX = 24;
const WALK_ATOMS_MAX = 400;
/** The end of a pumped text, so that it is read to its end and then does not match. */
const ENDS = ['', '\u0001', '\n\u0001'];

/** The attacks on a pattern: functions from a length to a text of about that length. */
export function attacksOn(pattern: RegExp): ((length: number) => string)[] {
  const seeds = new Set<string>();
  const pumps = new Map<string, [string, string, string]>();
  for (const walk of walksOf(pattern)) {
    let prefix = '';
    for (const { samples, isRepeated } of walk.slice(0, WALK_ATOMS_MAX)) {
      if (isRepeated) {
        for (const sample of samples)
          for (const end of ENDS) pumps.set(`${prefix}\0${sample}\0${end}`, [prefix, sample, end]);
        const sample = samples[0] ?? '';
        seeds.add(prefix + sample.repeat(40));
      }
      prefix += samples[0] ?? '';
      if (prefix !== '') seeds.add(prefix);
    }
  }
  return [
    ...[...seeds].map((seed) => (length: number) => seed.repeat(Math.ceil(length / seed.length)).slice(0, length)),
    ...[...pumps.values()].map(
      ([before, pumped, end]) =>
        (length: number) =>
          before + pumped.repeat(Math.ceil(length / pumped.length)) + end,
    ),
  ];
}

/** The ways through a pattern, one for each alternative, as far as there are not too many. */
function walksOf({ source, flags }: RegExp): Atom[][] {
  return new Reader(source, flags).alternatives().slice(0, WALKS_MAX);
}

class Reader {
  readonly #source: string;
  readonly #flags: string;
  #at = 0;

  constructor(source: string, flags: string) {
    this.#source = source;
    this.#flags = flags.replaceAll(/[gyd]/g, '');
  }

  alternatives(): Atom[][] {
    const all: Atom[][] = [];
    for (;;) {
      all.push(...this.#sequence());
      if (this.#source[this.#at] !== '|') return all;
      this.#at += 1;
    }
  }

  #sequence(): Atom[][] {
    let walks: Atom[][] = [[]];
    while (this.#at < this.#source.length && !'|)'.includes(this.#source[this.#at] ?? '')) {
      const parts = this.#part();
      walks = walks.flatMap((walk) => parts.map((part) => [...walk, ...part])).slice(0, WALKS_MAX);
    }
    return walks;
  }

  /** A group, a class, an escape or a character, with its quantifier. */
  #part(): Atom[][] {
    const inside = this.#source[this.#at] === '(' ? this.#group() : this.#single();
    const isRepeated = this.#quantifier();
    if (!isRepeated) return inside;
    return inside.map((walk) => {
      const [only] = walk;
      if (walk.length === 1 && only !== undefined) return [{ ...only, isRepeated }];
      const whole = walk.map(({ samples }) => samples[0] ?? '').join('');
      return whole === '' ? walk : [...walk, { samples: [whole], isRepeated }];
    });
  }

  #group(): Atom[][] {
    const opening = /\((?:\?(?:<?[=!]|:|<\w+>))?/y;
    opening.lastIndex = this.#at;
    const [open = '('] = opening.exec(this.#source) ?? [];
    this.#at += open.length;
    const inside = this.alternatives();
    this.#at += 1;
    return open.endsWith('!') ? [[]] : inside;
  }

  #single(): Atom[][] {
    const token = /\[(?:\\.|[^\]\\])*\]|\\[pP]\{[^}]*\}|\\u\{[^}]*\}|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|\\k<\w+>|\\.|[^]/iuy;
    token.lastIndex = this.#at;
    const [text = ''] = token.exec(this.#source) ?? [];
    this.#at += Math.max(1, text.length);
    if (/^(?:\^|\$|\\b|\\B|\\[1-9]|\\k.*)$/.test(text)) return [[]];
    return [[{ samples: samplesOf(text, this.#flags), isRepeated: false }]];
  }

  /** Reads a quantifier; true when it allows more than a few. */
  #quantifier(): boolean {
    const quantifier = /(?:[*+?]|\{(\d+)(,(\d*))?\})\??/y;
    quantifier.lastIndex = this.#at;
    const match = quantifier.exec(this.#source);
    if (match === null) return false;
    this.#at += match[0].length;
    const [text, , hasMax, max] = match;
    return /^[*+]/.test(text) || (hasMax !== undefined && (max === '' || Number(max) > 1));
  }
}

function samplesOf(token: string, flags: string): string[] {
  if (!/^[[\\.]/.test(token)) return [token];
  const pattern = new RegExp(`^${token}$`, flags);
  const found = CANDIDATES.filter((candidate) => pattern.test(candidate));
  if (found.length > 0) return found.slice(0, SAMPLES_MAX);
  for (let code = 0; code < 0x30000; code += 1) {
    const character = String.fromCodePoint(code);
    if (pattern.test(character)) return [character];
  }
  return [];
}
