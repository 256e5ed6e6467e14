// Every regular expression of the source: the literals as they stand in the files, and those of the
// core that are put together when its modules are loaded.
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';

export interface FoundPattern {
  where: string;
  pattern: RegExp;
}

const ROOT = resolve(import.meta.dirname, '../..');

/** The literals in the files of these folders. */
export function literalPatterns(folders: readonly string[]): FoundPattern[] {
  return globSync(`{${folders.join(',')}}/**/*.ts`, { cwd: ROOT }).flatMap((file) => {
    const source = readFileSync(join(ROOT, file), 'utf8');
    const found: FoundPattern[] = [];
    const visitor = new Visitor({
      Literal(node) {
        if (!('regex' in node)) return;
        const line = source.slice(0, node.start).split('\n').length;
        found.push({ where: `${file}:${line}`, pattern: new RegExp(node.regex.pattern, node.regex.flags) });
      },
    });
    visitor.visit(parseSync(file, source).program);
    return found;
  });
}

/**
 * The patterns that the modules of the core make with `new RegExp` when they are loaded. None must
 * have been loaded before.
 */
export async function builtPatterns(): Promise<FoundPattern[]> {
  const found: FoundPattern[] = [];
  const native = globalThis.RegExp;
  let file = '';
  globalThis.RegExp = new Proxy(native, {
    construct(target, parameters: ConstructorParameters<typeof RegExp>) {
      const pattern = new target(...parameters);
      found.push({ where: `made while ${file} was loaded`, pattern });
      return pattern;
    },
  });
  try {
    for (file of globSync('src/{core,prompt,history,compaction}/**/*.ts', { cwd: ROOT }))
      await import(join(ROOT, file));
  } finally {
    globalThis.RegExp = native;
  }
  return found;
}
