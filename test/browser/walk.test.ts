// A walk through every action: by mouse, by keyboard alone, and as a viewer, who has no button and
// is refused what the page would have sent. In the short form each action is done by one of the
// two, in turn, and what a viewer sends is refused.
import { describe, expect, test } from 'vitest';
import { isLongForm } from '../servers/test-form.ts';
import { ACTIONS, type Action, type Subject } from './actions.ts';
import { SESSION_ACTIONS } from './session-actions.ts';
import { WORK_ACTIONS } from './work-actions.ts';
import { useDashboard, VIEWER_KEY } from './dashboard-rig.ts';
import { handOf } from './hand.ts';

const dashboard = useDashboard();
const nameOf = (button: Action['button'], subject: Subject): string | RegExp =>
  typeof button === 'function' ? button(subject) : button;
const ALL = [...ACTIONS, ...SESSION_ACTIONS, ...WORK_ACTIONS];
const BOTH = ['mouse', 'keyboard'] as const;
const handsOf = (name: string) =>
  BOTH.filter((_, n) => isLongForm() || n === ALL.findIndex((one) => one.name === name) % 2);

describe.each(ALL)('$name', ({ name, make, path, button, finish, read, expected }) => {
  test.each(handsOf(name))('with the %s', async (kind) => {
    const { page, rig, signIn, open, settle, requests, url } = dashboard;
    const subject = await make(rig, `${name} ${kind}`.replaceAll(' ', '-'));
    await signIn();
    await open(path(subject));
    await settle();
    requests.length = 0;
    const hand = handOf(kind, page);
    await hand.press(nameOf(button, subject));
    await finish?.(hand, subject);
    await expect.poll(() => read(rig, subject)).toMatchObject(expected as object);

    const changes = () => requests.filter(({ method }) => method !== 'GET');
    await expect.poll(() => changes().length).toBeGreaterThan(0);
    for (const { method, url: to, body } of changes()) {
      const answer = await fetch(to, {
        method,
        body,
        headers: { authorization: `Bearer ${VIEWER_KEY}`, 'content-type': 'application/json' },
      });
      expect([answer.status, new URL(to).origin]).toEqual([403, url]);
    }
  });

  test.runIf(isLongForm())('not as a viewer', async () => {
    const { page, rig, signIn, open, settle } = dashboard;
    const subject = await make(rig, `${name} viewer`.replaceAll(' ', '-'));
    await signIn(VIEWER_KEY);
    await open(path(subject));
    await settle();
    expect(
      await page.getByRole('button', { name: nameOf(button, subject), exact: true, includeHidden: true }).count(),
    ).toBe(0);
  });
});

test.each(BOTH)('a message is sent and a key is made with the %s', async (kind) => {
  const { page, rig, signIn, open } = dashboard;
  const hand = handOf(kind, page);
  await rig.turns.sessionOf(`written-${kind}`);
  await signIn();
  await open(`/sessions/agent:main:written-${kind}`);
  await hand.write('Message', 'by hand');
  await hand.press('Send');
  const texts = async (): Promise<string[]> =>
    (await rig.get(`/v1/waiting?session=written-${kind}`)).body.items.map(({ text }: { text: string }) => text);
  await expect.poll(texts).toEqual(['by hand']);

  await open('/settings');
  await hand.write('Name', `made-${kind}`);
  await hand.choose('Role', 'operator');
  await hand.press('Create a key');
  await page.getByText('which is not shown again').waitFor();
  const { items } = (await rig.get('/v1/keys')).body;
  expect(items).toContainEqual(expect.objectContaining({ name: `made-${kind}`, role: 'operator' }));
});
