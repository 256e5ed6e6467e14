// Every action of the dashboard: how it is reached, what a person presses, and what the API says
// afterwards. The walk does each by mouse, again by keyboard alone, and again as a viewer.
import { newId } from '../../src/ids.ts';
import type { ApiRig } from '../api/api-rig.ts';
import { changeDeadLetters } from '../rows/dead-letters.ts';
import { removeApiKeys } from '../rows/keys.ts';
import { readSessions } from '../rows/sessions.ts';
import { ahead } from '../rows/table.ts';
import { openTurnElsewhere } from '../rows/turns.ts';
import { addWorkers } from '../rows/workers.ts';
import type { Hand } from './hand.ts';

/** The object of an action: a session with a turn or a message, or another row. */
export interface Subject {
  session: string;
  id: string;
}

export interface Action {
  name: string;
  /** Makes the object, with this name. */
  make: (rig: ApiRig, name: string) => Promise<Subject>;
  path: (subject: Subject) => string;
  /** The button that it begins with; a viewer has none. */
  button: string | RegExp | ((subject: Subject) => string);
  /** The further steps. */
  finish?: (hand: Hand, subject: Subject) => Promise<void>;
  /** The API's state afterwards. */
  read: (rig: ApiRig, subject: Subject) => Promise<unknown>;
  expected: unknown;
}

type Row = Record<string, unknown>;

export const itemsOf = async (rig: ApiRig, url: string): Promise<Row[]> => (await rig.get(url)).body.items;

async function turnOf(rig: ApiRig, session: string): Promise<Subject> {
  const [turn] = await itemsOf(rig, `/v1/turns?session=${session}`);
  return { session, id: String(turn?.['id']) };
}

/** A session whose turn has failed. */
async function failed(rig: ApiRig, session: string): Promise<Subject> {
  await rig.post(`/v1/sessions/${session}/messages`, { text: '[[error: 400 message="no"]]' });
  await rig.work(session);
  return turnOf(rig, session);
}

/** A session whose turn is open in a process that has crashed. */
async function running(rig: ApiRig, session: string): Promise<Subject> {
  await rig.turns.sessionOf(session);
  const id = await openTurnElsewhere(rig, { key: `agent:main:${session}` });
  return { session, id };
}

/** A session with a reply. */
async function answered(rig: ApiRig, session: string): Promise<Subject> {
  await rig.post(`/v1/sessions/${session}/messages`, { text: '[[reply: hello]]' });
  await rig.work(session);
  return turnOf(rig, session);
}

async function waiting(rig: ApiRig, session: string): Promise<Subject> {
  const { body } = await rig.post(`/v1/sessions/${session}/messages`, { text: 'later' });
  return { session, id: body.message.id };
}

async function worker(rig: ApiRig, name: string): Promise<Subject> {
  const id = newId<string>();
  await addWorkers(rig, { id, name, seenAt: ahead('1 hour') });
  return { session: name, id };
}

/** The only dead letters. */
async function letter(rig: ApiRig, session: string): Promise<Subject> {
  await changeDeadLetters(rig, {}, { state: 'discarded' });
  return failed(rig, session);
}

const sessionPath = ({ session }: Subject): string => `/sessions/agent:main:${session}`;
const bulkOf = async (rig: ApiRig): Promise<unknown> => (await itemsOf(rig, '/v1/bulk-actions'))[0];
const statusesOf = async (rig: ApiRig, session: string): Promise<unknown[]> =>
  (await itemsOf(rig, `/v1/waiting?session=${session}`)).map(({ status }) => status);

export const ACTIONS: readonly Action[] = [
  {
    name: 'drain a process',
    make: worker,
    path: () => '/processes',
    // The list may be a second old, with the processes of other actions.
    button: ({ session: name }) => `Drain… ${name}`,
    finish: (hand) => hand.press('Drain the process'),
    read: async (rig, { id }) => (await itemsOf(rig, '/v1/workers')).find((each) => each['id'] === id)?.['state'],
    expected: 'draining',
  },
  {
    name: 'cancel all that waits',
    make: waiting,
    path: () => '/waiting',
    button: 'Cancel all that match…',
    finish: (hand) => hand.press(/^Cancel \d+ messages?$/),
    read: bulkOf,
    expected: { action: 'cancel', target: 'messages' },
  },
  {
    name: 'pause a session',
    make: waiting,
    path: () => '/waiting',
    button: 'Pause work…',
    async finish(hand, { session }) {
      await hand.write('Session', session);
      await hand.press(/^Pause session/);
    },
    read: async (rig, { id }) => (await rig.get(`/v1/messages/${id}`)).body.why.code,
    expected: 'paused',
  },
  {
    name: 'resume a session',
    async make(rig, session) {
      await rig.post('/v1/resume');
      const subject = await waiting(rig, session);
      await rig.post('/v1/pause', { session });
      return subject;
    },
    path: () => '/waiting',
    button: /^Resume session/,
    read: async (rig) => (await itemsOf(rig, '/v1/pauses')).length,
    expected: 0,
  },
  {
    name: 'unblock a model',
    async make(rig, session) {
      await rig.post(`/v1/sessions/${session}/messages`, {
        text: '[[error: 529 retry-after=600]] [[reply: here]]',
        model: `anthropic/${session}`,
      });
      await rig.work(session);
      return { session, id: `anthropic/${session}` };
    },
    path: () => '/waiting',
    button: ({ id }) => `Unblock… ${id}`,
    finish: (hand) => hand.press('Unblock the model'),
    read: async (rig, { id }) => (await itemsOf(rig, '/v1/model-blocks')).some(({ model }) => model === id),
    expected: false,
  },
  {
    name: 'retry the turns of a list',
    make: failed,
    path: ({ session }) => `/turns?session=${session}`,
    button: 'Retry all that match…',
    finish: async (hand) => {
      await hand.write('Reason (kept in the audit log)', 'by hand');
      await hand.press('Retry 1 turn');
    },
    read: bulkOf,
    expected: { action: 'retry', target: 'turns', total: 1, reason: 'by hand' },
  },
  {
    name: 'abort the turns of a list',
    make: running,
    path: ({ session }) => `/turns?session=${session}`,
    button: 'Abort all that match…',
    finish: (hand) => hand.press('Abort 1 turn'),
    read: bulkOf,
    expected: { action: 'abort', target: 'turns', total: 1 },
  },
  {
    name: 'retry a turn',
    make: failed,
    path: ({ id }) => `/turns/${id}`,
    button: 'Retry…',
    finish: (hand) => hand.press('Retry the turn'),
    read: (rig, { session }) => statusesOf(rig, session),
    expected: ['waiting'],
  },
  {
    name: 'retry a turn with another text',
    make: failed,
    path: ({ id }) => `/turns/${id}`,
    button: 'Retry with another text…',
    finish: async (hand) => {
      await hand.write('Text', 'by hand');
      await hand.press('Retry with this text');
    },
    read: async (rig, { id }) => (await rig.get(`/v1/turns/${id}`)).body.retriedAs.length,
    expected: 1,
  },
  {
    name: 'abort a turn',
    make: running,
    path: ({ id }) => `/turns/${id}`,
    button: 'Abort…',
    finish: (hand) => hand.press('Abort the turn'),
    read: (rig, { id }) => readSessions(rig, { turnId: id }, 'stopKind'),
    expected: [{ stopKind: 'stopped' }],
  },
  {
    name: 'abort a session',
    make: running,
    path: sessionPath,
    button: 'Abort…',
    finish: (hand) => hand.press('Abort'),
    read: (rig, { id }) => readSessions(rig, { turnId: id }, 'stopKind'),
    expected: [{ stopKind: 'stopped' }],
  },
  {
    name: 'reset a session',
    make: answered,
    path: sessionPath,
    button: 'Reset…',
    finish: (hand) => hand.press('Reset'),
    read: async (rig, { session }) => (await itemsOf(rig, `/v1/sessions/${session}/transcript`)).length,
    expected: 0,
  },
  {
    name: 'compact a session',
    make: answered,
    path: sessionPath,
    button: 'Compact…',
    finish: (hand) => hand.press('Compact'),
    read: async (rig, { session }) =>
      (await itemsOf(rig, '/v1/audit')).find((each) => String(each['target']).includes(session))?.['action'],
    expected: 'compactSession',
  },
  ...(['Abort', 'Compact', 'Reset'] as const).map((verb) => ({
    name: `${verb.toLowerCase()} a session of the list`,
    make: verb === 'Abort' ? running : answered,
    path: ({ session }: Subject) => `/sessions?q=${session}`,
    button: ({ session }: Subject) => `Actions… agent:main:${session}`,
    async finish(hand: Hand, { session }: Subject) {
      await hand.press(`${verb}… agent:main:${session}`);
      await hand.press(verb);
    },
    read: async (rig: ApiRig, { session }: Subject) =>
      (await itemsOf(rig, '/v1/audit')).find((each) => String(each['target']).includes(session))?.['action'],
    expected: `${verb.toLowerCase()}Session`,
  })),
  {
    name: 'stop all runs of a family',
    async make(rig, name) {
      await rig.turns.sessionOf(name);
      return { session: name, id: (await rig.post(`/v1/sessions/${name}/spawn`, { task: 'later' })).body.runId };
    },
    path: (subject) => `${sessionPath(subject)}/family`,
    button: 'Stop all that run…',
    finish: (hand) => hand.press('Stop 1 run'),
    read: async (rig, { id }) => (await rig.get(`/v1/subagents/${id}`)).body,
    expected: { status: 'killed' },
  },
  {
    name: 'redrive dead letters',
    make: letter,
    path: () => '/dead-letters',
    button: 'Redrive…',
    finish: (hand) => hand.press('Redrive 1 dead letter'),
    read: bulkOf,
    expected: { action: 'redrive', target: 'dead-letters', total: 1 },
  },
  {
    name: 'discard dead letters',
    make: letter,
    path: () => '/dead-letters',
    button: /^Discard… /,
    finish: (hand) => hand.press('Discard 1 dead letter'),
    read: bulkOf,
    expected: { action: 'discard', target: 'dead-letters', total: 1 },
  },
  {
    name: 'revoke a key',
    async make(rig, name) {
      await removeApiKeys(rig);
      return { session: '', id: (await rig.post('/v1/keys', { name, role: 'viewer' })).body.id };
    },
    path: () => '/settings',
    button: 'Revoke…',
    finish: (hand) => hand.press('Revoke the key'),
    read: async (rig, { id }) =>
      typeof (await itemsOf(rig, '/v1/keys')).find((each) => each['id'] === id)?.['revokedAt'],
    expected: 'string',
  },
];
