// Goal: each feature can be left out, and all of them. Method: a real service whose list of
// features lacks a line; a conversation with a tool, a message that is sent twice, a stop, and a
// worker that is killed in the middle of a turn (each alone in the full form), judged by the
// answers and the log.
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FEATURES } from '../../src/features.ts';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { isFullForm, isLongForm } from '../servers/test-form.ts';
import { openServiceRig } from './rig/service-rig.ts';

const soonMs = 150_000;
const hook = join(import.meta.dirname, 'rig/leave-out.mjs');
const names = FEATURES.map(({ name }) => name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase()));

/** The long form leaves out every second one alone. */
const longNames = names.filter((name, at) => isFullForm() || at % 2 === 0 || name === 'subagents');

const everyCase = [['any of the features', names], ...longNames.map((name) => [name, [name]] as const)] as const;
const shortCases = everyCase.filter(([name]) => name === 'any of the features' || name === 'subagents');

async function openWithout(leftOut: readonly string[]) {
  const env = { NODE_OPTIONS: `--import ${hook}`, TEST_LEAVES_OUT: leftOut.join(',') };
  const rig = await openServiceRig({ queue: 'postgres', env });
  onTestFinished(() => rig.close());
  const first = await rig.start('api,worker,scheduler');
  const faults = () => rig.logs.filter((line) => /"level":(?:50|60)/.test(line));
  return { rig, api: rig.apiOf(first), faults };
}

test.each(isLongForm() ? everyCase : shortCases)(
  'without %s, a conversation and a stop go on as before (G40)',
  async (_, leftOut) => {
    const { api, faults } = await openWithout(leftOut);
    const hello = { text: '[[tool: session_status {}]] [[reply: Hello.]]' };
    const sent = await api.send('chat', hello);
    expect(await api.settled(sent)).toMatchObject({ status: 'answered', reply: 'Hello.' });
    const keyed = { 'idempotency-key': 'once' };
    const both = await Promise.all([1, 2].map(() => api.ask('POST', '/v1/sessions/chat/messages', hello, keyed)));
    expect(new Set(both.map(({ body }) => body.message.id)).size).toBe(1);
    expect(await api.settled(both[0]?.body.message)).toMatchObject({ status: 'answered' });

    const stays = await api.send('stopped', { text: '[[delay: 600000]]' });
    await waitUntil('the turn runs', soonMs, async () => {
      const { body } = await api.ask('GET', '/v1/turns?status=running');
      return body.items.length === 1;
    });
    expect(await api.ask('POST', '/v1/sessions/stopped/abort', {})).toMatchObject({ status: 200 });
    expect(await api.settled(stays)).toMatchObject({ status: 'cancelled', error: { code: 'aborted' } });
    expect(faults()).toEqual([]);
  },
);

// Each takes a second start.
test.each(isFullForm() ? everyCase : shortCases)(
  'without %s, another worker continues the turn of one that is killed',
  async (_, leftOut) => {
    const { rig, api, faults } = await openWithout(leftOut);
    const gate = rig.gate();
    const crashed = await api.send('crashed', { text: `${gate.call} [[reply: After the crash.]]` });
    const holder = await rig.holderOf('crashed');
    const second = await rig.start('api,worker,scheduler');
    await rig.kill(holder);
    gate.open();
    const settled = await rig.apiOf(second).settled(crashed);
    expect(settled).toMatchObject({ status: 'answered', reply: 'After the crash.' });
    expect(faults()).toEqual([]);
  },
);
