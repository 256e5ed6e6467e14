import { describe, expect, test } from 'vitest';
import { readDeliveries } from '../../rows/deliveries.ts';
import { changeInputs, readInputs } from '../../rows/inputs.ts';
import { withFields } from '../../rows/table.ts';
import { useApiRig } from '../../api/use-api-rig.ts';

const holder = useApiRig();

async function poll() {
  const answer = await holder.rig.post('/v1/agents/main/heartbeat');
  expect(answer.status).toBe(202);
  return answer.body;
}

async function pollOf(id: string) {
  const all = (await holder.rig.get('/v1/heartbeats?agent=main&limit=100')).body.items;
  return all.find((one: { id: string }) => one.id === id);
}

/** The rows that earlier polls and answers of the main session have left. */
async function prunedEntries() {
  const all = (await holder.rig.get('/v1/sessions/main/transcript?state=all')).body.items;
  return all.filter(({ state }: { state: string }) => state === 'pruned');
}

/** Makes the next answer of the main session this one. */
async function answerWith(text: string): Promise<void> {
  const waiting = { kind: 'heartbeat', status: 'waiting' };
  for (const input of await readInputs(holder.rig, waiting, 'id', 'text')) {
    const body = withFields({ text: `${input.text} [[reply: ${text}]]` });
    await changeInputs(holder.rig, { id: input.id }, { body });
  }
}

/** The result of a poll with this answer. */
async function resultOf(text: string): Promise<unknown> {
  const { id } = await poll();
  await answerWith(text);
  await holder.rig.work('main');
  return (await pollOf(id)).result;
}

const lastTurn = async () => (await holder.rig.get('/v1/turns?kind=heartbeat&limit=1')).body.items[0];

describe('a requested poll', () => {
  test('waits in the main session with the prompt and the time', async () => {
    const { rig } = holder;
    const made = await poll();
    expect(made).toMatchObject({
      agentId: 'main',
      sessionKey: 'agent:main:main',
      trigger: 'manual',
      status: 'fired',
      reason: null,
      result: null,
    });
    expect((await rig.get(`/v1/messages/${made.messageId}`)).body).toMatchObject({
      kind: 'heartbeat',
      status: 'waiting',
      text: expect.stringMatching(
        /^Read HEARTBEAT\.md if it exists[^\n]+reply HEARTBEAT_OK\.\nCurrent time: \w{3} \d{4}-\d\d-\d\d \d\d:\d\d UTC$/,
      ),
    });
    expect(rig.rings.at(-1)).toMatchObject({ kind: 'heartbeat', lane: 'main' });
    await answerWith('HEARTBEAT_OK');
    await rig.work('main');
    expect(await pollOf(made.id)).toMatchObject({ result: 'acknowledged', turnId: expect.any(String) });
  });

  test("that is acknowledged leaves no trace in the model's view, and its rows stay (G15)", async () => {
    const { rig } = holder;
    await rig.settle('main', 'Remember seven. [[reply: Seven.]]');
    const prunedBefore = (await prunedEntries()).length;
    await poll();
    await answerWith('HEARTBEAT_OK');
    await rig.work('main');
    await rig.settle('main', 'Which number? [[reply: It was seven.]]');
    const request = rig.turns.scripted.requests.at(-1)?.body as { messages: unknown };
    const sent = JSON.stringify(request.messages);
    expect(sent).toContain('Remember seven.');
    expect(sent).not.toContain('Read HEARTBEAT.md');
    expect(sent).not.toContain('HEARTBEAT_OK');
    expect(await prunedEntries()).toHaveLength(prunedBefore + 2);
    const active = (await rig.get('/v1/sessions/main/transcript')).body.items;
    expect(active.map(({ content }: { content: { text: string }[] }) => content[0]?.text.split(' ')[0])).toEqual([
      'Remember',
      'Seven.',
      'Which',
      'It',
    ]);
    // The next entry follows the last one before the poll.
    expect(active[2].parentId).toBe(active[1].id);
    // The request of the poll can still be derived, with the poll.
    const turn = (await rig.get('/v1/turns?kind=heartbeat')).body.items[0];
    const derived = await rig.get(`/v1/turns/${turn.id}/requests/1`);
    expect(JSON.stringify(derived.body)).toContain('Read HEARTBEAT.md');
  });

  test('with an alert is kept and sent once a day', async () => {
    const { rig } = holder;
    expect(await resultOf('The disk is full.')).toBe('alert');
    expect(await lastTurn()).toMatchObject({ status: 'completed', reply: 'The disk is full.' });
    expect(await resultOf('The disk is full.')).toBe('duplicate');
    expect(await lastTurn()).toMatchObject({ status: 'silent', reply: null });
    expect(await resultOf('The disk is on fire.')).toBe('alert');
    expect(await resultOf('The disk is full.')).toBe('duplicate');
    // A new conversation does not make it news.
    await rig.settle('main', '/new Start again. [[reply: Yes.]]');
    expect(await resultOf('The disk is on fire.')).toBe('duplicate');
  });

  test('can add three hundred characters to the token, and is sent without it when it adds more', async () => {
    expect(await resultOf(`HEARTBEAT_OK ${'x'.repeat(300)}`)).toBe('acknowledged');
    await resultOf(`HEARTBEAT_OK ${'x'.repeat(301)}`);
    expect((await lastTurn()).reply).toBe('x'.repeat(301));
  });

  test('is sent to no channel when the target is none', async () => {
    expect(await readDeliveries(holder.rig, {}, 'id')).toEqual([]);
  });

  test('of an unknown agent is refused', async () => {
    expect(await holder.rig.post('/v1/agents/nobody/heartbeat')).toMatchObject({
      status: 404,
      body: { code: 'unknown_agent' },
    });
  });
});
