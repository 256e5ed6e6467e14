// Costs and budgets in the browser. The effect of each action is checked in the API.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { dollarsText } from '../../web/src/format/amounts.ts';
import { cacheSavingUsd, csvOf, forecastUsd, sumOf, sumsBy } from '../../web/src/format/spend.ts';
import { addBudgets } from '../rows/budgets.ts';
import { useDashboard, VIEWER_KEY } from './dashboard-rig.ts';

const dashboard = useDashboard();

const budgets = async () => (await dashboard.rig.get('/v1/budgets')).body.items;

test('spending is shown by the group in the URL, and downloaded as it is shown', async () => {
  const { page, signIn, open, rig } = dashboard;
  await rig.post('/v1/sessions/spent/messages', {
    text: '[[usage: input=1000 output=500 cache-read=2000]] [[reply: ok]]',
  });
  await rig.work('spent');
  await signIn();
  await open('/costs?group=model');
  await page.getByText('Some of it is simulated').waitFor();
  const table = page.getByRole('region', { name: 'By model' });
  await table.getByRole('rowheader', { name: /claude/ }).waitFor();
  await page.getByRole('combobox', { name: 'Group by' }).selectOption('agent');
  await page.getByRole('rowheader', { name: 'main', exact: true }).waitFor();
  expect(new URL(page.url()).searchParams.get('group')).toBe('agent');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ]);
  const [heads, row] = readFileSync(await download.path(), 'utf8')
    .trim()
    .split('\r\n');
  expect(heads).toBe('starts,agent,turns,calls,input,cacheRead,cacheWrite,output,costUsd');
  const usage = (await rig.get('/v1/usage?by=day&group=agent')).body.items[0];
  expect(row).toBe(
    [
      usage.startsAt,
      'main',
      usage.turns,
      usage.calls,
      usage.inputTokens,
      usage.cacheReadTokens,
      usage.cacheWriteTokens,
      usage.outputTokens,
      usage.costUsd,
    ].join(','),
  );
  await page.getByText('Most expensive turns, sessions and crons').click();
  const top = page.getByRole('region', { name: 'Most expensive turns' });
  await top
    .getByRole('row', { name: /agent:main:spent/ })
    .getByText('simulated')
    .waitFor();
  await page.getByRole('figure').first().getByRole('button', { name: 'Table' }).click();
  const today = page.getByRole('figure').first().getByRole('row').last();
  await today.getByText(dollarsText(usage.costMicros), { exact: true }).waitFor();
  await open('/');
  await page.getByText('Cost today').locator('..').getByText('simulated').waitFor();
});

test('a budget is made, changed and removed; one of the configuration says where it is changed', async () => {
  const { page, signIn, open, rig } = dashboard;
  await addBudgets(rig, {
    id: newId<string>(),
    origin: 'config',
    scope: 'agent:main',
    per: 'month',
    zone: 'UTC',
    limitMicros: 5000000,
    warnPercent: 80,
    action: 'pause',
    isStrict: false,
  });
  await signIn();
  await open('/costs');
  await page.getByText('change it in the configuration file').waitFor();
  await page.getByRole('button', { name: 'Add a budget' }).click();
  await page.getByLabel('What it limits').fill('agent:nobody:x y');
  await page.getByLabel('Limit in US dollars').fill('2.5');
  await page.getByRole('button', { name: 'Add the budget' }).click();
  await page.getByRole('dialog').getByText('scope').first().waitFor();
  await page.getByLabel('What it limits').fill('all');
  await page.getByRole('button', { name: 'Add the budget' }).click();
  await page.getByText('$0 of $2.50').waitFor();
  expect(await budgets()).toContainEqual(expect.objectContaining({ scope: 'all', limitUsd: 2.5, origin: 'api' }));
  await page.getByRole('button', { name: 'Change…' }).click();
  await page.getByLabel('Limit in US dollars').fill('3');
  await page.getByRole('button', { name: 'Save the budget' }).click();
  await page.getByText('$0 of $3.00').waitFor();
  await page.getByRole('button', { name: 'Remove…' }).click();
  await page.getByRole('heading', { name: 'Remove the budget of all per day?' }).waitFor();
  await page.getByRole('button', { name: 'Remove the budget' }).click();
  await expect
    .poll(async () => (await budgets()).filter(({ origin }: { origin: string }) => origin === 'api'))
    .toEqual([]);
});

test('a viewer sees costs and budgets, and can only download', async () => {
  const { page, signIn, open } = dashboard;
  await signIn(VIEWER_KEY);
  await open('/costs');
  await page.getByRole('heading', { name: 'Budgets' }).waitFor();
  const names = await page.locator('main').getByRole('button').allTextContents();
  expect(names.filter((name) => !['Table', 'Download CSV'].includes(name))).toEqual([]);
});

const used = (startsAt: string, group: string, more: object) => ({
  startsAt,
  group,
  turns: 1,
  calls: 2,
  failures: 0,
  unpricedCalls: 0,
  inputTokens: 10,
  outputTokens: 5,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  costMicros: 100,
  ...more,
});

test('sums leave out costs that are not known, and say how many', () => {
  const steps = [
    used('a', 'x', {}),
    used('a', 'y', { costMicros: null, unpricedCalls: 2 }),
    used('b', 'x', { costMicros: 50 }),
  ];
  expect(sumOf(steps)).toMatchObject({ costMicros: 150, unpricedCalls: 2, calls: 6, inputTokens: 30 });
  expect(sumsBy(steps, 'group').map(([name, { costMicros }]) => [name, costMicros])).toEqual([
    ['x', 150],
    ['y', 0],
  ]);
});

test('the cache saves the difference for reading minus the surcharge for writing; without a price the saving is unknown', () => {
  const price = {
    model: 'anthropic/claude-*-5',
    from: null,
    to: null,
    inputPerMTok: 3,
    cacheReadPerMTok: 0.3,
    cacheWrite5mPerMTok: 3.75,
    cacheWrite1hPerMTok: 6,
  };
  const sum = sumOf([
    used('a', 'm', { cacheReadTokens: 1_000_000, cacheWriteTokens: 300_000, cacheWrite1hTokens: 100_000 }),
  ]);
  expect(cacheSavingUsd([['anthropic/claude-sonnet-5', sum]], [price])).toBeCloseTo(2.7 - 0.15 - 0.3, 9);
  expect(cacheSavingUsd([['anthropic/claude-sonnet-4', sum]], [price])).toBeNull();
  expect(cacheSavingUsd([['other/model', sumOf([used('a', 'm', {})])]], [price])).toBe(0);
});

test('a budget is forecast from the spending in the elapsed part of its window', () => {
  const window = { spentUsd: 2, startsAt: '2026-11-01T00:00:00Z', endsAt: '2026-11-02T00:00:00Z' };
  expect(forecastUsd(window, Date.parse('2026-11-01T06:00:00Z'))).toBe(8);
  expect(forecastUsd(window, Date.parse('2026-11-01T00:00:00Z'))).toBeNull();
  expect(forecastUsd({ ...window, endsAt: null }, Date.now())).toBeNull();
});

test('a CSV field is quoted where it must be, and no text is a formula', () => {
  expect(csvOf([['a,b', 'say "hi"', null, -1.5, '=1+1', '@x']])).toBe(`"a,b","say ""hi""",,-1.5,'=1+1,'@x\r\n`);
});
