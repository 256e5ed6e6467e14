// docs/cli.md lists every command with its arguments, and every option with its default.
import { expect, test } from 'vitest';
import { EXIT } from '../src/cli/cli-error.ts';
import { cliCommands, globalOptions } from './docs/cli-commands.ts';
import { readPage, tableRows } from './docs/read-page.ts';

const page = readPage('docs/cli.md');
const commands = cliCommands();

test('every command is a row with its arguments, and no row names another command', () => {
  const rows = tableRows(page, ['command', 'does']).map(([command]) => command ?? '');
  expect(rows.toSorted()).toEqual(commands.map(({ usage }) => `\`${usage.replaceAll('|', '\\|')}\``).toSorted());
});

test('every option of a command is a row with its default, and no row names another option', () => {
  const rows = tableRows(page, ['of', 'option', 'default', 'meaning']).flatMap(([of = '', option, value]) =>
    of.split(', ').map((command) => `${command} ${option} ${value}`),
  );
  const options = commands.flatMap(({ usage, options: own }) =>
    own.map(
      (option) => `\`${usage.replace(/ [<[].*/, '').replaceAll('|', '\\|')}\` \`${option.flags}\` ${option.default}`,
    ),
  );
  expect(rows.toSorted()).toEqual(options.toSorted());
});

test('every option of all commands is a row', () => {
  const rows = tableRows(page, ['option', 'meaning']).map(([option]) => option ?? '');
  expect(rows.toSorted()).toEqual(
    globalOptions()
      .map(({ flags }) => `\`${flags}\``)
      .toSorted(),
  );
});

test('every exit code is a row', () => {
  const rows = tableRows(page, ['code', 'means']).flatMap(([codes]) => (codes ?? '').split(', ').map(Number));
  expect(rows.toSorted((a, b) => a - b)).toEqual(Object.values(EXIT).toSorted((a, b) => a - b));
});
