// Agents that list, read and message other sessions, on a real database with real turns.
import { describe, expect, test } from 'vitest';
import type { SessionId } from '../../../src/core/ids.ts';
import type { InboundMessage } from '../../../src/core/inbound.ts';
import { readDeliveries } from '../../rows/deliveries.ts';
import { changeInputs, readInputs } from '../../rows/inputs.ts';
import { changeSessions } from '../../rows/sessions.ts';
import { withFields } from '../../rows/table.ts';
import { readTurns } from '../../rows/turns.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { aToolCall } from '../../tools/tool-call.ts';
import { createFamilyRig, spawnCall, type FamilyRig } from '../../turn/family-rig.ts';

let rig: FamilyRig;
let worker: ReturnType<FamilyRig['worker']>;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createFamilyRig(database.url, {
    tools: { sessions: { visibility: 'agent' } },
    session: { agentToAgent: { maxPingPongTurns: 2 } },
    channels: { webhook: { url: 'http://127.0.0.1:9/default' } },
    agents: { defaults: { subagents: { allowAgents: ['helper'] } }, list: [{ id: 'main' }, { id: 'helper' }] },
  });
  worker = rig.worker();
  const made = rig;
  onEnd(() => made.close());
});

/** The results of the tools in the last request of a session, as text. */
function results(name: string): string {
  return rig.lastRequest(`agent:main:${name}`).replaceAll('\\"', '"');
}

async function inboxOf(id: SessionId): Promise<Record<string, unknown>[]> {
  const inputs = await readInputs(rig, { sessionId: id }, 'kind', 'status', 'mode', 'body');
  return inputs.map(({ body, ...input }) => {
    const { text, exchange, deliver = null } = body as InboundMessage & { exchange?: { turn: number } };
    return { ...input, text, turn: exchange?.turn ?? null, deliver };
  });
}

describe('a message to another session', () => {
  test('is answered there, and the answer is sent back, in both directions up to the limit', async () => {
    const [asker, asked] = [await rig.sessionOf('asker'), await rig.sessionOf('asked')];
    const call = '[[tool: sessions_send {"sessionKey":"asked","message":"How many doors?"}]] [[reply: I have asked.]]';
    await rig.send('asker', call, { deliver: { url: 'http://127.0.0.1:9/user' } });
    await worker.run('asker');
    expect(results('asker')).toContain('"status":"accepted","sessionKey":"agent:main:asked"');

    await worker.run('asked');
    expect(rig.lastPrompt('agent:main:asked')).toMatch(
      /^\[Inter-session message\] sourceSession=agent:main:asker sourceTool=sessions_send\nHow many doors\?\n\nYour answer is sent/,
    );
    await worker.run('asker');
    expect(rig.lastPrompt('agent:main:asker')).toMatch(
      /sourceSession=agent:main:asked .*\nYou said: .*\n\nThis is the answer of agent:main:asked\. .*turn 1 of 2/,
    );
    await worker.run('asked');
    await worker.run('asker');
    expect(rig.lastPrompt('agent:main:asker')).toContain('ends the exchange: your next answer is for your own user.');
    expect(await worker.run('asked')).toMatchObject({ kind: 'idle' });

    expect((await inboxOf(asked)).map(({ turn }) => turn)).toEqual([0, 2]);
    expect((await inboxOf(asker)).map(({ turn }) => turn)).toEqual([null, 1, 3]);
    // The messages in between are not delivered; the first answer and the last text go to the user
    // who asked.
    const delivered = await readDeliveries(rig, {}, 'sessionId', 'target');
    expect(delivered).toEqual([
      { sessionId: asker, target: { url: 'http://127.0.0.1:9/user' } },
      { sessionId: asker, target: { url: 'http://127.0.0.1:9/user' } },
    ]);
  });

  test('ends when one side says so, and its other text goes to its own user', async () => {
    await rig.sessionOf('skipped');
    await rig.send(
      'skips',
      '[[tool: sessions_send {"sessionKey":"skipped","message":"[[reply: three]]"}]] [[reply: Asked.]]',
    );
    await worker.run('skips');
    await worker.run('skipped');
    const id = await rig.sessionOf('skips');
    const text = '[[reply: REPLY_SKIP]] [[reply: There are three.]]';
    await changeInputs(rig, { sessionId: id, status: 'waiting' }, { body: withFields({ text }) });
    await worker.run('skips');
    expect(await worker.run('skipped')).toMatchObject({ kind: 'idle' });
    const replies = await readTurns(rig, { sessionId: id }, 'reply');
    expect(replies.at(-1)?.['reply']).toContain('There are three.');
    const sent = await readDeliveries(rig, { sessionId: id }, 'text');
    expect(sent.at(-1)).toEqual({ text: 'There are three.' });
  });

  test('that needs no answer gets none; a turn that fails notifies the waiting session', async () => {
    await Promise.all(['told-only', 'broken'].map((name) => rig.sessionOf(name)));
    const quiet =
      '[[tool: sessions_send {"sessionKey":"told-only","message":"Just so you know.","timeoutSeconds":0}]] [[reply: ok]]';
    await rig.send('teller', quiet);
    await worker.run('teller');
    expect(await worker.run('told-only')).toMatchObject({
      kind: 'ended',
      after: { changed: [], rings: [{ kind: 'deliver' }] },
    });
    await rig.send(
      'waiter',
      '[[tool: sessions_send {"sessionKey":"broken","message":"[[error: 400 message=\\"odd\\"]]"}]] [[reply: ok]]',
    );
    await worker.run('waiter');
    await worker.run('broken');
    await worker.run('waiter');
    expect(rig.lastPrompt('agent:main:waiter')).toMatch(
      /\(no answer: .*odd.*\)\n\nThis is the answer of agent:main:broken and ends/,
    );
    expect(await worker.run('broken')).toMatchObject({ kind: 'idle' });
  });

  test('never starts a new session, whatever its text', async () => {
    await rig.send('kept', 'remember the blue door');
    await worker.run('kept');
    await rig.send('resetter', '[[tool: sessions_send {"sessionKey":"kept","message":"/new hello"}]] [[reply: ok]]');
    await worker.run('resetter');
    await worker.run('kept');
    expect(rig.lastRequest('agent:main:kept')).toContain('blue door');
  });

  test('is not sent to the session itself, to a working subagent, or to an invisible session', async () => {
    await rig.send('boss', `${spawnCall('works', { label: 'mate', agentId: 'helper' })} [[reply: ok]]`);
    await worker.run('boss');
    const send = (input: object) => `[[tool: sessions_send ${JSON.stringify({ message: 'x', ...input })}]]`;
    await rig.sessionOf('agent:helper:far');
    await changeSessions(rig, { key: 'agent:helper:far' }, { agentId: 'helper' });
    const calls = [
      { sessionKey: 'boss' },
      { label: 'mate' },
      { sessionKey: 'agent:helper:far' },
      { sessionKey: 'nowhere' },
      {},
    ];
    await rig.send('boss', `${calls.map(send).join(' & ')} [[reply: ok]]`);
    await worker.run('boss');
    const said = results('boss');
    expect(said).toContain('this is your own session');
    expect(said).toMatch(/agent:helper:subagent:[\w-]+ is a working subagent: send to it with subagents/);
    expect(said).toMatch(/agent:helper:far\\+"? is not a session that you may see/);
    expect(said).toMatch(/nowhere\\+"? is not a session that you may see/);
    expect(said).toContain('sessions_send: give sessionKey or label, one of them');
  });
});

describe('lists', () => {
  test('contain what the agent is allowed to see, and nothing else (G30)', async () => {
    await rig.send('lister', `${spawnCall('works', { label: 'mine' })} [[reply: ok]]`);
    await worker.run('lister');
    await rig.send(
      'lister',
      '[[tool: sessions_list {"kinds":["subagent"],"limit":1,"messageLimit":2}]] & [[tool: agents_list {}]] [[reply: ok]]',
    );
    await worker.run('lister');
    expect(results('lister')).toMatch(
      /"count":1,"sessions":\[\{"key":"agent:main:subagent:[\w-]+","agentId":"main","kind":"subagent","label":"mine"/,
    );
    expect(results('lister')).toContain(
      '"requester":"main","agents":[{"id":"main","model":"anthropic/claude-sonnet-5-5"},{"id":"helper"',
    );
    const [run] = await rig.runsOf('lister');
    // A subagent sees only the runs below it, whatever its agent is allowed to see.
    const { sessions } = await rig.call(
      'sessions_list',
      aToolCall({ workspaceDir: '/', sessionKey: run!.childKey }),
      {},
    );
    expect(sessions).toMatchObject([{ key: run!.childKey }]);
  });

  test('the history of another session is bounded, and has no tool calls unless they are requested', async () => {
    await rig.send('talker', `[[tool: agents_list {}]] [[reply: ${'long '.repeat(2_000)}end]]`);
    await worker.run('talker');
    await rig.send(
      'reader',
      '[[tool: sessions_history {"sessionKey":"talker"}]] & [[tool: sessions_history {"sessionKey":"talker","includeTools":true}]] [[reply: ok]]',
    );
    await worker.run('reader');
    const said = results('reader');
    expect(said.match(/more characters\]/g)?.length).toBeGreaterThanOrEqual(2);
    expect(said.match(/"role":"tool","text":"call agents_list/g)).toHaveLength(1);
  });
});
