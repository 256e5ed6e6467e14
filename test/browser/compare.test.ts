// Two turns side by side.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { alignItems, comparedSettings, diffTexts } from '../../web/src/screens/alignment.ts';
import { changeTurns } from '../rows/turns.ts';
import { violationsOn } from './axe.ts';
import { useDashboard } from './dashboard-rig.ts';
import { looks } from './looks.ts';
import { RAN } from './fixture/hostile-corpus.ts';
import { fillHostileRows, HOSTILE_TURN_ID } from './fixture/hostile-rows.ts';
import { overflowOf } from './page-figures.ts';

const dashboard = useDashboard({ fill: fillHostileRows });

async function turnOf(session: string, text: string): Promise<string> {
  const { rig } = dashboard;
  await rig.post(`/v1/sessions/${session}/messages`, { text });
  await rig.work(session);
  return (await rig.get(`/v1/turns?session=${session}&limit=1`)).body.items[0].id;
}

test('the steps of a turn show the input and the result of each tool', async () => {
  const { page, signIn, open } = dashboard;
  const id = await turnOf('steps', 'One. [[tool: echo {"big":12345678901234567890}]] [[reply: done]]');
  await signIn();
  await open(`/turns/${id}?tab=steps`);
  await page.locator('.tool-line > summary').click();
  await page.locator('.tool-details').getByText('12345678901234567890').first().waitFor();
  await page.getByRole('heading', { name: 'Result', exact: true }).waitFor();
});

test('the turn screen leads to a comparison with the previous turn, which describes the differences, and can be swapped', async () => {
  const { page, signIn, open } = dashboard;
  const first = await turnOf('pair', 'One. [[tool: echo {"n":1}]] [[reply: the red answer]]');
  const second = await turnOf('pair', 'Two. [[reply: the blue answer]]');
  await signIn();
  await open(`/turns/${second}`);
  await page.getByRole('link', { name: '← Previous' }).click();
  await page.waitForURL(`**/turns/${first}`);
  expect(await page.getByRole('link', { name: '← Previous' }).count()).toBe(0);
  await page.getByRole('link', { name: 'Next →' }).click();
  await page.waitForURL(`**/turns/${second}`);
  const link = page.getByRole('link', { name: 'Compare…' });
  await expect.poll(() => link.getAttribute('href')).toContain(first);
  await link.focus();
  await page.keyboard.press('Enter');
  const facts = page.getByRole('region', { name: 'Facts of both turns' });
  await facts.getByRole('row').filter({ hasText: 'Session' }).getByText('same').waitFor();
  await facts.getByRole('row').filter({ hasText: 'Steps' }).getByText('changed').waitFor();
  const tools = page.getByRole('region', { name: 'Tools of both turns' });
  await tools.getByRole('row').filter({ hasText: 'echo' }).getByText('only A').waitFor();
  await tools.getByText('Arguments and results').focus();
  await page.keyboard.press('Enter');
  await tools.locator('[data-side="A"]').getByText('{"n":1}').first().waitFor();
  const replies = page.getByRole('region', { name: 'Replies' });
  await replies.getByText('the red answer').waitFor();
  expect(await replies.locator('[data-side="A"]').textContent()).toContain('the red answer');
  expect(await replies.locator('[data-side="B"]').textContent()).toContain('the blue answer');

  await page.getByRole('button', { name: 'Swap A and B' }).focus();
  await page.keyboard.press('Enter');
  await tools.getByRole('row').filter({ hasText: 'echo' }).getByText('only B').first().waitFor();
  expect(new URL(page.url()).searchParams.get('a')).toBe(second);
});

test('the requests are aligned part by part, and a part that differs shows its lines', async () => {
  const { page, signIn, open } = dashboard;
  const first = await turnOf('left', `Same line.\nOnly in the left.\n[[reply: done]]`);
  const second = await turnOf('right', `Same line.\nOnly in the right.\n[[reply: done]]`);
  await signIn();
  await open(`/compare?a=${first}&b=${second}`);
  const requests = page.getByRole('region', { name: 'What the model was sent' });
  await requests.getByText(/^\d+ of \d+ parts are the same\.$/).waitFor();
  const left = requests.locator('[data-side="A"]').filter({ hasText: 'Only in the left.' });
  await left.getByText('only A').waitFor();
  await requests.locator('[data-side="B"]').filter({ hasText: 'Only in the right.' }).waitFor();
  const shown = await requests.locator('details.part').count();
  await requests.getByRole('button', { name: 'Show them too' }).click();
  await expect.poll(() => requests.locator('details.part').count()).toBeGreaterThan(shown);
});

test('ids are also accepted as addresses; an invalid one, and a turn that does not exist, is reported', async () => {
  const { page, signIn, open } = dashboard;
  const first = await turnOf('mine', '[[reply: done]]');
  await signIn();
  await open('/compare');
  await page.getByText('Paste the ids or the addresses').waitFor();
  await page.getByLabel('Turn A').fill(`http://127.0.0.1:7420/turns/${first}?tab=request`);
  await page.getByLabel('Turn B').fill('nonsense');
  await page.getByText('An id has 36 characters.').waitFor();
  expect(await page.getByRole('button', { name: 'Compare', exact: true }).isDisabled()).toBe(true);
  await page.getByLabel('Turn B').fill('01900000-0000-7000-8000-00000000dead');
  await page.getByRole('button', { name: 'Compare', exact: true }).click();
  await page.getByText('01900000-0000-7000-8000-00000000dead').first().waitFor();
  await page.getByRole('alert').first().waitFor();
  expect(new URL(page.url()).searchParams.get('a')).toBe(first);
});

test('figures that round to the same text are still said to differ', async () => {
  const { page, signIn, open } = dashboard;
  const { rig } = dashboard;
  const first = await turnOf('near', '[[reply: done]]');
  const second = await turnOf('nearer', '[[reply: done]]');

  await changeTurns(rig, { id: first }, { inputTokens: 12_301, costMicros: 1_231_000 });
  await changeTurns(rig, { id: second }, { inputTokens: 12_349, costMicros: 1_234_000 });
  await signIn();
  await open(`/compare?a=${first}&b=${second}`);
  const rows = page.getByRole('region', { name: 'Facts of both turns' }).getByRole('row');
  for (const [name, one, other] of [
    ['Tokens in', '12,301', '12,349'],
    ['Cost', '$1.231000', '$1.234000'],
  ] as const) {
    const row = rows.filter({ hasText: name });
    await row.getByText('changed').waitFor();
    expect(await row.textContent()).toContain(one);
    expect(await row.textContent()).toContain(other);
  }
  const settings = page.getByRole('table', { name: 'Settings of both requests' });
  await settings.getByRole('row').filter({ hasText: 'max_tokens' }).getByText('same').waitFor();
});

test('a phone shows both sides and their differences without scrolling sideways', async () => {
  const { page, signIn, open, settle } = dashboard;
  const first = await turnOf('small', 'One. [[tool: echo {"n":1}]] [[reply: red]]');
  const second = await turnOf('smaller', 'Two. [[reply: blue]]');
  await signIn();
  await page.setViewportSize({ width: 320, height: 720 });
  await open(`/compare?a=${first}&b=${second}`);
  await page.getByText(/parts are the same\.$/).waitFor();
  await settle();
  for (const name of ['Facts of both turns', 'Tools of both turns']) {
    const wider = await page
      .getByRole('region', { name })
      .evaluate((element) => element.scrollWidth - element.clientWidth);
    expect(wider, name).toBe(0);
  }
});

test.each(looks)('turns that differ have no violation that axe finds $name', async (look) => {
  const { page, signIn, open, settle } = dashboard;
  const first = await turnOf(newId<string>(), 'One. [[tool: echo {"n":1}]] [[reply: red]]');
  const second = await turnOf(newId<string>(), 'Two. [[reply: blue]]');
  await signIn();
  await page.emulateMedia({ colorScheme: look.colorScheme, forcedColors: look.forcedColors });
  await page.setViewportSize({ width: look.width, height: 720 });
  await open(`/compare?a=${first}&b=${second}`);
  await page.getByText(/parts are the same\.$/).waitFor();
  await settle();
  expect(await violationsOn(page)).toEqual([]);
  expect(await overflowOf(page)).toBe(0);
});

test('a hostile turn next to an ordinary one is shown as text, in its facts, its parts and the lines that differ', async () => {
  const { page, signIn, open, settle } = dashboard;
  const ordinary = await turnOf('plain', 'Hello. [[reply: done]]');
  await signIn();
  await page.setViewportSize({ width: 320, height: 720 });
  await open(`/compare?a=${HOSTILE_TURN_ID}&b=${ordinary}`);
  await page.getByText(/parts are the same\.$/).waitFor();
  await settle();
  await page.locator('main details').evaluateAll((all) => all.forEach((each) => each.setAttribute('open', '')));
  expect(await page.getByRole('region', { name: 'Replies' }).textContent()).toContain(`<script>globalThis.${RAN}`);
  expect(await page.locator('main :is(script, img, iframe, svg, style, a[href^="javascript" i])').count()).toBe(0);
  expect(await page.evaluate<boolean>(`'${RAN}' in globalThis`)).toBe(false);
  expect(await overflowOf(page)).toBe(0);
});

test('the palette leads to the screen by its name', async () => {
  const { page, signIn, open } = dashboard;
  await signIn();
  await open('/');
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog', { name: 'Go to or do' }).waitFor();
  await page.keyboard.type('screen compare');
  await page.getByRole('option', { name: 'Screen Compare', selected: true }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByText('Paste the ids or the addresses').waitFor();
});

test('the settings of two requests are compared by name, except those that have parts', () => {
  const a = { model: 'm', thinking: { budget: 1 }, stream: true, messages: [1] };
  const b = { model: 'm', thinking: { budget: 2 }, top_k: 3, messages: [2] };
  expect(comparedSettings(a, b).map(({ name, state }) => [name, state])).toEqual([
    ['model', 'same'],
    ['stream', 'only A'],
    ['thinking', 'changed'],
    ['top_k', 'only B'],
  ]);
});

const item = fc.record({ kind: fc.constantFrom('x', 'y'), text: fc.constantFrom('1', '2', '3') });

describe('an alignment', () => {
  test('has every item of both lists once, each list in its order except for items that are paired by kind, and marks equal items', () => {
    fc.assert(
      fc.property(fc.array(item), fc.array(item), (a, b) => {
        const pairs = alignItems(a, b, (one) => one);
        const [left, right] = [pairs.flatMap((pair) => pair.a ?? []), pairs.flatMap((pair) => pair.b ?? [])];
        expect(left).toEqual(a);
        expect(right.toSorted(byText)).toEqual(b.toSorted(byText));
        // Equal items are different calls: each stands on the side of its turn.
        expect(left.every((one) => a.includes(one)) && right.every((one) => b.includes(one))).toBe(true);
        for (const { state, a: one, b: other } of pairs) {
          if (state === 'same') expect(one).toEqual(other);
          if (state === 'changed') expect(one?.kind).toBe(other?.kind);
          expect(one === null).toBe(state === 'only B');
          expect(other === null).toBe(state === 'only A');
        }
      }),
    );
  });

  test('of a list with itself is the same throughout', () => {
    fc.assert(
      fc.property(fc.array(item), (a) => {
        expect(alignItems(a, a, (one) => one).every(({ state }) => state === 'same')).toBe(true);
      }),
    );
  });

  test('of texts has all lines of both; texts that are too long have none', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('p\n', 'q\n', 'r\n')), fc.array(fc.constantFrom('p\n', 'q\n')), (a, b) => {
        const runs = diffTexts(a.join(''), b.join('')) ?? [];
        const textOf = (side: string): string =>
          runs
            .filter((run) => run.side === 'both' || run.side === side)
            .map(({ text }) => text)
            .join('');
        expect(textOf('A')).toBe(a.join(''));
        expect(textOf('B')).toBe(b.join(''));
      }),
    );
    expect(diffTexts('x'.repeat(200_000), 'y')).toBeNull();
  });
});

function byText(a: { kind: string; text: string }, b: { kind: string; text: string }): number {
  return `${a.kind}${a.text}`.localeCompare(`${b.kind}${b.text}`);
}

test('a turn is tried with another text, and the comparison shows the words of both and leaves the original alone', async () => {
  const { page, signIn, open } = dashboard;
  const { rig } = dashboard;
  const id = await turnOf('tried', 'One. [[tool: echo {"n":1}]] [[reply: the first answer]]');
  await signIn();
  await open(`/turns/${id}`);
  await page.getByRole('button', { name: 'Try…' }).click();
  const dialog = page.getByRole('dialog', { name: /^Try turn/ });
  await expect.poll(() => dialog.getByLabel('Message').inputValue()).toContain('One.');
  await dialog
    .getByLabel('Message')
    .fill('Two. [[tool: echo {"n":1}]] [[tool: echo {"n":2}]] [[reply: the other answer]]');
  await dialog.getByRole('button', { name: 'Edit the system prompt' }).click();
  await expect.poll(() => dialog.getByLabel('System prompt').inputValue()).not.toBe('');
  expect(await violationsOn(page)).toEqual([]);
  const sent = page.waitForResponse((response) => response.url().endsWith(`/v1/turns/${id}/try`));
  await dialog.getByRole('button', { name: 'Try', exact: true }).click();
  const { message } = await (await sent).json();
  await rig.work(message.sessionKey);
  await page.waitForURL(`**/compare?a=${id}&b=*`);
  const replies = page.getByRole('region', { name: 'Replies' });
  await replies.locator('[data-side="A"]').filter({ hasText: 'the first answer' }).waitFor();
  await replies.locator('[data-side="B"]').filter({ hasText: 'the other answer' }).waitFor();
  const tools = page.getByRole('region', { name: 'Tools of both turns' });
  await tools.getByRole('row').filter({ hasText: 'only B' }).waitFor();
  expect((await rig.get('/v1/turns?session=tried')).body.items).toHaveLength(1);
});
