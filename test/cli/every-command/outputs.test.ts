// What every command prints: in a pipe, at a terminal and with --json, against one service that
// runs, with real objects. The short form has the most common commands. Without a service, and with
// a wrong key: refusals.test.ts.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { readPage } from '../../docs/read-page.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { isLongForm } from '../../servers/test-form.ts';
import { argsOf, matcherOf, textMatcher, type CommandRow } from './command-row.ts';
import { allCommands, OTHER_COMMANDS, ROWS } from './commands.ts';
import { runCommand, type CommandEnd } from './run-command.ts';
import { WRONG_NAMES } from './wrong-names.ts';
import { openScene, type Names, type Scene } from './scene.ts';

const holder = {} as { scene: Scene };
shareAmongTests(async (onEnd) => {
  holder.scene = await openScene();
  onEnd(() => holder.scene.close());
});

test('the table has every command, or the reason why it has not', async () => {
  const isOf = (command: string) => (row: CommandRow) => row.line === command || row.line.startsWith(`${command} `);
  const all = await allCommands();
  const known = all.filter((command) => command in OTHER_COMMANDS !== ROWS.some(isOf(command)));
  expect(known.toSorted()).toEqual(all.toSorted());
  for (const [command, { testedIn }] of Object.entries(OTHER_COMMANDS)) {
    expect(all).toContain(command);
    expect(readPage(testedIn)).toContain(command.split(' ')[0]);
  }
});

interface Run extends CommandEnd {
  names: Names;
}

async function run(row: CommandRow, { isAtTerminal = false, flags = [] as string[] } = {}): Promise<Run> {
  const { scene } = holder;
  const names = { ...scene.names, ...(await row.make?.(scene)) };
  const { during } = row;
  const end = await runCommand({
    args: [...argsOf(row, names), ...flags],
    env: scene.env,
    isAtTerminal,
    ...(during === undefined ? {} : { during: (running) => during(running, names, scene) }),
  });
  return { ...end, names };
}

const CONTROL = /\p{Cc}(?<!\n)/u;
const RELATIVE_TIME = /\b\d+[smhd] ago\b|\bin \d+[smhd]\b/;
/** Colours, and nothing that moves the cursor. `script` writes CRLF. */
const CURSOR = /\p{Cc}(?<![\n\r])(?!\[[0-9]+m)/u;

test('progress is drawn at the terminal, and a file with its stderr has lines', async () => {
  const { env, names, rig } = holder.scene;
  const stderrTo = join(rig.dataDir, 'stderr.txt');
  const args = ['batch', 'watch', names['batch'] ?? ''];
  const { code, stdout } = await runCommand({ args, env, isAtTerminal: true, stderrTo });
  expect({ code, stdout }).toMatchObject({ code: 9, stdout: expect.stringContaining(']') });
  expect(stdout).toContain('100%  2/2');
  const kept = await readFile(stderrTo, 'utf8');
  expect(kept).toContain('ended: partly');
  expect(kept).not.toMatch(CONTROL);
});

test.concurrent.each(isLongForm() ? WRONG_NAMES : [])('$line ends with $exitCode', async ({ line, exitCode, says }) => {
  const { code, stdout, stderr } = await runCommand({ args: line.split(' '), env: holder.scene.env });
  expect({ code, text: stdout + stderr }).toEqual({ code: exitCode, text: expect.stringMatching(says) });
});

const rows = ROWS.filter(({ isCommon }) => isLongForm() || isCommon === true);

describe.concurrent.each(rows)('$line', (row) => {
  const { exitCode = 0, shows, notes = [], isLines = false, isDrawing = false } = row;

  // One after the other: the commands of a row may concern the same object.
  describe('prints', { concurrent: false }, () => {
    test('in a pipe lines without colours and control characters, and times that do not depend on the clock', async () => {
      const { code, stdout, stderr, names } = await run(row);
      expect({ code, stdout, stderr }).toMatchObject({ code: exitCode });
      for (const part of shows) expect(stdout).toEqual(textMatcher(part, names));
      for (const part of notes) expect(stderr).toEqual(textMatcher(part, names));
      expect(stdout + stderr).not.toMatch(CONTROL);
      expect(stdout + stderr).not.toMatch(RELATIVE_TIME);
      if (shows.length > 0) expect(stdout.endsWith('\n')).toBe(true);
    });

    test('at a terminal the same to a person', async () => {
      const { code, stdout, names } = await run(row, { isAtTerminal: true });
      expect({ code, stdout }).toMatchObject({ code: exitCode });
      const text = stripVTControlCharacters(stdout).replaceAll('\r\n', '\n');
      for (const part of [...shows, ...notes]) expect(text).toEqual(textMatcher(part, names));
      if (!isDrawing) expect(stdout).not.toMatch(CURSOR);
    });

    test('with --json only JSON', async () => {
      const { code, stdout, stderr, names } = await run(row, { flags: ['--json'] });
      expect({ code, stdout, stderr }).toMatchObject({ code: exitCode, stderr: '' });
      const lines = stdout.split('\n');
      expect(lines.pop()).toBe('');
      const documents = lines.map((line) => JSON.parse(line) as unknown);
      if (!isLines) expect(documents).toHaveLength(1);
      expect(isLines ? documents : documents[0]).toEqual(matcherOf(row.json, names));
    });
  });
});
