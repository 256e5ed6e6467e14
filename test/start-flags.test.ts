// Every way to start a long-lived process keeps SIGUSR1 from opening Node's debugger: each local user could run code through it.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');

test.each(['start', 'demo', 'dev'])('npm run %s starts Node with --disable-sigusr1', (script) => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  expect(scripts[script]).toMatch(/\bnode --disable-sigusr1 /);
});

test('the image starts Node with --disable-sigusr1', () => {
  const commands = read('Dockerfile').match(/\["node".*\]/g) ?? [];
  expect(commands.map((command) => (JSON.parse(command) as string[])[1])).toEqual([
    '--disable-sigusr1',
    '--disable-sigusr1',
  ]);
});

test('the image starts Node with the flags of npm start', () => {
  const flagsOf = (text: string): string[] => text.match(/--(?:disable|max|heap)[a-z0-9=-]+/g) ?? [];
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  expect(flagsOf(/^ENTRYPOINT .*$/m.exec(read('Dockerfile'))?.[0] ?? '')).toEqual(flagsOf(scripts['start'] ?? ''));
});

test('no service of the compose file starts Node past the entry point of the image', () => {
  expect(read('docker-compose.yml')).not.toMatch(/entrypoint:|'node'|"node"/);
});
