// Commands that need no service: help, usage errors, version, configuration.
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Help } from 'commander';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildProgram } from '../../src/cli/program.ts';
import { FEATURES } from '../../src/features.ts';
import { BIN, runCli, type CliOptions } from './run-cli.ts';

/** A plugin with one tool, `lamp`. */
const LAMP_PLUGIN = `export const tools = [{
  spec: { name: 'lamp', description: 'Switches a lamp.', input_schema: { type: 'object' } },
  summary: 'switches a lamp', isIdempotent: true, run: async () => ({ content: 'on', isError: false }),
}];
`;

/** A start that would create its own database. */
const START_MS_MAX = 240_000;

let cwd: string;

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'holdfast-cli-'));
});
afterEach(() => rm(cwd, { recursive: true }));

const run = (args: string[], options: CliOptions = {}) => runCli(args, { cwd, ...options });

test('--help names every command and the exit codes, on stdout', async () => {
  const result = await run(['--help']);
  expect(result).toMatchObject({ code: 0, stderr: '' });
  const names = 'start migrate demo doctor send sessions turns deliveries events config version scripted-model'.split(
    ' ',
  );
  for (const name of names) expect(result.stdout).toMatch(new RegExp(`^  ${name} `, 'm'));
  expect(result.stdout).toContain('124 wait ended');
});

test('output to a full disk is an error without a stack', () => {
  const { status, stderr } = spawnSync('sh', ['-c', '"$@" > /dev/full', 'sh', process.execPath, BIN, 'version'], {
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: 'holdfast: cannot write to standard output: the disk is full\nFix: write it to another place\n',
  });
});

// This keeps the command line quick: such a module takes longer to load than an empty Node takes to
// start.
test('--help loads no heavy module', async () => {
  const result = await run(['--help'], { env: { NODE_DEBUG: 'esm' } });
  expect(result.stderr).not.toMatch(/node_modules\/(zod|pg|bullmq|fastify|pino|ioredis|@anthropic-ai)\//);
  expect(result.stderr).toMatch(/node_modules\/commander\//);
});

test('every command has a summary, and its line of the help has what it takes', async () => {
  const program = await buildProgram(FEATURES, () => undefined);
  const help = program.createHelp();
  for (const word of help.visibleCommands(program).filter((each) => each.name() !== 'help')) {
    expect(help.subcommandTerm(word)).toBe(new Help().subcommandTerm(word));
    for (const command of [word, ...word.commands]) expect(command.description(), command.name()).toMatch(/\w/);
  }
});

test('no command at all shows the help', async () => {
  expect(await run([])).toMatchObject({ code: 0, stdout: expect.stringContaining('Usage: holdfast') as string });
});

test.each([
  [['sesions'], "unknown command 'sesions'\n(Did you mean sessions?)"],
  [['turns', 'wach'], "unknown command 'wach'\n(Did you mean watch?)"],
  [['send', 'main'], "missing required argument 'text'"],
  [['sessions', 'list', '--limt', '3'], "unknown option '--limt'\n(Did you mean --limit?)"],
  [['sessions', 'list', '--limit', '0'], 'It must be a whole number from 1 to 1000.'],
  [['send', 'main', 'x', '--mode', 'shout'], 'It must be one of "steer", "followup"'],
  [['start', '--roles', 'api,chef'], '"chef" is not a role'],
])('%j is a usage error: exit 2, with a fix', async (args, words) => {
  const result = await run(args);
  expect(result).toMatchObject({ code: 2, stdout: '' });
  expect(result.stderr).toContain(words);
  expect(result.stderr).toMatch(/\nFix: .+\n$/);
});

test('a noun without a verb shows its verbs and exits 2', async () => {
  const result = await run(['sessions']);
  expect(result).toMatchObject({ code: 2, stdout: '' });
  expect(result.stderr).toContain('transcript');
});

test('version prints the versions of its parts', async () => {
  const { stdout } = await run(['version', '--json']);
  expect(JSON.parse(stdout)).toMatchObject({
    version: expect.stringMatching(/^\d+\.\d+\.\d+/) as string,
    node: process.versions.node,
  });
  expect((await run(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('start with a bad configuration exits 78 with every fault listed', async () => {
  await writeFile(join(cwd, 'holdfast.json'), '{lanes: {main: -1}, bogus: true}');
  const result = await run(['start'], { env: { HOLDFAST_PORT: 'x' } });
  expect(result).toMatchObject({ code: 78, stdout: '' });
  for (const path of ['lanes.main', 'bogus', 'HOLDFAST_PORT']) expect(result.stderr).toContain(`\n  ${path} is `);
});

test('config validate exits 3 with every fault, 0 without', async () => {
  await writeFile(join(cwd, 'holdfast.json'), '{lanes: {main: -1}}');
  const bad = await run(['config', 'validate', '--json']);
  expect(bad.code).toBe(3);
  expect(JSON.parse(bad.stderr)).toMatchObject({
    code: 'config_invalid',
    errors: [{ path: 'lanes.main', message: 'is -1; allowed: at least 0' }],
  });
  await writeFile(join(cwd, 'holdfast.json'), '{}');
  expect(await run(['config', 'validate'])).toMatchObject({ code: 0, stdout: `${join(cwd, 'holdfast.json')}: ok\n` });
});

test(
  'config validate and start refuse a policy that names a tool which no plugin provides (G30)',
  { timeout: START_MS_MAX },
  async () => {
    await writeFile(join(cwd, 'lamp.ts'), LAMP_PLUGIN);
    const fileWith = (deny: string[]) =>
      writeFile(join(cwd, 'holdfast.json'), JSON.stringify({ plugins: ['./lamp.ts'], tools: { deny } }));
    await fileWith(['lamp']);
    expect(await run(['config', 'validate'])).toMatchObject({ code: 0 });
    await fileWith(['lmap']);
    const fault = 'tools.deny[0] is "lmap"; allowed: the name of a tool or a pattern with "*" (did you mean "lamp"?)';
    for (const [command, code] of [
      [['config', 'validate'], 3],
      [['start', '--roles', 'worker'], 78],
    ] as const) {
      const refused = await run([...command], { env: { HOLDFAST_PORT: '0' } });
      expect(refused).toMatchObject({ code, stdout: '' });
      expect(refused.stderr).toContain(fault);
      expect(refused.stderr).not.toContain('    at ');
    }
  },
);

test('config show prints every setting and no secret; --sources adds the source of each (G31)', async () => {
  await writeFile(join(cwd, 'holdfast.json'), '{lanes: {main: 9}}');
  const env = { ANTHROPIC_API_KEY: 'sk-ant-canary', DATABASE_URL: 'postgres://u:canary@h/d' };
  const shown = await run(['config', 'show'], { env });
  expect(JSON.parse(shown.stdout)).toMatchObject({
    lanes: { main: 9 },
    runtime: { databaseUrl: 'postgres://u:[secret]@h/d' },
  });
  const sources = await run(['config', 'show', '--sources'], { env });
  expect(sources.stdout).toMatch(/^lanes\.main +9 .*holdfast\.json:1$/m);
  expect(sources.stdout).toMatch(/^runtime\.databaseUrl .* DATABASE_URL$/m);
  expect(shown.stdout + sources.stdout).not.toContain('canary');
});

test.each([
  [['nonsense', '--help'], 'unknown command \'nonsense\'\nFix: run "holdfast --help"'],
  [['turns', 'nonsense', '-h'], 'unknown command \'nonsense\'\nFix: run "holdfast turns --help"'],
])('the help of a command that does not exist is a usage error: %j', async (args, said) => {
  const result = await run(args);
  expect(result).toMatchObject({ code: 2, stdout: '' });
  expect(result.stderr).toContain(said);
});

test('the help of a command that exists is not an error', async () => {
  for (const args of [
    ['turns', '--help'],
    ['turns', 'show', '--help'],
    ['help', 'turns'],
    ['--json', 'turns', '-h'],
  ]) {
    expect(await run(args)).toMatchObject({ code: 0, stderr: '' });
  }
});
