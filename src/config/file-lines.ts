// On which line of the configuration file each value is. The JSON5 parser does not say so; this reads a text that it has accepted, and
// therefore only finds tokens and checks nothing.
import JSON5 from 'json5';

const SPACE = /(?:\s|\/\/[^\n\r]*|\/\*[\s\S]*?\*\/)*/y;
const TOKEN = /[{}[\]:,]|"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|[^\s{}[\]:,"'/]+/y;
const LINE_END = /\r\n|\n|\r/g;

/** The line of each value, from 1, by its path (`agents.list[0].id`) as the file writes its keys. The text is valid JSON5. */
export function fileLines(text: string): ReadonlyMap<string, number> {
  return readPlaces(text).lines;
}

/** Where the fields of each object begin, as an offset, by its path; that of the whole file is empty. The text is valid JSON5. */
export function objectStarts(text: string): ReadonlyMap<string, number> {
  return readPlaces(text).starts;
}

function readPlaces(text: string) {
  const lines = new Map<string, number>();
  const starts = new Map<string, number>();
  let at = 0;
  let line = 1;

  function pass(pattern: RegExp): string {
    pattern.lastIndex = at;
    const passed = pattern.exec(text)?.[0] ?? '';
    at += passed.length;
    return passed;
  }

  /** The next token, with the line that it begins on; empty at the end. */
  function next(): { token: string; line: number } {
    line += pass(SPACE).match(LINE_END)?.length ?? 0;
    const token = pass(TOKEN);
    const begin = line;
    line += token.match(LINE_END)?.length ?? 0;
    return { token, line: begin };
  }

  function readValue(token: string, path: string): void {
    if (token === '{') {
      starts.set(path, at);
      readObject(path);
    } else if (token === '[') readList(path);
  }

  function readObject(path: string): void {
    for (let key = next(); key.token !== '}' && key.token !== ''; key = next()) {
      if (key.token === ',') continue;
      const child = path === '' ? unquoteName(key.token) : `${path}.${unquoteName(key.token)}`;
      lines.set(child, key.line);
      next();
      readValue(next().token, child);
    }
  }

  function readList(path: string): void {
    let n = 0;
    for (let item = next(); item.token !== ']' && item.token !== ''; item = next()) {
      if (item.token === ',') continue;
      lines.set(`${path}[${n}]`, item.line);
      readValue(item.token, `${path}[${n}]`);
      n += 1;
    }
  }

  readValue(next().token, '');
  return { lines, starts };
}

/** A key without its quotes and escapes. */
function unquoteName(token: string): string {
  return Object.keys(JSON5.parse<object>(`{${token}:0}`))[0] ?? token;
}
