// Requests for approvals as a person decides about them: over the API, in a chat and on the command
// line, and what the webhook receives.
import { beforeAll, describe, expect, test } from 'vitest';
import { runApprovalRound } from '../../../src/features/approvals/rounds.ts';
import { newId } from '../../../src/ids.ts';
import { runCli } from '../../cli/run-cli.ts';
import { changeApprovals } from '../../rows/approvals.ts';
import { changeSessions } from '../../rows/sessions.ts';
import { ago } from '../../rows/table.ts';
import { ADMIN_KEY } from '../../api/api-rig.ts';
import { useApiRig } from '../../api/use-api-rig.ts';

const url = 'http://127.0.0.1:9/approvals';
const holder = useApiRig({
  file: {
    owner: { ids: ['the-owner'] },
    tools: { approvals: { rules: [{ tools: ['echo'] }], approvers: ['telegram:42', '+4915112345678'], webhook: url } },
  },
});

/** A turn that waits, and its request. */
async function asked(session: string) {
  const { rig } = holder;
  const sent = await rig.post(`/v1/sessions/${session}/messages`, { text: '[[tool: echo {"a": 1}]] [[reply: done]]' });
  await rig.work(session);
  const { items } = (await rig.get('/v1/approvals?status=open')).body;
  const request = items.find(({ sessionKey }: { sessionKey: string }) => sessionKey === `agent:main:${session}`);
  return { messageId: sent.body.message.id as string, request };
}

const messageOf = async (id: string) => (await holder.rig.get(`/v1/messages/${id}`)).body;

describe('a request for an approval', () => {
  test('is listed, shown, and decided once: a later decision is answered 409, and with the same key as before', async () => {
    const { rig } = holder;
    const { messageId, request } = await asked('api');
    expect((await messageOf(messageId)).why).toMatchObject({ code: 'approval', by: request.id });
    expect((await rig.get(`/v1/approvals/${request.id}`)).body).toEqual(request);
    expect(request).toMatchObject({
      status: 'open',
      tool: 'echo',
      input: { a: 1 },
      reasons: ['rule'],
      decidedBy: null,
    });
    const key = { 'idempotency-key': 'approve-1' };
    const first = await rig.post(`/v1/approvals/${request.id}/approve`, { note: 'fine' }, key);
    expect(first).toMatchObject({ status: 200, body: { status: 'approved', decidedBy: 'admin', note: 'fine' } });
    expect((await rig.post(`/v1/approvals/${request.id}/approve`, { note: 'fine' }, key)).body).toEqual(first.body);
    expect(await rig.post(`/v1/approvals/${request.id}/deny`, {})).toMatchObject({
      status: 409,
      body: { code: 'already_decided' },
    });
    await rig.work('api');
    expect(await messageOf(messageId)).toMatchObject({ status: 'answered', reply: 'done' });
    expect((await rig.get(`/v1/approvals?status=approved`)).body.items).toHaveLength(1);
  });

  test('of a subagent names the session at the top of its family', async () => {
    const { rig } = holder;
    const root = await rig.turns.sessionOf('family');
    const { request } = await asked('below');
    await changeSessions(rig, { key: 'agent:main:below' }, { ancestors: [root] });
    const shown = (await rig.get(`/v1/approvals/${request.id}`)).body;
    expect(shown).toMatchObject({ sessionKey: 'agent:main:below', rootSessionKey: 'agent:main:family' });
  });

  test('that is over is answered 410, and one that does not exist 404', async () => {
    const { rig } = holder;
    const { request } = await asked('late');
    await changeApprovals(rig, { id: request.id }, { expiresAt: ago('1 second') });
    const late = await rig.post(`/v1/approvals/${request.id}/approve`, {});
    expect(late).toMatchObject({ status: 410, body: { code: 'expired' } });
    expect((await rig.get(`/v1/approvals/${request.id}`)).body.status).toBe('expired');
    expect((await rig.post(`/v1/approvals/${newId()}/approve`, {})).status).toBe(404);
  });

  test('is put into the outbox of the webhook once, with what would run', async () => {
    const { rig } = holder;
    const { request } = await asked('webhook');
    await runApprovalRound(rig.context.service);
    await runApprovalRound(rig.context.service);
    const { items } = (await rig.get('/v1/deliveries?session=webhook')).body;
    expect(items).toMatchObject([
      { target: { url }, payload: { type: 'approval.requested', approval: { id: request.id } } },
    ]);
  });

  test('is decided in a chat by approvers, and the words of any other sender are ordinary text', async () => {
    const { rig } = holder;
    const { messageId, request } = await asked('chat');
    const say = async (text: string, sender?: object) =>
      (await rig.post('/v1/sessions/elsewhere/messages', { text, channel: 'telegram', ...(sender && { sender }) }))
        .body;
    const approve = `/approve ${request.id}`;
    const others = [
      undefined,
      { id: '43' },
      { id: 'the-owner' },
      { name: '42' },
      { username: 'telegram:42' },
      { id: 'telegram:telegram:42' },
      { e164: '+491511234567' },
    ];
    for (const sender of others) expect((await say(approve, sender)).disposition).toBe('queued');
    expect((await say(`please ${approve}`, { id: '42' })).disposition).toBe('queued');
    const forwarded = { text: approve, channel: 'telegram', sender: { id: '42' }, forwarded: { from: 'Eve' } };
    expect((await rig.post('/v1/sessions/elsewhere/messages', forwarded)).body.disposition).toBe('queued');
    await rig.post('/v1/sessions/elsewhere/abort', {});
    expect((await rig.get(`/v1/approvals/${request.id}`)).body.status).toBe('open');
    expect((await say('/deny it', { id: '42' })).message.reply).toBe(
      'Write /deny and the id of the request. "it" is none.',
    );
    const denied = await say(`/deny ${request.id} too late today`, { id: '42' });
    expect(denied).toMatchObject({
      disposition: 'command',
      message: { reply: `The request ${request.id} is denied.` },
    });
    expect((await say(approve, { e164: '+4915112345678' })).message.reply).toContain(
      'is denied by telegram:42 already',
    );
    await rig.work('chat');
    expect(await messageOf(messageId)).toMatchObject({ status: 'answered' });
    const transcript = JSON.stringify((await rig.get('/v1/sessions/chat/transcript')).body);
    expect(transcript).toContain('telegram:42 denied it: too late today');
    expect((await say('/help', { id: 'the-owner' })).message.reply).toContain('/approve <id>');
  });
});

describe('holdfast approvals', () => {
  let env: Record<string, string>;

  beforeAll(async () => {
    env = { HOLDFAST_URL: await holder.rig.listen(), HOLDFAST_API_KEY: ADMIN_KEY };
  });

  test('lists, shows, approves and denies', async () => {
    const run = (...args: string[]) => runCli(['approvals', ...args], { env });
    const { request } = await asked('cli');
    expect((await run('list', '--status', 'open')).stdout).toContain(request.id);
    expect((await run('show', request.id)).stdout).toContain('"a": 1');
    expect(await run('deny', request.id, 'no')).toMatchObject({ code: 0, stdout: `${request.id} denied\n` });
    expect(await run('approve', request.id)).toMatchObject({
      stderr: expect.stringContaining('The first decision holds'),
    });
  });
});
