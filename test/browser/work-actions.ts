// The actions of the screens of batches, evaluations, crons, budgets, deliveries, heartbeats and
// keys; see actions.ts.
import { expect } from 'vitest';
import { newId } from '../../src/ids.ts';
import type { ApiRig } from '../api/api-rig.ts';
import { removeBudgets } from '../rows/budgets.ts';
import { addDeliveries, changeDeliveries } from '../rows/deliveries.ts';
import { ahead } from '../rows/table.ts';
import { addRunning } from './fixture/evaluated.ts';
import type { Hand } from './hand.ts';
import { itemsOf, type Action, type Subject } from './actions.ts';

async function batch(rig: ApiRig, name: string): Promise<Subject> {
  const { body } = await rig.post('/v1/batches', { name, items: [{ text: 'one' }, { text: 'two' }] });
  return { session: '', id: body.id };
}

async function cron(rig: ApiRig, name: string): Promise<Subject> {
  const schedule = { kind: 'cron', expr: '0 9 1 1 *' };
  const { body } = await rig.post('/v1/crons', { name, schedule, payload: { kind: 'agentTurn', message: 'Go.' } });
  return { session: '', id: body.id };
}

/** The only budget. */
async function budget(rig: ApiRig): Promise<Subject> {
  await removeBudgets(rig);
  const { body } = await rig.post('/v1/budgets', { scope: 'agent:main', per: 'day', limitUsd: 1_000 });
  return { session: '', id: body.id };
}

async function delivery(rig: ApiRig, session: string): Promise<Subject> {
  const id = newId<string>();
  await addDeliveries(rig, {
    id,
    sessionId: await rig.turns.sessionOf(session),
    status: 'failed',
    expiresAt: ahead('1 day'),
  });
  return { session, id };
}

const batchOf = async (rig: ApiRig, { id }: Subject): Promise<unknown> => (await rig.get(`/v1/batches/${id}`)).body;
const batchPath = ({ id }: Subject): string => `/batches/${id}`;
const evaluationOf = async (rig: ApiRig, { id }: Subject): Promise<unknown> =>
  (await rig.get(`/v1/evaluations/${id}`)).body;
const cronOf = async (rig: ApiRig, { id }: Subject): Promise<unknown> => (await rig.get(`/v1/crons/${id}`)).body;
const cronPath = ({ id }: Subject): string => `/crons/${id}`;
const budgetsOf = (rig: ApiRig): Promise<unknown[]> => itemsOf(rig, '/v1/budgets');
const deliveryPath = ({ id }: Subject): string => `/deliveries?open=${id}`;
const deliveryOf = async (rig: ApiRig, { id }: Subject): Promise<unknown> =>
  (await itemsOf(rig, '/v1/deliveries')).find((each) => each['id'] === id);

export const WORK_ACTIONS: readonly Action[] = [
  {
    name: 'pause a batch',
    make: batch,
    path: batchPath,
    button: 'Pause batch',
    read: batchOf,
    expected: { status: 'paused', pauseReason: 'manual' },
  },
  {
    name: 'resume a batch',
    async make(rig, name) {
      const made = await batch(rig, name);
      await rig.post(`/v1/batches/${made.id}/pause`);
      return made;
    },
    path: batchPath,
    button: 'Resume batch',
    read: batchOf,
    expected: { status: 'running' },
  },
  {
    name: 'change a batch',
    make: batch,
    path: batchPath,
    button: 'Change…',
    async finish(hand) {
      await hand.write('Items in flight at most', '3');
      await hand.press('Change');
    },
    read: batchOf,
    expected: { concurrency: 3 },
  },
  {
    name: 'cancel a batch',
    make: batch,
    path: batchPath,
    button: 'Cancel…',
    finish: (hand) => hand.press('Cancel'),
    read: batchOf,
    expected: { counts: { total: 2 }, status: expect.stringMatching(/cancelling|ended/) },
  },
  ...(
    [
      ['pause', 'Pause', 'paused'],
      ['cancel', 'Cancel…', /cancelling|ended/],
    ] as const
  ).map(([name, button, status]) => ({
    name: `${name} a batch of the list`,
    make: async (rig: ApiRig, session: string) => ({ ...(await batch(rig, session)), session }),
    path: () => '/batches',
    button: ({ session }: Subject) => `Actions… ${session}`,
    async finish(hand: Hand, { session }: Subject) {
      await hand.press(`${button} ${session}`);
      if (name === 'cancel') await hand.press('Cancel');
    },
    read: batchOf,
    expected: { status: expect.stringMatching(status) },
  })),
  ...(
    [
      ['pause', 'Pause evaluation', { status: 'paused' }],
      ['resume', 'Resume evaluation', { status: 'running' }],
      ['cancel', 'Cancel…', { status: expect.stringMatching(/running|ended/) }],
    ] as const
  ).map(([verb, button, expected]) => ({
    name: `${verb} an evaluation`,
    async make(rig: ApiRig, name: string) {
      const { id } = await addRunning(rig, name);
      if (verb === 'resume') await rig.post(`/v1/evaluations/${id}/pause`);
      return { session: '', id };
    },
    path: ({ id }: Subject) => `/evaluations/${id}`,
    button,
    ...(verb === 'cancel' ? { finish: (hand: Hand) => hand.press('Cancel evaluation') } : {}),
    read: evaluationOf,
    expected,
  })),
  {
    name: 'run a cron',
    make: cron,
    path: cronPath,
    button: 'Run now',
    read: async (rig, { id }) => (await itemsOf(rig, `/v1/crons/${id}/fires`))[0],
    expected: { isManual: true },
  },
  {
    name: 'pause a cron',
    make: cron,
    path: cronPath,
    button: 'Pause cron',
    read: cronOf,
    expected: { enabled: false },
  },
  {
    name: 'delete a cron',
    make: cron,
    path: cronPath,
    button: 'Delete…',
    finish: (hand) => hand.press('Delete the cron'),
    read: cronOf,
    expected: { code: 'not_found' },
  },
  {
    name: 'add a budget',
    async make(rig) {
      await removeBudgets(rig);
      return { session: '', id: '' };
    },
    path: () => '/costs',
    button: 'Add a budget…',
    async finish(hand) {
      await hand.write('Limit in US dollars', '7');
      await hand.press('Add the budget');
    },
    read: async (rig) => (await budgetsOf(rig))[0],
    expected: { limitUsd: 7 },
  },
  {
    name: 'remove a budget',
    make: budget,
    path: () => '/costs',
    button: 'Remove…',
    finish: (hand) => hand.press('Remove the budget'),
    read: async (rig) => (await budgetsOf(rig)).length,
    expected: 0,
  },
  {
    name: 'redrive a delivery',
    make: delivery,
    path: deliveryPath,
    button: 'Redrive…',
    finish: (hand) => hand.press('Redrive the delivery'),
    read: deliveryOf,
    expected: { status: 'pending' },
  },
  {
    name: 'send a delivery now',
    async make(rig, session) {
      const made = await delivery(rig, session);
      await changeDeliveries(rig, { id: made.id }, { status: 'pending', attempts: 1, dueAt: ahead('1 hour') });
      return made;
    },
    path: deliveryPath,
    button: 'Send now',
    async read(rig, subject) {
      const { status, dueAt, createdAt } = (await deliveryOf(rig, subject)) as Record<string, string>;
      return { status, isDue: Date.parse(dueAt ?? '') - Date.parse(createdAt ?? '') < 600_000 };
    },
    expected: { status: 'pending', isDue: true },
  },
  {
    name: 'discard a delivery',
    make: delivery,
    path: deliveryPath,
    button: 'Discard…',
    finish: (hand) => hand.press('Discard the delivery'),
    read: deliveryOf,
    expected: { status: 'discarded' },
  },
  {
    name: 'poll an agent',
    make: () => Promise.resolve({ session: '', id: '' }),
    path: () => '/heartbeats',
    button: 'Poll main now',
    read: async (rig) => (await itemsOf(rig, '/v1/heartbeats'))[0],
    expected: { agentId: 'main', trigger: 'manual' },
  },
  {
    name: 'create a key',
    make: async (rig, name) => {
      const { id } = (await rig.post('/v1/keys', { name: `${name}-1`, role: 'viewer' })).body;
      return { session: name, id };
    },
    path: () => '/settings',
    // It asks for the name.
    button: 'Create a key',
    async finish(hand, { session: name }) {
      await hand.write('Name', name);
      await hand.write('Replaces (name or id)', `${name}-1`);
      await hand.press('Create a key');
    },
    async read(rig, { session: name, id }) {
      const { role, replaces } = (await itemsOf(rig, '/v1/keys')).find((each) => each['name'] === name) ?? {};
      return { role, isSuccessor: replaces === id };
    },
    expected: { role: 'viewer', isSuccessor: true },
  },
];
