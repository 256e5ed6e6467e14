// The family of a session in the browser: a tree that is used by keyboard, runs that are steered
// and stopped, and how each end was announced. What a page does is checked in the API.
import { expect, test } from 'vitest';
import { spawnBelow, type SpawnedBelow } from '../api/spawn-below.ts';
import { newId } from '../../src/ids.ts';
import { addSessions, readSessions } from '../rows/sessions.ts';
import { addSubagentRuns } from '../rows/subagents.ts';
import { now } from '../rows/table.ts';
import { useDashboard, VIEWER_KEY } from './dashboard-rig.ts';
import { HOSTILE_NAMES, RAN } from './fixture/hostile-corpus.ts';
import { overflowOf } from './page-figures.ts';

const dashboard = useDashboard();

const spawn = (parentKey: string, label: string, task?: string): Promise<SpawnedBelow> =>
  spawnBelow(dashboard.rig, parentKey, { label, ...(task === undefined ? {} : { task }) });

/** A root with the runs One and Two; below One are Deep and Other, below Deep is Deepest. */
async function family(name: string) {
  const root = `agent:main:${name}`;
  await dashboard.rig.turns.sessionOf(name);
  const one = await spawn(root, 'One');
  const two = await spawn(root, 'Two');
  const deep = await spawn(one.key, 'Deep');
  const other = await spawn(one.key, 'Other');
  const deepest = await spawn(deep.key, 'Deepest');
  return { root, one, two, deep, other, deepest };
}

const pathOf = (key: string): string => `/sessions/${encodeURIComponent(key)}/family`;
const tree = () => dashboard.page.getByRole('treegrid', { name: 'Runs' });
const row = (label: string) =>
  tree()
    .getByRole('row')
    .filter({ has: dashboard.page.getByRole('link', { name: label, exact: true }) });

/** The labels of the rows in their order. */
const shownRuns = (): Promise<string[]> => tree().locator('[data-stop="session"]').allTextContents();
const focused = (): Promise<string | null> =>
  dashboard.page.evaluate('document.activeElement.getAttribute("aria-rowindex")');
const statusOf = async ({ runId }: SpawnedBelow): Promise<string> =>
  (await dashboard.rig.get(`/v1/subagents/${runId}`)).body.status;

test('the runs are a tree with one tab stop; the arrows move in it, close and open it, and Enter opens a session', async () => {
  const { page, signIn, open } = dashboard;
  const { root, deep } = await family('keyboard');
  await signIn();
  await open('/sessions');
  await open(`/sessions/${root}`);
  await page.getByRole('link', { name: 'the family' }).click();
  await row('Deepest').waitFor();
  expect(await shownRuns()).toEqual(['One', 'Deep', 'Deepest', 'Other', 'Two']);
  const place = await row('Other').evaluate((element) =>
    ['aria-level', 'aria-posinset', 'aria-setsize', 'aria-expanded'].map((name) => element.getAttribute(name)),
  );
  expect(place).toEqual(['2', '2', '2', null]);

  const press = async (...keys: string[]): Promise<void> => {
    for (const key of keys) await page.keyboard.press(key);
  };
  await page.getByRole('button', { name: 'Stop all that run…' }).focus();
  await press('Tab');
  expect(await focused()).toBe('2');
  await press('ArrowDown');
  await expect.poll(focused).toBe('3');
  await press('ArrowLeft');
  await expect.poll(shownRuns).toEqual(['One', 'Deep', 'Other', 'Two']);
  expect(await row('Deep').getAttribute('aria-expanded')).toBe('false');
  await press('ArrowLeft');
  await expect.poll(focused).toBe('2');
  await press('ArrowLeft');
  await expect.poll(shownRuns).toEqual(['One', 'Two']);
  await press('ArrowRight');
  await expect.poll(shownRuns).toEqual(['One', 'Deep', 'Other', 'Two']);
  await press('End');
  await expect.poll(focused).toBe('5');
  await press('Tab');
  expect(await tree().evaluate((element) => element.contains(element.ownerDocument.activeElement))).toBe(false);
  await press('Shift+Tab');
  expect(await focused()).toBe('5');
  await press('Home', 'j');
  await expect.poll(focused).toBe('3');
  await press('Enter');
  await expect.poll(() => decodeURIComponent(new URL(page.url()).pathname)).toBe(`/sessions/${deep.key}`);
});

test('a subtree is stopped by keyboard, after its count and scope were named', async () => {
  const { page, signIn, open } = dashboard;
  const { root, one, two, deep, other, deepest } = await family('stopped');
  await signIn();
  await open(pathOf(root));
  await row('One').focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('End');
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Stop… One');
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Stop 4 runs?' });
  await dialog.getByText('One and 3 runs that run below it.').waitFor();
  await dialog.getByRole('button', { name: 'Leave it' }).click();
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Stop… One');
  expect(await statusOf(deepest)).toBe('running');

  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Stop 4 runs' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('status').getByText('4 runs were stopped.').waitFor();
  for (const run of [one, deep, other, deepest]) expect(await statusOf(run)).toBe('killed');
  expect(await statusOf(two)).toBe('running');
  await row('One').getByText('killed', { exact: true }).waitFor();

  await row('Two').getByRole('button', { name: 'Stop… Two' }).click();
  await page.getByRole('dialog', { name: 'Stop 1 run?' }).getByText('Two alone: nothing runs below it.').waitFor();
  await page.getByRole('button', { name: 'Stop 1 run', exact: true }).click();
  await expect.poll(() => statusOf(two)).toBe('killed');
});

test('a run is stopped alone, after the number of runs that continue and the recipient of their results were named', async () => {
  const { page, signIn, open, rig } = dashboard;
  const { root, one, deep, deepest } = await family('alone-stopped');
  await signIn();
  await open(pathOf(root));
  await row('Deep').getByRole('button', { name: 'Stop… Deep' }).click();
  await page.getByRole('dialog', { name: 'Stop 2 runs?' }).getByLabel('Scope').selectOption('the run alone: 1 run');
  const dialog = page.getByRole('dialog', { name: 'Stop 1 run?' });
  await dialog.getByText('The 1 run below it continues, and results go to One.').waitFor();
  await dialog.getByRole('button', { name: 'Stop 1 run' }).click();
  await page.getByRole('status').getByText('1 run was stopped.').waitFor();
  for (const [run, status] of [
    [deep, 'killed'],
    [deepest, 'running'],
    [one, 'running'],
  ] as const) {
    expect(await statusOf(run)).toBe(status);
  }
  await rig.work(deepest.key);
  await row('Deepest').getByRole('link', { name: one.key }).waitFor();

  await row('One').getByRole('button', { name: 'Stop… One' }).click();
  await page.getByRole('dialog').getByLabel('Scope').selectOption('the run alone: 1 run');
  await page.getByText('The 1 run below it continues, and results go to the root session.').waitFor();
});

test('runs below a run that has ended are stopped as well', async () => {
  const { page, signIn, open, rig } = dashboard;
  const { root, one, two, deep, other, deepest } = await family('ended-above');
  await rig.post(`/v1/subagents/${deep.runId}/kill`, { below: 'keep' });
  await expect.poll(() => statusOf(deep)).toBe('killed');
  await signIn();
  await open(pathOf(root));
  await row('Deep').getByRole('button', { name: 'Stop… Deep' }).click();
  const dialog = page.getByRole('dialog', { name: 'Stop 1 run?' });
  await dialog.getByText('1 run that runs below Deep, which has ended itself.').waitFor();
  await dialog.getByRole('button', { name: 'Stop 1 run' }).click();
  await expect.poll(() => statusOf(deepest)).toBe('killed');
  await page.getByRole('button', { name: 'Stop all that run…' }).click();
  await page.getByRole('button', { name: 'Stop 3 runs', exact: true }).click();
  for (const run of [one, two, other]) await expect.poll(() => statusOf(run)).toBe('killed');
});

test('a run receives a text, and its end with the way of its announcement appears by itself', async () => {
  const { page, signIn, open, rig } = dashboard;
  const { root, two } = await family('steered');
  await signIn();
  await open(pathOf(root));
  await page.getByText('Live', { exact: true }).waitFor();
  await row('Two').getByRole('button', { name: 'Steer… Two' }).click();
  await page.getByLabel('Text', { exact: true }).fill('look left');
  await page.getByRole('button', { name: 'Steer the run' }).click();
  await page.getByRole('status').getByText('The message waits for its next turn.').waitFor();
  const { items } = (await rig.get(`/v1/waiting?session=${encodeURIComponent(two.key)}`)).body;
  expect(items.map(({ text }: { text: string }) => text).at(-1)).toContain('look left');

  while ((await statusOf(two)) === 'running') await rig.work(two.key);
  await row('Two').getByText('queued', { exact: true }).waitFor();
  await row('Two').getByRole('link', { name: root }).waitFor();
  expect(await row('Two').getByRole('button').count()).toBe(0);
  await rig.work(root.replace('agent:main:', ''));
  await row('Two').getByRole('link', { name: 'in its own turn' }).click();
  const [turn] = (await rig.get('/v1/turns?session=steered')).body.items;
  await expect.poll(() => new URL(page.url()).pathname).toBe(`/turns/${turn.id}`);
});

test('a viewer sees the runs and no button, and is refused the actions of the buttons', async () => {
  const { page, context, url, signIn, open } = dashboard;
  const { root, two } = await family('viewed');
  await signIn(VIEWER_KEY);
  await open(pathOf(root));
  await row('Deepest').waitFor();
  expect(await page.locator('main').getByRole('button').count()).toBe(0);
  for (const [action, data] of Object.entries({ kill: {}, steer: { text: 'x' } })) {
    const headers = { 'x-holdfast-request': '1', origin: url };
    const answer = await context.request.post(`${url}/v1/subagents/${two.runId}/${action}`, { data, headers });
    expect(answer.status()).toBe(403);
  }
  expect(await statusOf(two)).toBe('running');
});

test('a family of a hundred runs in a row has few rows in the document, and the last is reached by a key', async () => {
  const { page, signIn, open, rig } = dashboard;
  await rig.turns.sessionOf('wide');
  const [root] = await readSessions(rig, { key: 'agent:main:wide' }, 'id');
  const parentId = root!.id;
  const family = { kind: 'subagent', lane: 'subagent', parentId, ancestors: [parentId] };
  const keys = Array.from({ length: 100 }, (_, n) => `agent:main:subagent:wide-${n + 1}`);
  const children = keys.map((key) => ({ id: newId<string>(), key }));
  await addSessions(rig, ...children.map((child) => ({ ...child, ...family })));
  const run = { parentId, rootId: parentId, depth: 1, task: 'x', status: 'ok', endedAt: now };
  await addSubagentRuns(
    rig,
    ...children.map(({ id, key }) => ({ id: newId<string>(), childId: id, label: key, ...run })),
  );
  await signIn();
  await open(pathOf('agent:main:wide'));
  await tree().getByRole('row').nth(1).focus();
  await page.keyboard.press('End');
  await expect.poll(focused).toBe('101');
  expect(await tree().getAttribute('aria-rowcount')).toBe('101');
  expect(await tree().getByRole('row').count()).toBeLessThan(60);
});

test('on a phone each run is a card that names its depth; labels are text', async () => {
  const { page, signIn, open, rig } = dashboard;
  await rig.turns.sessionOf('phone');
  const script = await spawn('agent:main:phone', HOSTILE_NAMES.script);
  await spawn(script.key, HOSTILE_NAMES.bidi, HOSTILE_NAMES.image);
  await signIn();
  await page.setViewportSize({ width: 320, height: 720 });
  await open(pathOf(script.key));
  await tree().getByText(`depth 1, spawned by the root;`).waitFor();
  await tree().getByText('depth 2, spawned by').waitFor();
  await tree().getByText(HOSTILE_NAMES.script).first().waitFor();
  await tree().getByText('this session').waitFor();
  expect(await tree().locator('.mark').first().textContent()).toBe('U+202E');
  expect(await tree().locator('script, img').count()).toBe(0);
  expect(await page.evaluate<boolean>(`'${RAN}' in globalThis`)).toBe(false);
  expect(await overflowOf(page)).toBe(0);
  await tree()
    .getByRole('button', { name: /^Stop…/ })
    .first()
    .click();
  await page.getByRole('button', { name: 'Stop 2 runs', exact: true }).click();
  await expect.poll(() => statusOf(script)).toBe('killed');
});

test('a session without subagents says how to spawn one', async () => {
  const { page, signIn, open, rig } = dashboard;
  await rig.turns.sessionOf('alone');
  await signIn();
  await open(pathOf('agent:main:alone'));
  await page.getByText("npx holdfast spawn 'agent:main:alone' 'Count the files.'").waitFor();
});
