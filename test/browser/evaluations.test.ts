// Evaluations in the browser: the list and the data sets, the answer of one, its items, and its
// controls.
import { expect, test } from 'vitest';
import type { Tool } from '../../src/tools/tool.ts';
import { evaluationRig } from '../features/evaluations/evaluation-rig.ts';
import { changeBatches, readBatches } from '../rows/batches.ts';
import { addEvaluationRuns } from '../rows/evaluations.ts';
import { violationsOn } from './axe.ts';
import { useDashboard, VIEWER_KEY } from './dashboard-rig.ts';
import { addEvaluated, addRunning } from './fixture/evaluated.ts';
import { HOSTILE_LINE, RAN } from './fixture/hostile-corpus.ts';
import { handOf } from './hand.ts';

const dashboard = useDashboard();

const COUNT: Tool = {
  spec: { name: 'count', description: 'Counts.', input_schema: { type: 'object' } },
  summary: 'counts',
  isIdempotent: true,
  run: async () => ({ content: 'counted', isError: false }),
};

/** The run of the first item with the baseline. */
const answered = (evaluationId: string, repeat: number) =>
  addEvaluationRuns(dashboard.rig, {
    evaluationId,
    n: 1,
    candidate: 0,
    repeat,
    reply: 'yes, until six',
    pass: true,
    score: 1,
    grades: [{ name: 'refund', pass: true, score: 1, reason: 'it has "yes"' }],
  });

test('without evaluations and data sets the screens say what to do, and how to begin', async () => {
  const { page, signIn, open } = dashboard;
  await signIn();
  await open('/evaluations');
  await page.getByText('npx holdfast eval run').waitFor();
  await page.getByRole('button', { name: 'Start an evaluation…' }).click();
  const dialog = page.getByRole('dialog', { name: 'From turns to an answer' });
  await dialog.getByText('npx holdfast datasets create').waitFor();
  expect(await violationsOn(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('navigation', { name: 'Evaluations and data sets' }).getByText('Data sets').click();
  await page.getByRole('heading', { name: 'Data sets', level: 1 }).waitFor();
  await page.getByText('npx holdfast datasets create').waitFor();
});

test('an evaluation says in words and by bars which candidate is better, and what each costs', async () => {
  const { page, rig, signIn, open } = dashboard;
  const { id } = await addEvaluated(rig, { name: 'Refunds' });
  await signIn();
  await open('/evaluations');
  const row = page.getByRole('row').filter({ hasText: 'Refunds' });
  await row.getByText('worse small').waitFor();
  await row.getByRole('link', { name: 'Refunds' }).click();
  await page.getByRole('heading', { name: 'Refunds', level: 1 }).waitFor();
  const { results } = (await rig.get(`/v1/evaluations/${id}`)).body;
  const candidates = page.getByRole('list', { name: 'Candidates' }).getByRole('listitem');
  const [baseline, small, terse] = [0, 1, 2].map((at) => candidates.nth(at));
  await baseline!.getByText('The baseline').waitFor();
  await baseline!.getByRole('img', { name: '83.3 %, 95 % interval 64.1 % to 93.3 %' }).waitFor();
  await small!.getByText('▼ worse', { exact: true }).waitFor();
  await small!.getByText(results[1].comparison.text.replace('Worse: ', ''), { exact: true }).waitFor();
  await small!.getByText('77 % less, better').waitFor();
  await small!.getByText('model anthropic/claude-haiku-5, thinking low').waitFor();
  expect(await small!.getByText('Diverged').locator('..').textContent()).toContain('12 of 72 runs');
  await terse!.getByText('? not known', { exact: true }).waitFor();
  await page.getByText('Numbers of the comparisons').first().click();
  const numbers = page.getByRole('region', { name: 'Numbers of the comparisons' });
  expect(await numbers.getByRole('row').count()).toBe(7);
  await page.getByRole('region', { name: 'All graders' }).getByRole('row').filter({ hasText: 'refund' }).waitFor();
});

test('an evaluation is followed to its end, where its item says at which call a candidate diverged', async () => {
  const { page, rig, signIn, open } = dashboard;
  const evaluations = evaluationRig(rig, [COUNT]);
  const turn = await evaluations.record(
    'counted',
    'Go. [[for: claude-haiku-4-5]] [[tool: count {"n":3}]] [[reply: no]] [[for: others]] [[tool: count {"n":2}]] [[reply: two]]',
  );
  const candidates = [{ name: 'now' }, { name: 'small', model: 'anthropic/claude-haiku-4-5' }];
  const id = await evaluations.start(await evaluations.copies(turn), { candidates });
  await signIn();
  await open(`/evaluations/${id}`);
  await page.getByText('preparing', { exact: true }).waitFor();
  await evaluations.run(id);
  const candidate = page.getByRole('list', { name: 'Candidates' }).getByRole('listitem').nth(1);
  await candidate.getByText('? not known').waitFor();
  await candidate.getByText('1 of 1 runs').waitFor();
  await page.getByRole('table', { name: 'Items' }).locator('[data-index="0"]').click();
  const item = page.getByRole('region', { name: 'Item 1' });
  await item.getByRole('region', { name: 'now' }).getByText('✓ passed').first().waitFor();
  const small = item.getByRole('region', { name: 'small' });
  await small.getByText('First divergence: at step 1').waitFor();
  await small.getByText('count({"n":2})').waitFor();
  await small.getByRole('link', { name: /^turn/ }).click();
  await page.getByRole('tab', { name: 'Request' }).waitFor();
});

test('items come worst first, and one opens by keyboard with what differs from the baseline', async () => {
  const { page, rig, signIn, open } = dashboard;
  const { turnId } = await rig.settle('asked', 'Hello');
  const { id } = await addEvaluated(rig, { turnIds: [String(turnId)] });
  await signIn();
  await open(`/evaluations/${id}`);
  const items = page.getByRole('table', { name: 'Items' });
  await items.locator('[role=row][tabindex="0"]').focus();
  expect(await items.locator('[data-index="0"]').textContent()).toContain('worse');
  await page.keyboard.press('Enter');
  const item = page.getByRole('region', { name: 'Item 3' });
  const small = item.getByRole('region', { name: 'small' });
  await small.getByText('I have refunded 39.00 EUR to your card.').first().waitFor();
  expect(await small.locator('[data-side=A]').first().textContent()).toBe(
    'only the baselineI have refunded 49.00 EUR to your card.\n',
  );
  await small.getByText('/amount is 39, expected 49').first().waitFor();
  await small.getByText('refund({"amount":39,"note":"broken"})').first().waitFor();
  await item
    .getByRole('region', { name: 'terse' })
    .getByText('The same as the reply of the baseline.')
    .first()
    .waitFor();
  expect(await violationsOn(page)).toEqual([]);
  await page.keyboard.press('j');
  const next = page.getByRole('region', { name: 'Item 6' }).getByRole('region', { name: 'small' });
  await next.getByText('First divergence: at step 2 it made a call that was not recorded.').first().waitFor();
  await page.keyboard.press('Escape');
  await item.waitFor({ state: 'detached' });
  await open(`/evaluations/${id}?change=same&open=1`);
  const linked = page.getByRole('region', { name: 'Item 1' }).getByRole('region', { name: 'as-recorded' });
  await linked.getByRole('link', { name: /^turn/ }).first().click();
  await page.getByRole('tab', { name: 'Request' }).waitFor();
});

test('the texts of an item are shown as texts', async () => {
  const { page, rig, signIn, open } = dashboard;
  const { id } = await addEvaluated(rig, { items: 6, words: HOSTILE_LINE });
  await signIn();
  for (const n of [3, 6]) {
    await open(`/evaluations/${id}?open=${n}`);
    const item = page.getByRole('region', { name: `Item ${n}` });
    await item.getByText('Grades').first().waitFor();
    await item.locator('details').evaluateAll((all) => all.forEach((each) => each.setAttribute('open', '')));
    expect(await item.locator(':is(script, img, iframe, form, a[href^="javascript" i])').count()).toBe(0);
    const text = await item.textContent();
    expect(['\u001B', '\u200B', '\u202E'].filter((unseen) => text?.includes(unseen))).toEqual([]);
    expect(await page.evaluate<boolean>(`'${RAN}' in globalThis`)).toBe(false);
  }
});

test('the items of an evaluation are filtered in the URL, and Back restores them', async () => {
  const { page, rig, signIn, open } = dashboard;
  const { id } = await addEvaluated(rig);
  await signIn();
  await open(`/evaluations/${id}`);
  const items = page.getByRole('table', { name: 'Items' });
  const count = async () => Number(await items.getAttribute('aria-rowcount')) - 1;
  await expect.poll(count).toBe(24);
  await page.getByRole('combobox', { name: 'Change' }).selectOption('better');
  await page.getByText('No item fits the filters.').waitFor();
  await page.getByRole('combobox', { name: 'Candidate' }).selectOption('terse');
  await expect.poll(count).toBe(2);
  await items.getByRole('columnheader', { name: 'terse' }).waitFor();
  expect(new URL(page.url()).search).toBe('?change=better&candidate=terse');
  await page.getByLabel('Tag, as key:value').fill('topic:refund');
  await page.keyboard.press('Enter');
  await page.getByText('No item fits the filters.').waitFor();
  await page.goBack();
  await expect.poll(count).toBe(2);
});

test('the progress of an evaluation appears by itself, and it is paused and resumed', async () => {
  const { page, rig, signIn, open } = dashboard;
  const { id, batchId } = await addRunning(dashboard.rig, 'in progress');
  await signIn();
  await open(`/evaluations/${id}`);
  await page.getByText('No run has ended yet.').waitFor();
  await page.getByText('Ended runs: 0 of 4.').waitFor();
  await answered(id, 1);
  await page.getByText('Ended runs: 1 of 4.').waitFor();
  await page.getByRole('table', { name: 'Items' }).getByText('Is it open?').waitFor();
  const progress = page.getByRole('progressbar', { name: 'Ended runs' });
  expect(await progress.getAttribute('aria-valuetext')).toBe('1 of 4');
  await page.getByRole('button', { name: 'Pause evaluation' }).click();
  await page.getByText('Paused: A person has paused it.').waitFor();
  expect(await readBatches(rig, { id: batchId })).toMatchObject([{ status: 'paused' }]);
  expect(await violationsOn(page)).toEqual([]);
  await page.getByRole('button', { name: 'Resume evaluation' }).click();
  await page.getByRole('button', { name: 'Pause evaluation' }).waitFor();
  expect(await readBatches(rig, { id: batchId })).toMatchObject([{ status: 'running' }]);
  // A refusal is shown as it is.
  await changeBatches(rig, { id: batchId }, { status: 'ended', outcome: 'completed' });
  await page.getByRole('button', { name: 'Pause evaluation' }).click();
  await page.getByRole('alert').getByText('The evaluation').waitFor();
});

test('an evaluation is cancelled by keyboard alone, after the page has said how many runs have not ended', async () => {
  const { page, rig, signIn, open } = dashboard;
  const { id, batchId } = await addRunning(dashboard.rig, 'dropped');
  await answered(id, 1);
  await signIn();
  await open(`/evaluations/${id}`);
  await handOf('keyboard', page).press('Cancel…');
  await page.getByRole('heading', { name: 'Cancel 3 runs that have not ended?' }).waitFor();
  await handOf('keyboard', page).press('Cancel evaluation');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect((await readBatches(rig, { id: batchId }))[0]?.status).toMatch(/cancelling|ended/);
});

test('a data set is listed with its counts, and leads to its evaluations', async () => {
  const { page, rig, signIn, open } = dashboard;
  const { datasetId } = await addEvaluated(rig, { name: 'Of its data set', items: 7 });
  await signIn();
  await open('/evaluations?tab=datasets');
  const name = `refunds-${datasetId.slice(-6)}`;
  const row = page.getByRole('row').filter({ hasText: name });
  await row.waitFor();
  const cells = await row.getByRole('cell').allTextContents();
  expect(cells.slice(0, 5)).toEqual([name, 'What people disliked about refunds', 'main', '2', '7']);
  await row.getByRole('link', { name }).click();
  const evaluations = page.getByRole('table', { name: 'Evaluations' });
  await evaluations.getByRole('link', { name: 'Of its data set' }).waitFor();
  expect(await evaluations.getAttribute('aria-rowcount')).toBe('2');
});

test('a viewer reads an evaluation, and has no button that changes it', async () => {
  const { page, signIn, open } = dashboard;
  const { id } = await addRunning(dashboard.rig, 'read-only');
  await answered(id, 1);
  await signIn(VIEWER_KEY);
  await open('/evaluations');
  await page.getByRole('link', { name: 'read-only' }).waitFor();
  expect(await page.getByRole('button', { name: 'Start an evaluation…' }).count()).toBe(0);
  await open(`/evaluations/${id}`);
  await page.getByRole('table', { name: 'Items' }).waitFor();
  expect(await page.locator('main').getByRole('button').allTextContents()).toEqual(['Refresh']);
});
