import { describe, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { changeToolCalls } from '../rows/calls.ts';
import { addEntries, changeEntries, removeEntries } from '../rows/entries.ts';
import { addSessions, changeSessions, readSessions } from '../rows/sessions.ts';
import { addSubagentRuns } from '../rows/subagents.ts';
import { now } from '../rows/table.ts';
import { changeTurns } from '../rows/turns.ts';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();

interface Tool {
  callId: string;
  status: string;
  startedAt: string;
  endedAt: string;
}

/** Gives the session entries whose only part is this text. */
async function giveEntries(session: string, texts: string[]): Promise<void> {
  const sessionId = await holder.rig.turns.sessionOf(session);
  for (const [index, text] of texts.entries()) {
    await addEntries(holder.rig, {
      sessionId,
      seq: 100 + index,
      kind: 'answer',
      role: 'assistant',
      content: [{ type: 'text', text }],
      turnId: newId(),
    });
  }
}

describe('a transcript with partChars', () => {
  test('has the beginning of long parts, and their pieces make the whole text', async () => {
    const { rig } = holder;
    const text = `${'a'.repeat(7)}🎈${'b'.repeat(20)}\n"end"`;
    await giveEntries('agent:main:cut:+1@x', [text]);
    const url = '/v1/sessions/cut:+1@x/transcript';
    const [entry] = (await rig.get(`${url}?partChars=8`)).body.items;
    const [part] = entry.content;
    expect(part).toMatchObject({ type: 'text', text: `${'a'.repeat(7)}🎈`, omittedChars: text.length - 9 });
    const rest = await rig.get(`${part.href}?offset=${part.text.length}&length=10`);
    expect(rest.headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'x-holdfast-total-chars': String(text.length),
    });
    expect(part.text + rest.body + (await rig.get(`${part.href}?offset=19`)).body).toBe(text);
    expect((await rig.get(part.href)).body).toBe(text);
    expect((await rig.get(`${part.href.slice(0, -1)}2`)).status).toBe(404);
    expect((await rig.get(url)).body.items[0].content).toEqual([{ type: 'text', text }]);
  });

  test('has the images of a result without their bytes, which are read one by one', async () => {
    const { rig } = holder;
    await giveEntries('pictured', ['x']);
    const image = (data: string) => ({ type: 'image', source: { type: 'base64', media_type: 'image/png', data } });
    const content = [{ type: 'text', text: 'two' }, image('a'.repeat(40)), image('b'.repeat(40))];
    const sessionId = await rig.turns.sessionOf('pictured');
    const block = { type: 'tool_result', tool_use_id: 'c', content };
    await changeEntries(rig, { sessionId }, { content: JSON.stringify([block]) });
    const [entry] = (await rig.get('/v1/sessions/pictured/transcript?partChars=8')).body.items;
    const [, one, two] = entry.content[0].content;
    expect(two).toMatchObject({ type: 'image', source: { data: '' }, omittedChars: 40 });
    expect((await rig.get(one.href)).body).toBe('a'.repeat(40));
    expect((await rig.get(two.href)).body).toBe('b'.repeat(40));
    expect((await rig.get(two.href.replace('image=2', 'image=3'))).status).toBe(404);
    expect((await rig.get(entry.content[0].href)).body).toBe('two');
  });

  test('has pages that end after 256 kB, newest first and without a gap', async () => {
    const { rig } = holder;
    const texts = Array.from({ length: 40 }, (_, n) => `${n}:`.padEnd(20_000, 'x'));
    texts[20] = '20:'.padEnd(5_000_000, 'x');
    await giveEntries('large-pages', texts);
    const seen: string[] = [];
    const sizes: number[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const url = `/v1/sessions/large-pages/transcript?order=desc&partChars=16384${cursor === '' ? '' : `&cursor=${cursor}`}`;
      const { body } = await rig.get(url);
      sizes.push(Buffer.byteLength(JSON.stringify(body)));
      seen.push(...body.items.map(({ content }: { content: { text: string }[] }) => content[0]?.text.split(':')[0]));
      cursor = body.nextCursor;
    }
    expect(seen).toEqual(texts.map((_, n) => String(n)).toReversed());
    for (const size of sizes) expect(size).toBeLessThan(300_000);
  });
});

describe('a call of a tool', () => {
  test('has its state and its times in the transcript, beside the call and beside its result', async () => {
    const { rig } = holder;
    const calls = '[[tool: echo {"n": 1}]] [[tool: echo {"n": 2}]] [[tool: absent {}]] [[reply: done]]';
    const turn = await holder.rig.turnOf('states', `do ${calls}`);
    const tools = turn.steps.flatMap((step: { tools: Tool[] }) => step.tools) as Tool[];
    const path = '/v1/sessions/states/transcript';
    const shown = async () => (await rig.get(path)).body.items.map(({ calls: of }: { calls: object[] }) => of);
    const [one, two] = tools.map(({ callId, status, startedAt, endedAt }, n) => [
      { id: callId, state: status, words: `{"n":${n + 1}}`, waitsFor: null, why: null, startedAt, endedAt },
    ]);
    // There is no tool for the third.
    const unbegun = { state: 'failed', waitsFor: null, why: null, startedAt: null, endedAt: null };
    const three = [{ ...unbegun, words: null }];
    const refused = [{ ...unbegun, words: expect.stringContaining('Unknown tool "absent"') }];
    expect(await shown()).toMatchObject([[], one, one, two, two, three, refused, []]);
    const stateOf = async (status: string) => {
      await changeToolCalls(rig, { turnId: turn.id, callId: tools[0]!.callId }, { status });
      return (await shown())[1][0].state;
    };
    for (const status of ['failed', 'unknown', 'skipped']) expect(await stateOf(status)).toBe(status);
    // It was not settled before its turn ended.
    expect(await stateOf('intent')).toBe('unknown');
    await changeTurns(rig, { id: turn.id }, { endedAt: null, status: 'running' });
    expect(await stateOf('intent')).toBe('running');
    await changeToolCalls(rig, { turnId: turn.id, callId: tools[0]!.callId }, { heldFor: 'caller', runs: 0 });
    expect(await stateOf('intent')).toBe('waiting');
    await changeTurns(rig, { id: turn.id }, { endedAt: now, status: 'completed' });
  });

  test('shows its arguments as text, its result and how often it ran', async () => {
    const { rig } = holder;
    const turn = await holder.rig.turnOf('called', 'do [[tool: echo {"n": 12, "of": "x"}]] [[reply: done]]');
    const [{ callId }] = turn.steps[0].tools;
    const { body } = await rig.get(`/v1/turns/${turn.id}/tools/${callId}`);
    expect(body).toMatchObject({
      callId,
      name: 'echo',
      status: 'done',
      runs: 1,
      step: 1,
      turnId: turn.id,
      sessionKey: 'agent:main:called',
      arguments: '{"n":12,"of":"x"}',
      result: { text: '{"n":12,"of":"x"}', isError: false },
    });
    expect((await rig.get(`/v1/turns/${turn.id}/tools/another`)).status).toBe(404);
  });

  test('whose batch has not ended shows the result of the ledger', async () => {
    const { rig } = holder;
    const turn = await holder.rig.turnOf('unfinished', 'do [[tool: echo {}]] [[reply: done]]');
    const [{ callId }] = turn.steps[0].tools;
    await removeEntries(rig, { turnId: turn.id, kind: 'results' });
    const kept = JSON.stringify({ content: 'kept \u0000', isError: true });
    await changeToolCalls(rig, { turnId: turn.id }, { result: kept });
    const { body } = await rig.get(`/v1/turns/${turn.id}/tools/${callId}`);
    expect(body).toMatchObject({ arguments: '{}', result: { text: 'kept \u0000', isError: true } });
  });
});

describe('a family', () => {
  test('has all runs below its root, with what each used by itself and with those below it', async () => {
    const { rig } = holder;
    const priced = '[[usage: input=1000 output=200 cache-read=0 cache-write=0]]';
    await holder.rig.turnOf('boss', '[[reply: ok]]');
    const spawn = async (parent: string, task: string) =>
      (await rig.post(`/v1/sessions/${parent}/spawn`, { task, mode: 'session' })).body.childSessionKey as string;
    const one = await spawn('boss', `${priced} [[reply: one]]`);
    const two = await spawn('boss', `${priced} [[reply: two]]`);
    const [parentRow] = await readSessions(rig, { key: one }, 'id', 'ancestors');
    const { id: parentId, ancestors } = parentRow!;
    const child = { id: newId<string>(), key: 'agent:main:subagent:below', kind: 'subagent', lane: 'subagent' };
    await addSessions(rig, { ...child, parentId, ancestors: [...ancestors, parentId] });
    const used = { inputTokens: 30, outputTokens: 3, costMicros: 500 };
    const run = {
      parentId,
      childId: child.id,
      rootId: ancestors[0]!,
      depth: 2,
      task: 'deep',
      status: 'ok',
      endedAt: now,
    };
    await addSubagentRuns(rig, { id: newId<string>(), ...run, ...used });
    for (const key of [one, two]) await rig.work(key);
    const { body } = await rig.get(`/v1/sessions/${two}/family`);
    const own = { tokens: { input: 1000, output: 200 }, costMicros: 4000, costUsd: 0.004, simulated: true };
    expect(body).toMatchObject({
      rootKey: 'agent:main:boss',
      root: { simulated: true },
      isCapped: false,
      items: [
        {
          sessionKey: one,
          depth: 1,
          parentSessionKey: 'agent:main:boss',
          own,
          subtree: { runs: 2, costMicros: 4500, simulated: true },
        },
        { sessionKey: two, depth: 1, status: 'ok', own, subtree: { ...own, runs: 1 } },
        {
          sessionKey: 'agent:main:subagent:below',
          depth: 2,
          parentSessionKey: one,
          subtree: { costMicros: 500, simulated: false },
        },
      ],
    });
    expect(body.items[0].subtree.tokens).toEqual({ input: 1030, output: 203 });
    expect((await rig.get('/v1/sessions/boss/family')).body).toEqual(body);
    expect((await rig.get('/v1/sessions/no-family/family')).status).toBe(404);
  });

  test('says of each run who spawned it, its last turn, and how its end reached a session above it', async () => {
    const { rig } = holder;
    const spawn = async (parent: string, text: string) =>
      (await rig.post(`/v1/sessions/${encodeURIComponent(parent)}/spawn`, { task: text })).body;
    const family = async () => (await rig.get('/v1/sessions/announced/family')).body.items;
    const named = async (runId: string) => (await family()).find((run: { runId: string }) => run.runId === runId);
    await holder.rig.turnOf('announced', '[[reply: ok]]');
    const own = await spawn('announced', '[[reply: own]]');
    const quiet = await spawn('announced', '[[reply: ANNOUNCE_SKIP]]');
    const lost = await spawn('announced', '[[reply: lost]]');
    expect(await named(own.runId)).toMatchObject({ parentRunId: null, turnId: null, announcement: null });

    await rig.work(own.childSessionKey);
    const turns = (await rig.get(`/v1/turns?session=${encodeURIComponent(own.childSessionKey)}`)).body.items;
    const reported = { sessionKey: 'agent:main:announced', turnId: null };
    expect(await named(own.runId)).toMatchObject({
      turnId: turns[0].id,
      announcement: { ...reported, how: 'waiting', status: 'waiting', messageId: expect.any(String) },
    });
    await rig.work('announced');
    const last = (await rig.get('/v1/turns?session=announced')).body.items[0];
    expect((await named(own.runId)).announcement).toMatchObject({
      how: 'ownTurn',
      status: 'answered',
      turnId: last.id,
    });

    await rig.work(quiet.childSessionKey);
    expect((await named(quiet.runId)).announcement).toMatchObject({ ...reported, how: 'notSent', status: 'silent' });

    await changeSessions(rig, { key: 'agent:main:announced' }, { archivedAt: now });
    await rig.work(lost.childSessionKey);
    expect((await named(lost.runId)).announcement).toEqual({
      how: 'noRecipient',
      messageId: null,
      sessionKey: null,
      status: null,
      turnId: null,
    });
  });
});
