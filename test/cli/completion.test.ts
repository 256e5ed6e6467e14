// Completion: the offers for words, and that bash shows them.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { completeWords } from '../../src/cli/commands/completion.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { FEATURES } from '../../src/features.ts';
import { ADMIN_KEY } from '../api/api-rig.ts';
import { useApiRig } from '../api/use-api-rig.ts';
import { BIN, runCli } from './run-cli.ts';

const holder = useApiRig();
const program = await buildProgram(FEATURES, () => undefined);

describe('the words of a command line', () => {
  const offered = (...words: string[]) => {
    const { offers, idKind } = completeWords(program, words);
    return { values: offers.map(({ value }) => value), idKind };
  };

  test.each([
    [['tur'], ['turns']],
    [
      ['turns', 'r'],
      ['request', 'retry'],
    ],
    [['turns', 'stop', '--js'], ['--json']],
    [
      ['send', 'main', 'x', '--mode', 'steer'],
      ['steer', 'steer-backlog'],
    ],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['sessions', 'fork', 'a', 'b', 'c'], []],
    [['__comp'], []],
  ])('%j offers %j', (words, values) => {
    expect(offered(...words)).toEqual({ values, idKind: null });
  });

  test.each([
    [['chat', 'ag'], 'session'],
    [['turns', 'list', '--session', ''], 'session'],
    [['--url', 'http://x', 'turns', 'show', ''], 'turn'],
    [['batch', 'show', '0'], 'batch'],
    [['cron', 'run', ''], 'cron'],
  ])('%j asks the service for the ids of a %s', (words, idKind) => {
    expect(offered(...words)).toEqual({ values: [], idKind });
  });
});

async function bash(script: string, env: Record<string, string>): Promise<string> {
  const bin = await mkdtemp(join(tmpdir(), 'holdfast-bin-'));
  onTestFinished(() => rm(bin, { recursive: true }));
  await symlink(BIN, join(bin, 'holdfast'));
  await writeFile(join(bin, 'script'), script);
  const path = [bin, process.env['PATH'] ?? ''].join(delimiter);
  const { stdout } = await promisify(execFile)('bash', [join(bin, 'script')], {
    env: { HOME: bin, PATH: path, ...env },
  });
  return stdout;
}

/** The offers of bash for a line, one per line. */
const complete = (line: string): string => `
source <(holdfast completion bash)
COMP_LINE=${JSON.stringify(line)} COMP_POINT=${line.length}
_holdfast
printf '%s\\n' "\${COMPREPLY[@]}"
`;

test('bash offers commands, and ids with colons as it needs them', async () => {
  const { rig } = holder;
  await rig.post('/v1/sessions/completed:one/messages', { text: 'x' });
  const env = { HOLDFAST_URL: await rig.listen(), HOLDFAST_API_KEY: ADMIN_KEY };
  expect(await bash(complete('holdfast tur'), env)).toBe('turns\n');
  // The service has 200 ms to answer: on a busy machine a person presses Tab again.
  await expect.poll(() => bash(complete('holdfast sessions show comp'), env)).toBe('completed:one\n');
  await expect.poll(() => bash(complete('holdfast sessions show completed:o'), env)).toBe('one\n');
});

test('a service that is away, or a wrong key, offers nothing and says nothing', async () => {
  const away = { HOLDFAST_URL: 'http://127.0.0.1:9', HOLDFAST_API_KEY: 'x' };
  const wrong = { HOLDFAST_URL: await holder.rig.listen(), HOLDFAST_API_KEY: 'x' };
  for (const env of [away, wrong])
    expect(await runCli(['__complete', '--', 'sessions', 'show', ''], { env })).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
});
