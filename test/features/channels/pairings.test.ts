// People who write to an agent in a direct chat and are not paired: what they are sent, how many
// requests there are, and how owners decide.
import { describe, expect, test } from 'vitest';
import { askForPairing } from '../../../src/features/channels/pairings.ts';
import { isPaired } from '../../../src/features/channels/store/pairings.ts';
import { newId } from '../../../src/ids.ts';
import { runCli } from '../../cli/run-cli.ts';
import { tablesWith } from '../../api/tables-with.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { ADMIN_KEY } from '../../api/api-rig.ts';
import { countOfCrowd, readSendersOfEvents } from '../../rows/channels.ts';
import { changePairings } from '../../rows/pairings.ts';
import { ago } from '../../rows/table.ts';

const holder = useApiRig({ file: { owner: { ids: ['telegram:7'] } } });

const CODE = /^[A-HJ-NP-Z2-9]{8}$/;

/**
 * A person writes in a direct chat; the chat of a person has the id of the person, as on Telegram.
 */
const write = (account: string, senderId: string, name = 'Ann') =>
  askForPairing(
    holder.rig.context.service,
    { channel: 'telegram', account },
    { sender: { id: senderId, name, isBot: false }, place: { chatId: senderId, chatType: 'direct' } },
  );

const pairingsOf = async (account: string) => {
  const { items } = (await holder.rig.get('/v1/pairings')).body;
  return items.filter(({ accountId }: { accountId: string }) => accountId === account);
};

/** What the person has been sent, oldest first. */
async function noticesTo(account: string, senderId: string): Promise<string[]> {
  const { items } = (await holder.rig.get(`/v1/deliveries?session=telegram:direct:${senderId}`)).body;
  const url = `channel:telegram/${account}/${senderId}`;
  return items
    .toReversed()
    .filter(({ target }: { target: { url: string } }) => target.url === url)
    .map(({ payload }: { payload: { text: string } }) => payload.text);
}

const crowd = () =>
  countOfCrowd(holder.rig, { account: 'channel:telegram/crowd', sessions: 'agent:main:telegram:direct:200' });

test('a person who asked, and never wrote to an agent, is erased with what was decided', async () => {
  const { rig } = holder;
  for (const sender of ['901', '902']) await write('erased', sender, 'Wren');
  const denied = (await pairingsOf('erased')).find(({ senderId }: { senderId: string }) => senderId === '901');
  expect((await rig.post(`/v1/pairings/${denied.id}/deny`, {})).status).toBe(200);
  const erased = { key: 'agent:main:telegram:direct:901', removed: { pairings: 1, deliveries: 1, sessions: 1 } };
  const erase = async (query: string) => (await rig.ask('DELETE', `/v1/subjects/901${query}`)).body.sessions;
  expect(await erase('?channel=slack')).toEqual([]);
  expect(await erase('?dryRun=true')).toMatchObject([erased]);
  expect(await pairingsOf('erased')).toHaveLength(2);
  expect(await erase('')).toMatchObject([erased]);
  expect(await pairingsOf('erased')).toMatchObject([{ senderId: '902' }]);
  const left = await tablesWith(rig.rows, 'direct:901');
  delete left['audit'];
  expect(left).toEqual({});
});

describe('a person who is not paired', () => {
  test('is sent a code once, which is a row of the outbox to the chat, and is an event', async () => {
    await write('once', '101');
    await write('once', '101');
    const [request, ...others] = await pairingsOf('once');
    expect(others).toEqual([]);
    expect(request).toMatchObject({
      status: 'open',
      senderId: '101',
      senderName: 'Ann',
      code: expect.stringMatching(CODE),
    });
    const [notice, ...more] = await noticesTo('once', '101');
    expect(notice).toContain(`Your code is ${request.code}`);
    expect(more).toEqual([]);
    expect(await readSendersOfEvents(holder.rig, request.id)).toEqual(['101']);
    expect((await holder.rig.get('/v1/attention')).body.items).toContainEqual(
      expect.objectContaining({ kind: 'pairing', text: '1 person asks to write to the bot telegram/once' }),
    );
  });

  test('is one of at most three per account: 1,000 senders make 3 requests, 3 notices, 3 sessions and no model call', async () => {
    const senders = Array.from({ length: 1_000 }, (_, n) => String(200_000 + n));
    for (let at = 0; at < senders.length; at += 50)
      await Promise.all(senders.slice(at, at + 50).map((sender) => write('crowd', sender)));
    expect(await pairingsOf('crowd')).toHaveLength(3);
    const { notices, sessions, modelCalls } = await crowd();
    expect(notices).toBe(3);
    // Some made their session before they saw that there is no room.
    expect(sessions).toBeLessThan(60);
    expect(modelCalls).toBe(0);
  });

  test('gets a new code when the first has expired, and then others get its place', async () => {
    await Promise.all(['301', '302', '303'].map((sender) => write('late', sender)));
    await write('late', '304');
    expect(await pairingsOf('late')).toHaveLength(3);
    await changePairings(holder.rig, { account: 'late', senderId: '301' }, { expiresAt: ago('1 second') });
    await write('late', '301');
    expect(await noticesTo('late', '301')).toHaveLength(2);
    await changePairings(holder.rig, { account: 'late', senderId: '302' }, { expiresAt: ago('1 second') });
    await write('late', '304');
    expect((await pairingsOf('late')).map(({ senderId }: { senderId: string }) => senderId).toSorted()).toEqual([
      '301',
      '303',
      '304',
    ]);
  });
});

describe('a request', () => {
  test('is approved once, which lets exactly that person write, and notifies the person', async () => {
    const { rig } = holder;
    await write('api', '401');
    const [{ id }] = await pairingsOf('api');
    const key = { 'idempotency-key': 'pair-401' };
    const first = await rig.post(`/v1/pairings/${id}/approve`, {}, key);
    expect(first).toMatchObject({ status: 200, body: { status: 'approved', decidedBy: 'admin' } });
    expect((await rig.post(`/v1/pairings/${id}/approve`, {}, key)).body).toEqual(first.body);
    expect(await rig.post(`/v1/pairings/${id}/deny`, {})).toMatchObject({
      status: 409,
      body: { code: 'already_decided' },
    });
    const { database } = rig.context.service;
    expect(await isPaired(database, 'telegram', 'api', '401')).toBe(true);
    expect(await isPaired(database, 'telegram', 'other', '401')).toBe(false);
    expect(await isPaired(database, 'telegram', 'api', '402')).toBe(false);
    expect((await noticesTo('api', '401'))[1]).toContain('You may write to me now');
    expect((await rig.get('/v1/pairings?status=approved')).body.items).toHaveLength(1);
  });

  test('that is denied stays denied: the person gets no other code until the request is deleted', async () => {
    const { rig } = holder;
    await write('deny', '501');
    const [{ id }] = await pairingsOf('deny');
    expect((await rig.post(`/v1/pairings/${id}/deny`, {})).body.status).toBe('denied');
    await write('deny', '501');
    expect(await noticesTo('deny', '501')).toHaveLength(1);
    expect((await rig.ask('DELETE', `/v1/pairings/${id}`)).status).toBe(200);
    await write('deny', '501');
    expect(await noticesTo('deny', '501')).toHaveLength(2);
  });

  test('that has expired is answered 410, and one that does not exist 404', async () => {
    const { rig } = holder;
    await write('over', '601');
    await changePairings(rig, { account: 'over' }, { expiresAt: ago('1 second') });
    const [{ id, status }] = await pairingsOf('over');
    expect(status).toBe('expired');
    expect(await rig.post(`/v1/pairings/${id}/approve`, {})).toMatchObject({ status: 410, body: { code: 'expired' } });
    expect((await rig.post(`/v1/pairings/${newId()}/approve`, {})).status).toBe(404);
    expect((await rig.ask('DELETE', `/v1/pairings/${newId()}`)).status).toBe(404);
  });

  test('is approved in a chat by an owner with the code, and "/pair" of any other sender is ordinary text', async () => {
    const { rig } = holder;
    await write('chat', '701');
    const [{ code }] = await pairingsOf('chat');
    const say = async (text: string, sender: object) =>
      (await rig.post('/v1/sessions/elsewhere/messages', { text, channel: 'telegram', sender })).body;
    for (const sender of [{ id: '701' }, { id: '8' }, { name: '7' }, { username: 'telegram:7' }])
      expect((await say(`/pair ${code}`, sender)).disposition).toBe('queued');
    const forwarded = { text: `/pair ${code}`, channel: 'telegram', sender: { id: '7' }, forwarded: { from: 'Eve' } };
    expect((await rig.post('/v1/sessions/elsewhere/messages', forwarded)).body.disposition).toBe('queued');
    expect((await pairingsOf('chat'))[0].status).toBe('open');
    expect((await say('/pair it', { id: '7' })).message.reply).toContain('"it" is none');
    expect((await say('/pair AAAAAAAA', { id: '7' })).message.reply).toContain('No open request has the code AAAAAAAA');
    const done = await say(`/pair ${code.toLowerCase()}`, { id: '7' });
    expect(done).toMatchObject({ disposition: 'command', message: { reply: '701 may write to telegram/chat now.' } });
    expect((await pairingsOf('chat'))[0]).toMatchObject({ status: 'approved', decidedBy: 'telegram:7' });
  });

  test('is listed, approved by its code, denied and deleted on the command line', async () => {
    const { rig } = holder;
    await Promise.all(['801', '802'].map((sender) => write('cli', sender, `Eve\u001b[31m ${sender}`)));
    const rows = await pairingsOf('cli');
    const [one, other] = rows;
    const env = { HOLDFAST_URL: await rig.listen(), HOLDFAST_API_KEY: ADMIN_KEY };
    const listed = await runCli(['pairing', 'list', '--status', 'open'], { env });
    expect(listed.stdout).toContain(one.code);
    const approved = await runCli(['pairing', 'approve', one.code.toLowerCase()], { env });
    expect(approved.stdout).toBe(`${one.senderId} may write to telegram/cli\n`);
    expect((await runCli(['pairing', 'deny', other.id], { env })).stdout).toContain('may not write');
    expect(await runCli(['pairing', 'approve', 'ZZZZZZZZ'], { env })).toMatchObject({ code: 5 });
    expect((await runCli(['pairing', 'delete', other.id], { env })).stdout).toBe('deleted\n');
  });
});
