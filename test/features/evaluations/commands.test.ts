// `holdfast datasets` and `holdfast eval` against a real API, with turns and rounds in this process.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ADMIN_KEY } from '../../api/api-rig.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { runCli, type CliResult } from '../../cli/run-cli.ts';
import { evaluationRig } from './evaluation-rig.ts';

const shared = useApiRig();
let folder = '';
let made = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-eval-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const fresh = (name: string): string => `${name}-${(made += 1)}`;

async function holdfast(...args: string[]): Promise<CliResult> {
  const url = await shared.rig.listen();
  return runCli(args, { env: { HOLDFAST_URL: url, HOLDFAST_API_KEY: ADMIN_KEY } });
}

async function write(name: string, text: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
}

const linesOf = (cases: readonly object[]): string => cases.map((one) => `${JSON.stringify(one)}\n`).join('');

/** A model that answers `yes`, and as the model `scripted-2` what is given. */
const asked = (n: number, other: string): string =>
  `Is order ${n} paid? [[for: scripted-2]] [[reply: ${other}]] [[for: others]] [[reply: yes]]`;

/** The files of an evaluation of cases. Returns its own. */
async function evaluationFile(name: string, cases: readonly object[], more: object = {}): Promise<string> {
  await write(`${name}.jsonl`, linesOf(cases));
  const request = {
    dataset: { name, file: `${name}.jsonl` },
    candidates: [{ name: 'now' }, { name: 'new', model: 'anthropic/scripted-2' }],
    graders: [{ type: 'equal' }],
    repeats: 1,
    ...more,
  };
  return write(`${name}.json5`, `// A comment.\n${JSON.stringify(request)}`);
}

/** Runs rounds and turns until a command has ended. */
async function working<Result>(command: Promise<Result>): Promise<Result> {
  const { batches, round } = evaluationRig(shared.rig);
  let isOver = false;
  const over = command.finally(() => (isOver = true));
  while (!isOver) {
    await round();
    await batches.round();
    await batches.workAll();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return over;
}

test('a data set is made, given turns by conditions and cases by a file, shown and deleted', async () => {
  const name = fresh('refunds');
  const { record } = evaluationRig(shared.rig);
  const disliked = await record(fresh('asks'), 'Hello. [[reply: no]]', { tags: { kind: 'refund', of: name } });
  await record(fresh('asks'), 'Hello. [[reply: yes]]', { tags: { kind: 'refund', of: name } });
  await holdfast('scores', 'set', disliked.id, 'thumb', 'false');
  expect((await holdfast('datasets', 'create', name)).code).toBe(0);
  const conditions = ['--filter', 'score=thumb:false', 'since=1h', 'tag=kind:refund', `tag=of:${name}`];
  expect((await holdfast('datasets', 'add', name, ...conditions)).stdout).toBe('1 item added; version 1\n');
  expect((await holdfast('datasets', 'add', name, ...conditions)).stdout).toBe('0 items added; version 1\n');
  const file = await write(`${name}.txt`, linesOf([{ input: 'one' }, { input: 'two' }]));
  expect((await holdfast('datasets', 'add', name, '--file', file)).stdout).toBe('2 items added; version 2\n');
  expect((await holdfast('datasets', 'items', name)).stdout).toContain(disliked.id);
  expect((await holdfast('datasets', 'show', name)).stdout).toContain('3, 3 ready');
  expect((await holdfast('datasets', 'delete', name, '--dry-run')).stdout).toContain('with 3 items');
  expect((await holdfast('datasets', 'delete', name, '--yes')).code).toBe(0);
  expect((await holdfast('datasets', 'show', name)).code).toBe(5);
});

test.each([
  [['--filter', 'state=failed'], 'is not a condition'],
  [['--filter', 'status=failed', 'status=aborted'], 'was there before'],
  [['--filter', 'since=yesterday'], 'is not a time'],
  [['--filter', 'status=failed', '--turns', 'x'], 'one of --turns, --filter and --file'],
  [[], 'one of --turns, --filter and --file'],
  [['--file', '/nowhere/cases.jsonl'], 'there is no such file'],
])('add %j is refused before anything is sent', async (args, says) => {
  const end = await holdfast('datasets', 'add', 'nothing', ...args);
  expect([end.code, end.stderr]).toEqual([2, expect.stringContaining(says)]);
});

describe('run', () => {
  test('uploads a file once, and each other state of it as a version that runs alone', async () => {
    const name = fresh('cases');
    const cases = [1, 2].map((n) => ({ input: asked(n, 'yes'), expected: 'yes' }));
    const first = await working(holdfast('eval', 'run', await evaluationFile(name, cases), '--json'));
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(first.stdout)).toMatchObject({ dataset: { version: 1 }, counts: { items: 2, runs: 4 } });
    const again = await working(holdfast('eval', 'run', await evaluationFile(name, cases)));
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining(`${name}, version 1`)]);
    expect(again.stderr).not.toContain('uploaded');
    const changed = await working(holdfast('eval', 'run', await evaluationFile(name, cases.slice(1))));
    expect(changed.stderr).toContain(`uploaded 1 case to ${name}, version 2`);
    expect(changed.stdout).toMatch(/items +1\n/);
    await holdfast('datasets', 'delete', name, '--yes');
    const remade = await holdfast('eval', 'run', await evaluationFile(name, cases), '--no-wait');
    expect([remade.code, remade.stderr]).toEqual([0, `uploaded 2 cases to ${name}, version 1\n`]);
  });

  test('ends with 9 under a threshold, and writes the reports first', async () => {
    const cases = [1, 2, 3].map((n) => ({ input: asked(n, n === 1 ? 'no' : 'yes'), expected: 'yes' }));
    const file = await evaluationFile(fresh('worse'), cases);
    const [junit, markdown] = [join(folder, 'out.xml'), join(folder, 'out.md')];
    const met = await working(
      holdfast(
        'eval',
        'run',
        file,
        '--fail-under',
        '0.6',
        '--max-worse',
        '1',
        '--junit',
        junit,
        '--markdown',
        markdown,
      ),
    );
    expect(met.code).toBe(0);
    expect(met.stdout).toMatch(/^now +100 %/m);
    expect(met.stdout).toMatch(/^new +66.6 %/m);
    expect(met.stdout).toMatch(/#1 {2}now passed, new failed[^\n]*\n {4}run 1 answered\. equal failed/);
    expect(await readFile(junit, 'utf8')).toContain('<testsuite name="new" tests="3" failures="1"');
    expect(await readFile(markdown, 'utf8')).toContain('<code>new</code>');
    await rm(junit);
    const failed = await working(holdfast('eval', 'run', file, '--fail-under', '0.7', '--junit', junit));
    expect([failed.code, failed.stderr]).toEqual([
      9,
      expect.stringMatching(/new passes 66.6 % of items; expected at least 70 %\nFix: .*holdfast eval show/),
    ]);
    expect(await readFile(junit, 'utf8')).toContain('</testsuites>');
    const id = /^id +(\S+)/m.exec(met.stdout)?.[1] ?? '';
    const shown = await holdfast('eval', 'show', id, '--max-worse', '0', '--json');
    expect([shown.code, JSON.parse(shown.stderr)]).toEqual([9, expect.objectContaining({ code: 'under_threshold' })]);
  });

  test('ends with 8 at a cost cap, and says how to continue', async () => {
    const file = await evaluationFile(fresh('capped'), [{ input: 'x', expected: 'y' }], { costCap: 0 });
    const capped = await working(holdfast('eval', 'run', file));
    const id = /^id +(\S+)/m.exec(capped.stdout)?.[1] ?? '';
    expect([capped.code, capped.stderr]).toEqual([8, expect.stringContaining(`holdfast eval resume ${id}`)]);
    expect((await holdfast('eval', 'cancel', id)).code).toBe(0);
    expect((await working(holdfast('eval', 'show', id, '--wait'))).code).toBe(8);
    expect((await holdfast('eval', 'delete', id)).code).toBe(0);
  });

  test('with --no-wait prints the id, and show follows it', async () => {
    const file = await evaluationFile(fresh('later'), [{ input: asked(1, 'yes'), expected: 'yes' }]);
    const id = (await holdfast('eval', 'run', file, '--no-wait')).stdout.trim();
    expect((await holdfast('eval', 'show', id)).stdout).toMatch(/status +preparing/);
    expect((await holdfast('eval', 'show', id, '--fail-under', '0')).code).toBe(8);
    expect((await working(holdfast('eval', 'show', id, '--wait'))).stdout).toMatch(/^100% {2}2\/2 runs/m);
    expect((await holdfast('eval', 'list')).stdout).toContain(id);
  });

  test('refuses what it could do only at the end before it starts', async () => {
    const file = await evaluationFile(fresh('early'), [{ input: asked(1, 'yes'), expected: 'yes' }]);
    for (const more of [
      ['--no-wait', '--fail-under', '0.5'],
      ['--junit', join(folder, 'nowhere', 'report.xml')],
    ]) {
      expect((await holdfast('eval', 'run', file, ...more)).code).toBe(2);
    }
    expect((await holdfast('eval', 'list', '--dataset', `early-${made}`)).stdout).not.toContain('early');
  });

  test('takes a system prompt from a file', async () => {
    const prompt = await write('prompt.md', 'Be short.');
    const file = await evaluationFile(fresh('prompt'), [{ input: asked(1, 'yes'), expected: 'yes' }], {
      candidates: [{ name: 'short', systemPromptFile: 'prompt.md' }],
    });
    const id = (await holdfast('eval', 'run', file, '--no-wait')).stdout.trim();
    const { candidates } = JSON.parse((await holdfast('eval', 'show', id, '--json')).stdout);
    expect(candidates).toEqual([{ name: 'short', systemPrompt: await readFile(prompt, 'utf8') }]);
  });

  test.each([
    ['not JSON5', '{', 'is not JSON5'],
    ['a list', '[]', 'it is not an object'],
    ['a data set without a file', '{dataset: {name: "x"}}', 'without a name and a file'],
    ['cases that are not there', '{dataset: {name: "x", file: "none.jsonl"}}', 'none.jsonl: there is no such file'],
    ['a case that is not JSON', '{dataset: {name: "x", file: "bad.txt"}}', 'line 2 is not JSON'],
    ['an unknown field', '{dataset: "x", candidate: []}', 'candidate'],
  ])('refuses a file that is %s', async (_, text, says) => {
    await write('bad.txt', '{"input": "one"}\nno\n');
    const end = await holdfast('eval', 'run', await write(`${fresh('bad')}.json5`, text));
    expect([end.code, end.stderr]).toEqual([2, expect.stringContaining(says)]);
  });

  test('refuses a threshold against a baseline that is not there, and other settings of a data set', async () => {
    const name = fresh('alone');
    const cases = [{ input: 'one' }];
    const alone = await evaluationFile(name, cases, { candidates: [{ name: 'now' }] });
    const refused = await holdfast('eval', 'run', alone, '--max-worse', '1');
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('needs two candidates')]);
    expect((await holdfast('eval', 'run', alone, '--no-wait')).code).toBe(0);
    const other = { dataset: { name, file: `${name}.jsonl`, heldBackPercent: 20 } };
    const changed = await holdfast('eval', 'run', await evaluationFile(name, cases, other), '--no-wait');
    expect([changed.code, changed.stderr]).toEqual([6, expect.stringContaining('heldBackPercent 0')]);
  });
});
