// The arguments of `npm run bench`, and its help.
import { parseArgs } from 'node:util';

export interface BenchArguments {
  /** The letters of the parts to run, in the order of the run. */
  letters: string[];
  isQuick: boolean;
  /** The commit that `--before` compares with. */
  before: string;
  /** The commit that takes the place of this tree in that comparison; null: this tree. */
  after: string | null;
}

export interface PartName {
  letter: string;
  title: string;
}

/**
 * An early version, which did less and started turns without a job of the queue: a yardstick of
 * what a turn may cost.
 */
export const beforeDefault = '511a54e';

/** These take long and have further requirements, so they run only on request. */
const onRequest = ['growth', 'peers', 'plain', 'before'];

/** Reads the arguments; null requests the help. Throws with a sentence that names the fault. */
export function readArguments(given: readonly string[], parts: readonly PartName[]): BenchArguments | null {
  const { values } = parseArgs({
    // The commit after `--before` may be left out, which `parseArgs` does not know.
    args: given.map((each, at) =>
      each === '--before' && (given[at + 1] ?? '-').startsWith('-') ? `--before=${beforeDefault}` : each,
    ),
    options: {
      only: { type: 'string' },
      peers: { type: 'boolean', default: false },
      before: { type: 'string' },
      after: { type: 'string' },
      quick: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return null;
  if (values.after !== undefined && values.before === undefined) {
    throw new Error('--after names the newer commit of a comparison. Name the older one with --before.');
  }
  const chosen = new Set(values.only === undefined ? [] : lettersOf(values.only, parts));
  if (values.peers) chosen.add('peers');
  if (values.before !== undefined) for (const letter of ['plain', 'before']) chosen.add(letter);
  return {
    letters: parts
      .map(({ letter }) => letter)
      .filter((letter) => (chosen.size === 0 ? !onRequest.includes(letter) : chosen.has(letter))),
    isQuick: values.quick,
    before: values.before ?? beforeDefault,
    after: values.after ?? null,
  };
}

function lettersOf(value: string, parts: readonly PartName[]): string[] {
  const letters = value.split(',').map((letter) => letter.trim());
  const unknown = letters.filter((letter) => !parts.some((part) => part.letter === letter));
  if (unknown.length === 0) return letters;
  const known = parts.map(({ letter }) => letter).join(', ');
  throw new Error(`--only names parts that do not exist: "${unknown.join(', ')}". The parts are ${known}.`);
}

/** The help of the command. */
export function formatUsage(parts: readonly PartName[]): string {
  return [
    'npm run bench -- [options]',
    '',
    'Measures Holdfast beside a baseline in the same run, and prints each figure with its bar. Without options it runs all parts but',
    'the last four.',
    '',
    '  --only a,b         runs some parts',
    '  --peers            measures the same turn on Holdfast, on bare BullMQ and on DBOS; installs bench/peers first',
    `  --before [commit]  measures this tree and that commit by turns, ${beforeDefault} if none is given`,
    '  --after <commit>   with --before: compares that newer commit instead of this tree',
    '  --quick            fewer rounds: shows that everything works, and roughly where it stands',
    '',
    'The options --only, --peers and --before can be combined. The exit code is 1 when a bar is missed, 2 when a part fails.',
    '',
    'Parts:',
    ...parts.map(({ letter, title }) => `  ${letter.padEnd(8)}${title}`),
  ].join('\n');
}
