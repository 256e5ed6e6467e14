// The effects of `/reasoning`: in the prompt, the request, the reply, the live events and
// `/status`.
import { expect, test } from 'vitest';
import { readEvents } from '../rows/events.ts';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig({ ownerIds: ['the-owner'] });

const say = (session: string, text: string, more: object = {}) =>
  holder.rig.post(`/v1/sessions/${session}/messages`, { text, ...more });

/** Runs a turn whose model thinks first; returns its reply, its request and its events. */
async function think(session: string) {
  const { rig } = holder;
  const text = '[[thinking: It is four.]] [[reply: Four.]]';
  const { reply, turnId } = await rig.settle(session, text, { thinking: 'high' });
  const events = await readEvents(rig, { turnId }, 'type', 'data');
  const request = (await rig.get(`/v1/turns/${turnId}/requests/1`)).body;
  const textOf = (type: string) =>
    events
      .filter((event) => event.type === type)
      .map((event) => (event.data as { text: string }).text)
      .join('');
  return {
    reply: reply as string,
    reasoning: textOf('model.reasoning'),
    text: textOf('model.delta'),
    thinking: request.request.thinking as object,
    system: JSON.stringify(request.request.system),
    matches: request.matches as boolean,
  };
}

test("it is off by default: the model's thinking is in no reply and no event", async () => {
  const turn = await think('reason-off');
  expect(turn).toMatchObject({ reply: 'Four.', text: 'Four.', reasoning: '', thinking: { type: 'adaptive' } });
  expect(turn.thinking).not.toHaveProperty('display');
  expect(turn.system).toContain('Reasoning: off (hidden unless on/stream).');
  expect((await say('reason-off', '/status')).body.message.reply).not.toContain('Reasoning:');
});

test("/reasoning on puts the model's thinking before replies, and /status shows it", async () => {
  const set = await say('reason-on', '/reasoning on');
  expect(set.body).toMatchObject({
    disposition: 'command',
    message: { reply: "Reasoning is set to on: replies begin with the model's thinking." },
    session: { reasoning: 'on' },
  });
  const turn = await think('reason-on');
  expect(turn).toMatchObject({
    reply: 'Reasoning:\nIt is four.\n\nFour.',
    text: 'Four.',
    reasoning: '',
    matches: true,
  });
  expect(turn.thinking).toMatchObject({ display: 'summarized' });
  expect(turn.system).toContain('Reasoning: on (hidden unless on/stream).');
  expect((await say('reason-on', '/status')).body.message.reply).toContain('Reasoning: on (replies begin');
});

test("/reasoning stream sends the model's thinking as live events, and not in the reply", async () => {
  await say('reason-stream', '/reasoning stream');
  const turn = await think('reason-stream');
  expect(turn).toMatchObject({ reply: 'Four.', text: 'Four.', reasoning: 'It is four.', matches: true });
  expect(turn.system).toContain('Reasoning: stream (hidden unless on/stream).');
  await say('reason-stream', '/reasoning off');
  expect(await think('reason-stream')).toMatchObject({ reply: 'Four.', reasoning: '' });
});

test('an unauthorised sender does not change it, and PATCH clears it', async () => {
  const { rig } = holder;
  await say('reason-patch', '/reasoning on');
  const stranger = await say('reason-patch', '/reasoning off', { sender: { id: 'stranger' } });
  expect(stranger.body).toMatchObject({ disposition: 'queued', session: { reasoning: 'on' } });
  const patch = (reasoning: unknown) => rig.ask('PATCH', '/v1/sessions/reason-patch', { payload: { reasoning } });
  expect((await patch('stream')).body.reasoning).toBe('stream');
  expect((await patch('loud')).body.errors).toMatchObject([{ path: 'reasoning' }]);
  expect((await patch(null)).body.reasoning).toBeNull();
  expect((await say('reason-patch', '/reasoning')).body.message.reply).toBe(
    "Reasoning: off (the model's thinking is hidden).",
  );
});

test('/help names every command', async () => {
  const { reply } = (await say('helped', '/help')).body.message;
  for (const command of '/help /status /usage /stop /new /reset /compact /model /think /reasoning /queue'.split(' '))
    expect(reply).toContain(`${command}`);
  expect(reply).toContain('/reasoning <off|on|stream>');
});

test('/model shows and sets the model of the session, and names what is allowed', async () => {
  const reply = async (text: string) => (await say('modelled', text)).body.message.reply;
  const before = await reply('/model');
  expect(before).toMatch(/^Model: anthropic\/\S+ \(.+\)\.$/);
  expect(await reply('/model nobody/none')).toMatch(
    /^The model was not changed: no provider serves .*"nobody\/none"; use /,
  );
  expect(await reply('/model')).toBe(before);
  expect(await reply('/model anthropic/claude-haiku-5-5')).toContain(
    'is anthropic/claude-haiku-5-5 from its next turn on',
  );
  expect((await holder.rig.get('/v1/sessions/modelled')).body.model).toBe('anthropic/claude-haiku-5-5');
  expect(await reply('/model default')).toMatch(/is the default again: anthropic\//);
  expect(await reply('/model')).toBe(before);
  expect((await say('modelled', '/model is a word here')).body.disposition).toBe('queued');
});

test('/usage shows the tokens and the cost of the session', async () => {
  const { reply: nothing } = (await say('used', '/usage')).body.message;
  expect(nothing).toBe('Tokens: 0 in, 0 out, 0 in context\nCost: $0.0000');
  await think('used');
  const { reply } = (await say('used', '/usage')).body.message;
  expect(reply).toMatch(/^Tokens: [1-9]\d* in, [1-9]\d* out, [1-9]\d* in context\nCost: (\$0\.\d{4}|not known)/);
});
