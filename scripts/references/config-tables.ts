// The tables of docs/configuration.md: which keys there are, their types and their defaults come from the schema; what they mean is written by
// people, and stays.
import { configKeys, type ConfigKey } from './config-keys.ts';
import { rowOf } from './schema-fields.ts';

const ROW = /^\| `([^`]+)` \|.*\| (.*?) ?\|$/;
const HEAD = '| key | type | default | meaning |';

/** The page with a row for each key there is: a new key follows the one before it in the schema, without a meaning. */
export function withConfigKeys(page: string): string {
  const keys = configKeys();
  const meanings = new Map<string, string>();
  // Each row of the page is followed by the keys that the page has not.
  const followers = new Map<string, ConfigKey[]>();
  const lines = page.split('\n');
  const isKeyRow = keyRowsOf(lines);
  for (const [at, line] of lines.entries()) {
    const [, key = '', meaning = ''] = (isKeyRow[at] && ROW.exec(line)) || [];
    if (key !== '') meanings.set(key, meaning);
  }
  let last = '';
  for (const each of keys) {
    if (meanings.has(each.key)) last = each.key;
    else followers.set(last, [...(followers.get(last) ?? []), each]);
  }
  const known = new Map(keys.map((each) => [each.key, each]));
  return lines
    .flatMap((line, at) => {
      const key = isKeyRow[at] ? (ROW.exec(line)?.[1] ?? '') : '';
      if (key === '') return [line];
      const own = known.get(key);
      return [...(own === undefined ? [] : [own]), ...(followers.get(key) ?? [])].map((each) =>
        keyRow(each, meanings.get(each.key) ?? ''),
      );
    })
    .join('\n');
}

function keyRow({ key, type, default: value }: ConfigKey, meaning: string): string {
  return rowOf([`\`${key}\``, type, value === 'none' ? value : `\`${value}\``, meaning]);
}

/** Which lines are rows of the tables of keys. */
function keyRowsOf(lines: string[]): boolean[] {
  let isInside = false;
  return lines.map((line) => {
    if (line === HEAD) isInside = true;
    else if (!line.startsWith('|')) isInside = false;
    return isInside && ROW.test(line);
  });
}
