import { describe, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { addBatchItems } from '../rows/batches.ts';
import { changeToolCalls } from '../rows/calls.ts';
import { changeInputs } from '../rows/inputs.ts';
import { now } from '../rows/table.ts';
import { changeTurns } from '../rows/turns.ts';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();

/** Runs a turn with this text, and returns it and its message. */
async function turnOf(session: string, text: string, more: object = {}) {
  const { rig } = holder;
  const message = await rig.settle(session, text, more);
  return { message, turn: (await rig.get(`/v1/turns/${message.turnId}`)).body };
}

async function turnIds(query: string): Promise<string[]> {
  return (await holder.rig.get(`/v1/turns?${query}`)).body.items.map(({ id }: { id: string }) => id);
}

async function sessionKeys(query: string): Promise<string[]> {
  return (await holder.rig.get(`/v1/sessions?${query}`)).body.items.map(({ key }: { key: string }) => key);
}

describe('turns', () => {
  test('are found by agent, model, tool, error code, worker, duration, cost and end of time', async () => {
    const bad = (await turnOf('searched', 'bad [[error: 400]]')).turn;
    const usage = '[[usage: input=1000 output=200 cache-read=0 cache-write=0]]';
    const good = (await turnOf('searched', `do [[tool: echo {}]] ${usage} [[reply: done]]`)).turn;
    const mine = (query: string) => turnIds(`session=searched&${query}`);
    expect(await mine('agent=main')).toEqual([good.id, bad.id]);
    expect(await mine('agent=other')).toEqual([]);
    expect(await mine(`model=anthropic/${good.model}`)).toEqual([good.id, bad.id]);
    expect(await mine(`model=${good.model}`)).toEqual([good.id, bad.id]);
    expect(await mine('model=another')).toEqual([]);
    expect(await mine('tool=echo')).toEqual([good.id]);
    expect(await mine(`code=${bad.error.code}`)).toEqual([bad.id]);
    expect(await mine('code=code')).toEqual([]);
    expect(await mine(`worker=${good.worker}`)).toEqual([good.id, bad.id]);
    expect(await mine('worker=nothing')).toEqual([]);
    expect(await mine('minMs=100000000')).toEqual([]);
    await changeTurns(holder.rig, { id: bad.id }, { endedAt: new Date(Date.parse(bad.startedAt) + 2_001) });
    expect(await mine('minMs=2000')).toEqual([bad.id]);
    expect(await mine('minCostUsd=0.004')).toEqual([good.id]);
    expect(await mine(`until=${bad.startedAt}`)).toEqual([]);
    expect(await mine('until=2999-01-01T00:00:00Z')).toEqual([good.id, bad.id]);
    expect((await holder.rig.get('/v1/turns?minCostUsd=much')).body).toMatchObject({ code: 'invalid_query' });
  });

  test('are found by a call of which it is not known whether it has taken effect, of any tool or of one', async () => {
    const paid = (await turnOf('paid', 'do [[tool: echo {}]] [[reply: done]]')).turn;
    const later = (await turnOf('paid', 'do [[tool: echo {}]] & [[tool: noop {}]] [[reply: done]]')).turn;
    expect(paid).toMatchObject({ unknownCalls: 0, nextStep: null });
    expect(await turnIds('callStatus=unknown')).toEqual([]);
    const unknown = { status: 'unknown', unknownAt: now };
    await changeToolCalls(holder.rig, { turnId: paid.id }, unknown);
    await changeToolCalls(holder.rig, { turnId: later.id, ordinal: 1 }, unknown);
    expect(await turnIds('callStatus=unknown')).toEqual([later.id, paid.id]);
    expect(await turnIds('callStatus=unknown&tool=echo&status=completed')).toEqual([later.id, paid.id]);
    expect(await turnIds('callStatus=unknown&tool=noop'), 'another call of the turn').toEqual([]);
    const [listed] = (await holder.rig.get('/v1/turns?callStatus=unknown&steps=none')).body.items;
    expect(listed).toMatchObject({ unknownCalls: 1, nextStep: expect.stringContaining('unknown outcome') });
    expect((await holder.rig.get('/v1/turns/count?callStatus=unknown')).body).toEqual({ count: 2, isCapped: false });
    expect((await holder.rig.get('/v1/turns?callStatus=done')).body).toMatchObject({ code: 'invalid_query' });
  });

  test('are found by q: an id, a session key, the id of a message on its platform, or an error code', async () => {
    const { turn, message } = await turnOf('sought:telegram:42', 'bad [[error: 400]]', {
      messageId: 'tg-1017',
      channel: 'telegram',
    });
    for (const q of [turn.id, message.id, 'sought:telegram:42', 'tg-1017', 'ought:TELEGRAM']) {
      expect(await turnIds(`q=${q}`), q).toEqual([turn.id]);
    }
    expect(await turnIds(`q=${turn.error.code}&session=sought:telegram:42`)).toEqual([turn.id]);
    expect(await turnIds(`q=${newId()}`)).toEqual([]);
    expect(await turnIds('q=tg-101')).toEqual([]);
  });

  test('are found by the last digits of their id or of that of a message, in any case', async () => {
    const { turn, message } = await turnOf('by-end', '[[reply: found]]');
    await turnOf('not-by-end', '[[reply: other]]');
    for (const id of [turn.id, message.id]) {
      expect(await turnIds(`q=${id.slice(-6)}`), id).toEqual([turn.id]);
      expect(await turnIds(`q=${id.slice(-12).toUpperCase()}`), id).toEqual([turn.id]);
      expect(await sessionKeys(`q=${id.slice(-8)}`), id).toEqual(['agent:main:by-end']);
    }
  });

  test('are found by the batch whose items they answer, in all attempts', async () => {
    const { rig } = holder;
    const batch = newId();
    const turns = [];
    for (const attempt of [1, 2]) {
      const { turn, message } = await turnOf('of-batch', `[[reply: ${attempt}]]`);
      await changeInputs(rig, { id: message.id }, { causeKey: `batch:${batch}:1:${attempt}` });
      turns.unshift(turn.id);
    }
    await addBatchItems(rig, {
      batchId: batch,
      n: 1,
      sessionKey: 'agent:main:of-batch',
      isOwnSession: true,
      isReady: true,
      body: {},
      attempt: 2,
    });
    expect(await turnIds(`batch=${batch}`)).toEqual(turns);
    expect(await turnIds(`batch=${newId()}`)).toEqual([]);
  });

  test('are listed as each is by itself, with their attempts', async () => {
    const { turn } = await turnOf('whole', 'do [[tool: echo {}]] [[reply: done]]');
    expect(turn.attempts).toMatchObject([{ attempt: 1, worker: turn.worker }]);
    expect((await holder.rig.get('/v1/turns?session=whole')).body.items).toEqual([
      { ...turn, firstWords: 'do [[tool: echo {}]] [[reply: done]]', person: null, channel: null },
    ]);
  });

  test('are listed without steps and spans on request, with the number of steps', async () => {
    const { turn } = await turnOf('slim', 'do [[tool: echo {}]] [[reply: done]]');
    const [slim] = (await holder.rig.get('/v1/turns?session=slim&steps=none')).body.items;
    const { steps: _steps, spans: _spans, attempts: _attempts, previousTurnId, nextTurnId, ...rest } = turn;
    expect(slim).toEqual({ ...rest, firstWords: 'do [[tool: echo {}]] [[reply: done]]', person: null, channel: null });
    expect([previousTurnId, nextTurnId]).toEqual([null, null]);
    expect(slim.stepCount).toBe(2);
  });

  test('are counted with the same filters', async () => {
    const { rig } = holder;
    await turnOf('counted-turns', '[[reply: ok]]');
    const count = async (query: string) => (await rig.get(`/v1/turns/count?${query}`)).body;
    expect(await count('session=counted-turns')).toEqual({ count: 1, isCapped: false });
    expect(await count('session=counted-turns&status=failed')).toEqual({ count: 0, isCapped: false });
  });
});

describe('sessions', () => {
  test('are found by agent, channel, status and q', async () => {
    const { rig } = holder;
    await rig.post('/v1/sessions/agent:main:found:a/messages', { text: 'x', channel: 'matrix', messageId: 'mx-7' });
    const { turn } = await turnOf('found:b', '[[reply: ok]]');
    expect(await sessionKeys('channel=matrix')).toEqual(['agent:main:found:a']);
    expect(await sessionKeys('q=found:&status=waiting')).toEqual(['agent:main:found:a']);
    expect(await sessionKeys('q=found:&status=idle')).toEqual(['agent:main:found:b']);
    expect(await sessionKeys('q=found:&status=running')).toEqual([]);
    expect(await sessionKeys('q=found:&agent=main')).toEqual(['agent:main:found:b', 'agent:main:found:a']);
    expect(await sessionKeys('q=found:&agent=other')).toEqual([]);
    expect(await sessionKeys('q=mx-7')).toEqual(['agent:main:found:a']);
    expect(await sessionKeys(`q=${turn.id}`)).toEqual(['agent:main:found:b']);
    expect(await sessionKeys('q=found:b')).toEqual(['agent:main:found:b']);
    expect(await sessionKeys(`q=${newId()}`)).toEqual([]);
  });

  test('of the order `updated` are listed last changed first, each once over all pages', async () => {
    const { rig } = holder;
    const keys = ['agent:main:changed:1', 'agent:main:changed:2', 'agent:main:changed:3'];
    for (const key of keys) await rig.post(`/v1/sessions/${key}/messages`, { text: 'x' });
    await rig.ask('PATCH', `/v1/sessions/${keys[0]}`, { payload: { label: 'later' } });
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const url = `/v1/sessions?q=changed:&order=updated&limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`;
      const { body } = await rig.get(url);
      seen.push(...body.items.map(({ key }: { key: string }) => key));
      cursor = body.nextCursor;
    }
    expect(seen).toEqual([keys[0], keys[2], keys[1]]);
  });
});

describe('ids', () => {
  const found = async (query: string) => (await holder.rig.get(`/v1/ids?${query}`)).body;

  test('are found by their ends, of some kinds or of all, newest first; several with one end are all shown', async () => {
    const { turn, message } = await turnOf('ended', '[[reply: found]]');
    const end = turn.id.slice(-6);
    expect(await found(`endsWith=${end}`)).toEqual({ items: [{ kind: 'turn', id: turn.id }], lookedAt: 20_000 });
    expect((await found(`endsWith=${end}&kinds=message,batch`)).items).toEqual([]);
    expect((await found('endsWith=00000000000f')).items).toEqual([]);
    const twin = `${newId().slice(0, -6)}${end}`;
    await changeInputs(holder.rig, { id: message.id }, { id: twin });
    expect((await found(`endsWith=${end}`)).items.map(({ id }: { id: string }) => id)).toEqual([twin, turn.id]);
  });

  test.each(['44b6f', '0123456789abc', '44b6fg', ''])('end with 6 to 12 digits, not with "%s"', async (end) => {
    const { body } = await holder.rig.get(`/v1/ids?endsWith=${end}`);
    expect(body).toMatchObject({ status: 400, code: 'invalid_query' });
    expect(JSON.stringify(body)).toContain('6 to 12 hexadecimal digits');
  });
});
