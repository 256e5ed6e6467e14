// `npm run weight` prints the lines of TypeScript of the service by folder and feature, the largest first. Code that is generated is not counted.
import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '..');

const lines = new Map<string, number>();
for (const path of globSync('{src,workers,jobs}/**/*.ts', { cwd: ROOT, exclude: ['src/client/generated'] })) {
  // Files that stand in `src` itself are one room.
  const room = /^(?:src\/features\/[^/]+\/|src\/[^/]+\/|\w+\/)/.exec(path)?.[0] ?? path;
  lines.set(room, (lines.get(room) ?? 0) + readFileSync(resolve(ROOT, path), 'utf8').split('\n').length - 1);
}
const rooms = [...lines].toSorted(([, one], [, other]) => other - one);
const sum = rooms.reduce((total, [, count]) => total + count, 0);
for (const [room, count] of [...rooms, ['all', sum] as const]) {
  process.stdout.write(`${count.toLocaleString('en').padStart(7)}  ${room}\n`);
}
