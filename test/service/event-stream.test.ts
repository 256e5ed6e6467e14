// Goal: a client that follows a turn live receives each of its events once, in order, whichever
// process crashes. Method: two clients, one on the turn and one on the session, follow a slowly
// streamed answer; the worker is killed in the middle of it, then the api process, and another one
// takes its port. The events that the clients received are compared with the rows.
import { describe, expect, onTestFinished, test } from 'vitest';
import { createClient, type ClientEvent } from '../../src/client/create-client.ts';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { readEvents } from '../rows/events.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { followEvents, type FollowedEvent } from './rig/event-follower.ts';
import { apiKey, openServiceRig, queues, type RunningProcess, type ServiceRig } from './rig/service-rig.ts';

const soonMs = 150_000;
const reply = Array.from({ length: 100 }, (_, index) => `This is sentence ${index + 1}.`).join(' ');

describe.each(queues)('with the queue in $queue', ({ queue }) => {
  let rig: ServiceRig;
  let api: RunningProcess;

  shareAmongTests(async (onEnd) => {
    const opened = await openServiceRig({ queue });
    onEnd(() => opened.close());
    rig = opened;
    [api] = await Promise.all([rig.start('api'), rig.start('worker'), rig.start('worker')]);
  });

  async function idsOf(of: { turnId: string } | { sessionId: string }): Promise<string[]> {
    return (await readEvents(rig, of, 'id')).map(({ id }) => String(id));
  }

  test('a stream continues without gaps or duplicates after its worker and its api were killed', async () => {
    const client = rig.apiOf(api);
    const bySession = await followEvents(`${api.url}/v1/events?session=watched`, apiKey);
    onTestFinished(() => bySession.leave());
    const text = `[[slow: 60]] [[reply: ${reply}]] [[tool: http_effect {"key": "watched"}]] [[slow: 60]] [[reply: ${reply}]]`;
    const message = await client.send('watched', { text });
    const turnId = await waitUntil('the turn is open', soonMs, async () => {
      return (await client.ask('GET', `/v1/messages/${message.id}`)).body.turnId as string | null;
    });
    const byTurn = await followEvents(`${api.url}/v1/turns/${turnId}/events`, apiKey);
    onTestFinished(() => byTurn.leave());
    // The typed client is compared with the same rows.
    const typed = createClient({ url: api.url, key: apiKey });
    const typedTurn = Array.fromAsync(typed.turnEvents({ id: turnId }));
    const leaving = new AbortController();
    onTestFinished(() => leaving.abort());
    await waitUntil('the session has an event', soonMs, () => bySession.events.length > 0);
    const after = bySession.events[0]?.id ?? '';
    const typedSession: ClientEvent[] = [];
    const following = (async () => {
      for await (const event of typed.events({ session: 'watched', after, signal: leaving.signal })) {
        typedSession.push(event);
      }
    })();
    const deltasOf = (isWanted: (call: number) => boolean): FollowedEvent[] =>
      byTurn.events.filter(({ type, data }) => type === 'model.delta' && isWanted(Number(data['call'])));

    await waitUntil('text arrives', soonMs, () => deltasOf((call) => call === 1).length >= 2);
    await rig.kill(await rig.holderOf('watched'));
    await waitUntil('another worker streams', soonMs, () => deltasOf((call) => call > 1).length >= 2);
    await api.end('SIGKILL');
    await rig.start('api', { port: Number(new URL(api.url).port) });

    await byTurn.isComplete;
    const settled = await client.settled(message);
    expect(settled).toMatchObject({ status: 'answered', reply });
    const sessionId = (await client.ask('GET', '/v1/sessions/watched')).body.id as string;
    const expected = await idsOf({ sessionId: sessionId });
    await waitUntil(
      'the session is followed to its end',
      soonMs,
      () => bySession.events.at(-1)?.id === expected.at(-1),
    );
    await Promise.all([byTurn.leave(), bySession.leave()]);
    await waitUntil(
      'the typed client has followed to the end',
      soonMs,
      () => typedSession.at(-1)?.id === expected.at(-1),
    );
    leaving.abort();
    await following;
    expect(typedSession.map(({ id }) => id)).toEqual(expected.slice(expected.indexOf(after) + 1));
    expect((await typedTurn).map(({ id }) => id)).toEqual(await idsOf({ turnId: turnId }));

    expect(byTurn.connections()).toBeGreaterThan(1);
    expect(byTurn.events.map(({ id }) => id)).toEqual(await idsOf({ turnId: turnId }));
    expect(byTurn.events.at(-1)).toMatchObject({ type: 'turn.ended', data: { status: 'completed', reply } });
    expect(bySession.events.map(({ id }) => id)).toEqual(expected);
    // Calls that a killed worker had begun have no end.
    const whole = byTurn.events.filter(({ type, data }) => type === 'model.ended' && data['status'] === 'ok');
    const streamed = whole.map((end) => deltasOf((call) => call === end.data['call']).map(({ data }) => data['text']));
    expect(streamed.map((texts) => texts.join(''))).toEqual([reply, reply]);
  });

  test('the text deltas of a turn, in order, are its text, with any number of concurrent streams', async () => {
    const client = rig.apiOf(api);
    const sessions = Array.from({ length: 16 }, (_, index) => `many-${index + 1}`);
    const sent = await Promise.all(
      sessions.map((session, index) =>
        client.send(session, { text: `[[slow: ${4 + index}]] [[reply: ${session}: ${reply}]]` }),
      ),
    );
    const settled = await Promise.all(sent.map((message) => client.settled(message)));
    const rows = await rig.rows<{ session: string; texts: string[]; last: string }>(
      `with told as (
           select replace(s.key, 'agent:main:', '') as session, e.* from holdfast.events e
           join holdfast.sessions s on s.id = e.session_id where s.key like 'agent:main:many-%' and e.turn_id is not null
         ),
         calls as (
           select session, (data->>'call')::int as call, string_agg(data->>'text', '' order by id) as text
           from told where type = 'model.delta' group by 1, 2
         )
         select session, (select array_agg(text order by call) from calls where calls.session = told.session) as texts,
           (array_agg(type order by id desc))[1] as last
         from told group by session`,
    );
    const byName = new Map(rows.map((row) => [row.session, row]));
    expect(settled.map(({ status }) => status)).toEqual(sessions.map(() => 'answered'));
    expect(sessions.filter((name) => byName.get(name)?.texts.at(-1) !== `${name}: ${reply}`)).toEqual([]);
    expect(rows.map(({ last }) => last)).toEqual(sessions.map(() => 'turn.ended'));
  });
});
