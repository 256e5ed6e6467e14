// The actions of the screen of a session beyond those of every day, and of what waits in it; see
// actions.ts.
import type { ApiRig } from '../api/api-rig.ts';
import { seedHistory } from '../turn/seed-history.ts';
import { itemsOf, type Action, type Subject } from './actions.ts';

/** A session with some replies. */
async function talked(rig: ApiRig, session: string): Promise<Subject> {
  for (let n = 1; n <= 3; n += 1) {
    await rig.post(`/v1/sessions/${session}/messages`, { text: `[[reply: answer ${n}]]` });
    await rig.work(session);
  }
  return { session, id: '' };
}

/** A session with a history that was compacted. */
async function compacted(rig: ApiRig, session: string): Promise<Subject> {
  await seedHistory(rig.turns, session, { turns: 10, tokens: 8_000 });
  await rig.post(`/v1/sessions/${session}/compact`, {});
  await rig.work(session);
  return { session, id: '' };
}

const sessionPath = ({ session }: Subject): string => `/sessions/agent:main:${session}`;
const entriesOf = async (rig: ApiRig, session: string): Promise<unknown[]> =>
  (await itemsOf(rig, `/v1/sessions/${session}/transcript`)).map(({ seq }) => seq);
const nameOfFork = ({ session }: Subject): string => `${session}-copy`;

export const SESSION_ACTIONS: readonly Action[] = [
  {
    name: 'fork a session',
    make: talked,
    path: sessionPath,
    button: 'Fork…',
    async finish(hand, subject) {
      await hand.write('Key of the new session', nameOfFork(subject));
      await hand.press('Fork');
    },
    read: (rig, subject) => entriesOf(rig, nameOfFork(subject)),
    expected: [1, 2, 3, 4, 5, 6],
  },
  {
    name: 'fork a session from an entry',
    make: talked,
    path: sessionPath,
    button: 'Fork from here… #4',
    async finish(hand, subject) {
      await hand.write('Key of the new session', nameOfFork(subject));
      await hand.press('Fork');
    },
    read: (rig, subject) => entriesOf(rig, nameOfFork(subject)),
    expected: [1, 2, 3, 4],
  },
  {
    name: 'add a system event',
    make: talked,
    path: sessionPath,
    button: 'Add event…',
    async finish(hand) {
      await hand.write('Text', 'the deploy is done');
      await hand.press('Add');
    },
    read: async (rig, { session }) =>
      (await itemsOf(rig, `/v1/sessions/${session}/system-events`)).map(({ text }) => text),
    expected: ['the deploy is done'],
  },
  {
    name: 'override the settings of a session',
    make: talked,
    path: sessionPath,
    button: 'Overrides…',
    async finish(hand) {
      await hand.write('Name for people', 'night shift');
      await hand.choose('Thinking', 'low');
      await hand.write('Messages in a turn, at most', '7');
      await hand.press('Save');
    },
    read: async (rig, { session }) => (await rig.get(`/v1/sessions/${session}`)).body,
    expected: { label: 'night shift', thinking: 'low', queueCap: 7, queueMode: null, model: null },
  },
  {
    name: 'restore a compaction',
    make: compacted,
    path: (subject) => `${sessionPath(subject)}?beside=compactions`,
    button: 'Restore…',
    finish: (hand) => hand.press('Restore'),
    read: async (rig, { session }) =>
      (await itemsOf(rig, `/v1/sessions/${session}/compactions`)).map(({ status }) => status),
    expected: ['restored'],
  },
];
