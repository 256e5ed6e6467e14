// Goal: no text that comes from outside can make a regular expression read it more than a bounded
// number of times. Method: each pattern is fed beginnings of its own matches, repeated, and each of
// its repetitions, pumped. The time that a search takes is compared with a plain loop over the same
// text. The text grows step by step, so a slow pattern fails within a second.
import { expect, test } from 'vitest';
import { attacksOn } from './patterns/attacks.ts';
import { builtPatterns, literalPatterns, type FoundPattern } from './patterns/find-patterns.ts';

/**
 * The folders that see foreign text. Left out are configuration, command line and the embedded
 * server, which see the operator's.
 */
// prettier-ignore
const FOLDERS = ['src/core', 'src/prompt', 'src/history', 'src/compaction', 'src/kernel', 'src/features', 'src/database', 'src/model', 'src/api', 'src/tools', 'src/plugins', 'src/images', 'scripted-model', 'scripted-platform', 'workers', 'jobs'];

/** Patterns that are slower than this allows by a constant factor, and why that is harmless. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'src/tools/extract-page-thread.ts':
    'runs in a thread of its own with a deadline; every repetition is bounded by 2,000',
};

const SHORT = 8_192;
const MEDIUM = 65_536;
const LONG = 1_048_576;
/**
 * From the second on, each is twice the one before: a slow pattern that passes one of them fails
 * the next within seconds, not after minutes.
 */
const LENGTHS = [SHORT, MEDIUM, 131_072, 262_144, 524_288, LONG];
/**
 * So many times as long as the loop may a pattern take. Matching a million times over costs about
 * 200.
 */
const FACTOR = 1_500;
const MEASUREMENTS_MAX = 3;
/** So many of the attacks that are slowest on a short text are tried with a longer one. */
const MEDIUM_MAX = 5;

let sum = 0;

function scan(text: string): void {
  for (let at = 0; at < text.length; at += 1) sum = (sum + text.charCodeAt(at)) | 0;
}

/** The loop runs this often before it is measured, so that it is compiled by then. */
const WARM_UP_SCANS = 20;
const MEASURED_SCANS = 20;

function search(pattern: RegExp, text: string): void {
  pattern.lastIndex = 0;
  if (pattern.global) for (const match of text.matchAll(pattern)) sum = (sum + match.index) | 0;
  else pattern.exec(text);
}

/** Processor time of this thread in microseconds, which other programs do not lengthen. */
function timeOf(run: () => void): number {
  const before = process.threadCpuUsage();
  run();
  const { user, system } = process.threadCpuUsage(before);
  return user + system;
}

function scanTimes(count: number): void {
  const text = ' '.repeat(LONG);
  for (let done = 0; done < count; done += 1) scan(text);
}

scanTimes(WARM_UP_SCANS);
const scanTimePerCharacter = timeOf(() => scanTimes(MEASURED_SCANS)) / (MEASURED_SCANS * LONG);

/**
 * The time of a search divided by the time of the loop over the same text. The fastest of a few
 * searches counts: the first compiles the pattern.
 */
function slownessOf(run: () => void, text: string): number {
  const scanned = scanTimePerCharacter * text.length;
  let searched = Infinity;
  for (let count = 0; count < MEASUREMENTS_MAX && searched > FACTOR * scanned; count += 1) {
    searched = Math.min(searched, timeOf(run));
    // Compiling the pattern does not explain this.
    if (searched > 4 * FACTOR * scanned) break;
  }
  return searched / scanned;
}

/** What is wrong with a pattern; null: nothing. */
function faultOf({ where, pattern }: FoundPattern): string | null {
  const slownessAt = (attack: (length: number) => string, length: number): number => {
    const text = attack(length);
    return slownessOf(() => search(pattern, text), text);
  };
  let attacks = attacksOn(pattern).map((attack) => ({ attack, slowness: 0 }));
  for (const length of LENGTHS) {
    const countMax = length === SHORT ? Infinity : length === MEDIUM ? MEDIUM_MAX : 1;
    const tried = [];
    for (const { attack } of attacks.slice(0, countMax)) {
      const slowness = slownessAt(attack, length);
      if (slowness > FACTOR) return `${where} ${pattern} on ${JSON.stringify(attack(80))}`;
      tried.push({ attack, slowness });
    }
    attacks = tried.toSorted((one, other) => other.slowness - one.slowness);
  }
  return null;
}

test('the attacks find a pattern that reads a text again from each of its characters', { timeout: 600_000 }, () => {
  const slow = [/\s+$/, /\((?:metadata,[^\n)]*)\):/g, /<!--[^]*?-->/g, /^[^\S\n]*system:/gm];
  expect(slow.filter((pattern) => faultOf({ where: 'here', pattern }) === null)).toEqual([]);
  const quick = [/(?<!\s)\s+$/, /\[system\]/g, /^[^\S\n\r\u2028\u2029]*system:/gm, /<[^<>]{0,200}>/g];
  expect(quick.filter((pattern) => faultOf({ where: 'here', pattern }) !== null)).toEqual([]);
});

test(
  'every pattern that sees foreign text searches 1 MB of its own beginnings in linear time',
  { timeout: 600_000 },
  async () => {
    const patterns = [...(await builtPatterns()), ...literalPatterns(FOLDERS)];
    // The labels of the prompt code are put together; were they missed, this would prove little.
    expect(patterns.some(({ pattern }) => pattern.source.includes('metadata,'))).toBe(true);
    expect(patterns.length).toBeGreaterThan(150);
    const judged = patterns.filter(({ where }) => !Object.keys(EXCEPTIONS).some((file) => where.startsWith(file)));
    expect(judged.map(faultOf).filter((fault) => fault !== null)).toEqual([]);
  },
);
