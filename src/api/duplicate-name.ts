// Finds a name that an object of a JSON text has twice. `JSON.parse` keeps the last of the two and says nothing, while a proxy or a log may
// have read the first.

interface Level {
  /** The names of an object so far; null for an array. */
  names: Set<string> | null;
  /** The place of the value that is read: a name, or a number of an array. */
  place: string | number;
}

/** The path of the first duplicate name, e.g. `sender.name`; null: there is none. `text` must be valid JSON. */
export function findDuplicateName(text: string): string | null {
  const levels: Level[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const level = levels.at(-1);
    switch (text.charAt(at)) {
      case '{':
        levels.push({ names: new Set(), place: '' });
        break;
      case '[':
        levels.push({ names: null, place: 0 });
        break;
      case '}':
      case ']':
        levels.pop();
        break;
      case ',':
        if (typeof level?.place === 'number') level.place += 1;
        break;
      case '"': {
        const end = endOfString(text, at);
        if (level?.names && isName(text, end)) {
          level.place = nameOf(text.slice(at, end));
          if (level.names.has(level.place)) return pathOf(levels);
          level.names.add(level.place);
        }
        at = end - 1;
        break;
      }
      default:
    }
  }
  return null;
}

/** The position after the closing quote of the string that opens at `start`. */
function endOfString(text: string, start: number): number {
  let quote = start;
  let backslashes: number;
  do {
    quote = text.indexOf('"', quote + 1);
    backslashes = 0;
    while (text[quote - 1 - backslashes] === '\\') backslashes += 1;
  } while (backslashes % 2 === 1);
  return quote + 1;
}

/** True when a colon follows. */
function isName(text: string, end: number): boolean {
  let at = end;
  while (/\s/.test(text[at] ?? '')) at += 1;
  return text[at] === ':';
}

function nameOf(quoted: string): string {
  return quoted.includes('\\') ? String(JSON.parse(quoted)) : quoted.slice(1, -1);
}

function pathOf(levels: readonly Level[]): string {
  return levels
    .map(({ place }) => (typeof place === 'number' ? `[${place}]` : `.${place}`))
    .join('')
    .replace(/^\./, '');
}
