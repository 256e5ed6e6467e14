// Goal: every command that a message, the dashboard or a page of docs shows exists, and takes what
// is shown. Method: what is quoted in the sources and on the pages is parsed by the real command
// line, whose commands do not run. `<id>` and `${id}` stand for any value.
import { globSync, readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { explainApiError } from '../src/cli/explain-api-error.ts';
import { buildProgram } from '../src/cli/program.ts';
import { OPERATIONS } from '../src/client/generated/places.ts';
import { HoldfastError } from '../src/client/holdfast-error.ts';
import { FEATURES } from '../src/features.ts';
import { codeBlocks } from './docs/read-page.ts';

/** Stands for a value that a person fills in. */
const ANY = '\u0001';

const ID = '019a0000-0000-7000-8000-000000000001';
const SETTINGS = { url: 'http://127.0.0.1:7420', urlSource: 'default', apiKey: 'key', dataDir: '/srv' };

interface Shown {
  place: string;
  line: string;
}

/**
 * A command in a source: in quotes or backticks, up to the same sign; as code of the dashboard; or
 * after a colon, up to the end of the sentence or the text.
 */
const FORMS = [
  /(["'`])(?:npx )?holdfast (?<line>(?:(?!\1)[^\n\\])+)\1/g,
  /<code>(?:npx )?holdfast (?<line>[^<\n]+)<\/code>/g,
  /: (?:npx )?holdfast (?<line>[^'"`\n]+?)(?=\. |, or: | "|['"`])/g,
];

/** The scripts that shells read. */
const SHELL_SCRIPTS = 'src/cli/commands/completion.ts';

/** The sources of what people read, without comments. */
function readSources(): { place: string; code: string }[] {
  return globSync(['src/**/*.ts', 'web/src/**/*.{ts,tsx}', 'demo/**/*.ts'])
    .filter((file) => !file.includes('/generated/') && file !== SHELL_SCRIPTS)
    .map((place) => ({
      place,
      code: readFileSync(place, 'utf8').replaceAll(/^\s*(?:\/\/|\*|\/\*\*).*$/gm, ''),
    }));
}

function shownInSources(): Shown[] {
  return readSources().flatMap(({ place, code }) =>
    FORMS.flatMap((form) => [...code.matchAll(form)].map(({ groups }) => ({ place, line: groups?.['line'] ?? '' }))),
  );
}

function shownOnPages(): Shown[] {
  const pages = globSync([
    'README.md',
    'docs/*.md',
    'docs/how-to/*.md',
    'deploy/*.md',
    'examples/**/*.md',
    '*/README.md',
  ]);
  return pages.flatMap((place) => {
    const page = readFileSync(place, 'utf8');
    const inline = [...page.matchAll(/(`)(?:npx )?holdfast ([^`\n]+)\1/g)].map(([, , line = '']) => ({ place, line }));
    const blocks = codeBlocks(page)
      .flatMap(({ code }) => code.replaceAll(/\\\n\s*/g, ' ').split('\n'))
      .flatMap((line) => {
        const [, shown] = /^(?:[A-Z_]+=\S+ )*(?:npx )?holdfast (.+)$/.exec(line.replace(/^\$ /, '')) ?? [];
        return shown === undefined ? [] : [{ place, line: shown }];
      });
    return [...inline, ...blocks];
  });
}

/** The words of a line as a shell reads them, up to a pipe, a comment or a second command. */
function wordsOf(line: string): string[] {
  const filled = line
    .replaceAll(/(?<=\w)\$\{.*$/g, '')
    .replaceAll(/--(?:url|api-key) \S+|--(?:json|no-color|help)\b/g, '')
    .replaceAll(/\$\{[^}]*\}|\$\([^)]*\)|<[^<>\s]+(?: [^<>]+)?>|\{\w+\}|\$\w+/g, ANY)
    .replaceAll(/ *\[[^\]]*\]/g, '');
  const [command = ''] = filled.split(/ (?:\|\|?|&&|>|>>|2>|#|;|\.\.\.|…)(?: |$)/);
  return [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, one, other, bare]) => one ?? other ?? bare ?? '');
}

/** What is wrong with a command line; null: it would run. */
function faultOf(program: Command, line: string): string | null {
  const words = wordsOf(line);
  // The command itself is filled in, or there is none.
  if (words.length === 0 || words[0] === ANY) return null;
  let command = program;
  while (words[0] !== undefined) {
    const found = command.commands.find((one) => one.name() === words[0] || one.aliases().includes(words[0] ?? ''));
    if (found === undefined) break;
    command = found;
    words.shift();
  }
  if (command === program) return `there is no command ${line}`;
  if (command.commands.length > 0) return words.length === 0 ? null : `${command.name()} has no command ${words[0]}`;
  try {
    const { operands, unknown } = command.parseOptions(words);
    if (unknown.some((word) => word !== '--')) return `unknown option ${unknown[0]}`;
    const { registeredArguments: taken } = command;
    const required = taken.filter((one) => one.required).length;
    if (operands.length < required && operands.length > 0) return `needs ${required} arguments`;
    if (operands.length > taken.length && taken.at(-1)?.variadic !== true) return `takes no ${operands.at(-1)}`;
    operands.forEach((text, at) => (taken[at] ?? taken.at(-1))?.parseArg?.(text, undefined as never));
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Every option and argument takes what stands for any value. */
function takeAny(command: Command): void {
  for (const one of [...command.options, ...command.registeredArguments]) {
    const { parseArg } = one;
    if (parseArg === undefined) continue;
    // Files of examples do not exist.
    one.parseArg = (text, before) =>
      text.includes(ANY) || /\.(?:json|jsonl|json5)$/.test(text) ? before : parseArg(text, before);
  }
  command.commands.forEach(takeAny);
}

async function buildReader(): Promise<Command> {
  const program = await buildProgram(FEATURES, () => {});
  takeAny(program);
  return program;
}

test.each([
  ['a source', shownInSources, 60],
  ['a page', shownOnPages, 200],
] as const)('every command that %s shows exists and takes what is shown', async (_, collect, atLeast) => {
  const shown = collect();
  expect(shown.length).toBeGreaterThan(atLeast);
  const program = await buildReader();
  const faults = shown.flatMap(({ place, line }) => {
    const fault = faultOf(program, line);
    return fault === null ? [] : [`${place}: holdfast ${line}: ${fault}`];
  });
  expect(faults).toEqual([]);
});

test('a command that does not exist, or does not take what is shown, is found', async () => {
  const program = await buildReader();
  expect(faultOf(program, 'config check')).toMatch(/config has no command check/);
  expect(faultOf(program, 'turns list --stats failed')).toMatch(/unknown option --stats/);
  expect(faultOf(program, 'turns list --limit many')).toMatch(/whole number/);
  expect(faultOf(program, 'turns show <id> <id>')).toMatch(/takes no/);
  expect(faultOf(program, 'turns show ${id}')).toBeNull();
});

test('no command is in the words of a sentence, where its end cannot be seen', async () => {
  const names = (await buildReader()).commands.map((command) => command.name());
  const mention = new RegExp(`.{0,40}\\bholdfast (?:${names.join('|')})\\b.{0,40}`, 'g');
  const hidden = readSources().flatMap(({ place, code }) => {
    const rest = FORMS.reduce((text, form) => text.replaceAll(form, ''), code);
    return [...rest.matchAll(mention)].map(([text]) => `${place}: ${text.trim()}`);
  });
  expect(hidden).toEqual([]);
});

test('the next step of a refusal names a command for every kind of thing', async () => {
  const program = await buildReader();
  const paths = Object.values(OPERATIONS).flatMap((place) => (place.includes('{') ? [place.split(' ')[1] ?? ''] : []));
  for (const path of new Set(paths))
    for (const status of [404, 409]) {
      const instance = path.replaceAll(/\{\w+\}/g, ID);
      const error = new HoldfastError({ code: 'x', status, title: 't', detail: 'd', fix: '', problem: { instance } });
      const { fix } = explainApiError(error, SETTINGS);
      const [, line] = /"holdfast ([^"]+)"/.exec(fix) ?? [];
      if (line === undefined) expect(path).toMatch(/^\/v1\/provider-batches\//);
      else expect([path, faultOf(program, line)]).toEqual([path, null]);
    }
});
