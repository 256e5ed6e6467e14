// `npm run weight` prints the lines of TypeScript of the service by folder and feature, the largest
// first, and below them the lines of code alone, which test/weight.test.ts holds; `npm run weight
// -- --write` stores these. Code that is generated is not counted.
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseSync } from 'oxc-parser';

const ROOT = resolve(import.meta.dirname, '..');
const STORED = resolve(ROOT, 'scripts/weight.json');

/**
 * Lines of code without comments and blank lines, and the files that one plain message passes
 * through (scripts/walk.ts).
 */
export interface Weight {
  serviceLines: number;
  dashboardLines: number;
  walkFiles: number;
}

export function storedWeight(): Weight {
  return JSON.parse(readFileSync(STORED, 'utf8')) as Weight;
}

export function storeWeight(counted: Partial<Weight>): void {
  writeFileSync(STORED, `${JSON.stringify({ ...storedWeight(), ...counted }, null, 2)}\n`);
}

export function countLines(): Omit<Weight, 'walkFiles'> {
  return {
    serviceLines: codeLinesOf(serviceFiles()),
    dashboardLines: codeLinesOf(filesOf('web/src/**/*.{ts,tsx,css}')),
  };
}

/** The lines on which something other than a comment or white space stands. */
export function codeLines(path: string, source: string): number {
  const comments = path.endsWith('.css')
    ? Array.from(source.matchAll(/\/\*[\s\S]*?\*\//g), ({ 0: text, index }) => ({
        start: index,
        end: index + text.length,
      }))
    : parseSync(path, source).comments;
  const code = comments.reduceRight(
    (left, { start, end }) => left.slice(0, start) + left.slice(start, end).replace(/[^\n]/g, ' ') + left.slice(end),
    source,
  );
  return code.split('\n').filter((line) => line.trim() !== '').length;
}

function codeLinesOf(paths: string[]): number {
  return paths.reduce((sum, path) => sum + codeLines(path, read(path)), 0);
}

function serviceFiles(): string[] {
  return filesOf('{src,workers,jobs}/**/*.ts');
}

function filesOf(pattern: string): string[] {
  return globSync(pattern, { cwd: ROOT, exclude: ['src/client/generated'] });
}

function read(path: string): string {
  return readFileSync(resolve(ROOT, path), 'utf8');
}

function printWeight(): void {
  const lines = new Map<string, number>();
  for (const path of serviceFiles()) {
    // Files that stand in `src` itself are one room.
    const room = /^(?:src\/features\/[^/]+\/|src\/[^/]+\/|\w+\/)/.exec(path)?.[0] ?? path;
    lines.set(room, (lines.get(room) ?? 0) + read(path).split('\n').length - 1);
  }
  const rooms = [...lines].toSorted(([, one], [, other]) => other - one);
  const sum = rooms.reduce((total, [, count]) => total + count, 0);
  const { serviceLines, dashboardLines } = countLines();
  const sums = { all: sum, 'all, code alone': serviceLines, 'web/src/, code alone': dashboardLines };
  for (const [room, count] of [...rooms, ...Object.entries(sums)]) {
    process.stdout.write(`${count.toLocaleString('en').padStart(7)}  ${room}\n`);
  }
}

if (import.meta.main) {
  printWeight();
  if (process.argv.includes('--write')) storeWeight(countLines());
}
