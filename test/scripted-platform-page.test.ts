// docs/scripted-platform.md lists every method, control route and fault of the scripted platforms.
import { expect, test } from 'vitest';
import { faultSchema } from '../scripted-platform/faults.ts';
import { METHODS as SIGNAL_METHODS } from '../scripted-platform/signal/methods.ts';
import { METHODS as DISCORD_METHODS } from '../scripted-platform/discord/methods.ts';
import { METHODS as SLACK_METHODS } from '../scripted-platform/slack/methods.ts';
import { METHODS as TELEGRAM_METHODS } from '../scripted-platform/telegram/methods.ts';
import { readPage, tableRows } from './docs/read-page.ts';

const page = readPage('docs/scripted-platform.md');

function codesIn(text: string | undefined): string[] {
  return [...(text ?? '').matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '');
}

test('every method is on the page', () => {
  const listed = new Map(tableRows(page, ['platform', 'methods']).map(([name, methods]) => [name, codesIn(methods)]));
  const names = listed.get('Telegram')?.map((name) => name.toLowerCase());
  expect(names?.toSorted()).toEqual(Object.keys(TELEGRAM_METHODS).toSorted());
  expect(listed.get('Discord')?.toSorted()).toEqual(Object.keys(DISCORD_METHODS).toSorted());
  // The only one that takes the token of an app.
  expect(listed.get('Slack')?.toSorted()).toEqual([...Object.keys(SLACK_METHODS), 'apps.connections.open'].toSorted());
  const signal = listed.get('Signal')?.filter((name) => !name.startsWith('GET '));
  expect(signal?.toSorted()).toEqual(Object.keys(SIGNAL_METHODS).toSorted());
});

test('every control route is on the page', () => {
  const sources = [
    'api-server.ts',
    'telegram/scripted-telegram.ts',
    'slack/scripted-slack.ts',
    'signal/scripted-signal.ts',
    'discord/scripted-discord.ts',
  ];
  const served = sources
    .flatMap((file) => [...readPage(`scripted-platform/${file}`).matchAll(/^ +'((?:GET|POST|DELETE) [\w/]+)':/gm)])
    .map((match) => (match[1] ?? '').replace(' ', ' /control/'));
  const listed = tableRows(page, ['route', 'does']).map(([route]) => codesIn(route)[0] ?? '');
  expect(listed.toSorted()).toEqual([...new Set(served)].toSorted());
});

test('every field and kind of a fault is on the page', () => {
  const rows = tableRows(page, ['field', 'meaning']);
  const fields = [...rows.flatMap(([field]) => codesIn(field)), 'delayMs'];
  expect(fields.toSorted()).toEqual(Object.keys(faultSchema.shape).toSorted());
  const kinds = codesIn(rows.find(([field]) => field === '`kind`')?.[1]);
  expect(kinds).toEqual(expect.arrayContaining(faultSchema.shape.kind.unwrap().options));
});
