// The page of the features: what each is, from the header of its declaration, and where it stands.
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { FEATURES } from '../../src/features.ts';

const ROOT = resolve(import.meta.dirname, '../..');

export function featuresReference(): string {
  const parts = FEATURES.map(({ name }) => {
    const folder = `src/features/${name}`;
    const files = globSync('**/*.ts', { cwd: join(ROOT, folder) }).toSorted();
    const lines = files.reduce(
      (sum, file) => sum + readFileSync(join(ROOT, folder, file), 'utf8').split('\n').length - 1,
      0,
    );
    return `## ${name}\n\n${headerOf(`${folder}/feature.ts`)}\n\n\`${folder}/\`, ${lines.toLocaleString('en')} lines: ${files.map((file) => `\`${file}\``).join(', ')}\n`;
  });
  return `# Features\n\nWhat stands beside the kernel ([internals](../internals.md)), in the order of \`src/features.ts\`. Without its line there, a feature is not there.\n\n${parts.join('\n')}`;
}

/** The comment with which a file begins, as one paragraph. */
function headerOf(path: string): string {
  const [header = ''] = /^(?:\/\/.*\n)+/.exec(readFileSync(join(ROOT, path), 'utf8')) ?? [];
  return header
    .replaceAll(/^\/\/ ?/gm, '')
    .trim()
    .replaceAll('\n', ' ');
}
