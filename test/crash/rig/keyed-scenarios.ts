// A request to every POST route, each with a count of its effects in the tables. No worker runs:
// waiting messages keep waiting, and running turns are inserted as rows, so every count is exact.
import { randomUUID } from 'node:crypto';
import { canonicalSessionKey } from '../../../src/core/session-key.ts';
import {
  changeOnce,
  count,
  insertDelivery,
  insertTurn,
  sessionIdOf,
  spawn,
  stop,
  type KeyedScenario,
} from './keyed-ground.ts';

import { deriveAttentionId } from '../../../src/features/overview/store/attention-marks.ts';
import { KEYED_APPROVALS } from './keyed-approvals.ts';
import { KEYED_ALERTS } from './keyed-alerts.ts';
import { KEYED_DATASETS } from './keyed-datasets.ts';
import { KEYED_EVALUATIONS } from './keyed-evaluations.ts';
import { KEYED_CHANNELS } from './keyed-channels.ts';
import { KEYED_TRIES } from './keyed-tries.ts';
import { KEYED_FILES } from './keyed-files.ts';
import { KEYED_RESPONSES } from './keyed-responses.ts';
import { KEYED_BATCHES } from './keyed-batches.ts';

const FAR = { kind: 'at', at: '2099-01-01T00:00:00Z' } as const;

const OF_SESSION = `in (select id from holdfast.sessions where key = $1)`;

export const KEYED_SCENARIOS: KeyedScenario[] = [
  ...KEYED_ALERTS,
  ...KEYED_APPROVALS,
  ...KEYED_CHANNELS,
  ...KEYED_DATASETS,
  ...KEYED_EVALUATIONS,
  ...KEYED_TRIES,
  {
    name: 'a message',
    route: '/v1/sessions/{key}/messages',
    prepare: async (ground, session) => ({
      path: `/v1/sessions/${session}/messages`,
      body: { text: 'once' },
      status: 202,
      effects: () => count(ground, `holdfast.inbox where session_id ${OF_SESSION}`, [canonicalSessionKey(session)]),
    }),
  },
  {
    name: '/stop as a message',
    route: '/v1/sessions/{key}/messages',
    prepare: async (ground, session) => ({
      path: `/v1/sessions/${session}/messages`,
      body: { text: '/stop' },
      status: 202,
      ...(await stop(ground, session)),
    }),
  },
  {
    name: '/think as a message',
    route: '/v1/sessions/{key}/messages',
    async prepare(ground, session) {
      const path = `/v1/sessions/${session}/messages`;
      const isSet = `holdfast.sessions where key = $1 and thinking = 'high'`;
      let overridden = 0;
      return {
        path,
        body: { text: '/think high' },
        status: 202,
        async meanwhile() {
          await ground.post(path, { text: '/think low' });
          overridden = 1;
        },
        effects: async () => overridden + (await count(ground, isSet, [canonicalSessionKey(session)])),
      };
    },
  },
  {
    name: 'an abort',
    route: '/v1/sessions/{key}/abort',
    prepare: async (ground, session) => ({
      path: `/v1/sessions/${session}/abort`,
      body: {},
      status: 200,
      ...(await stop(ground, session)),
    }),
  },
  {
    name: 'a system event',
    route: '/v1/sessions/{key}/system-events',
    prepare: async (ground, session) => ({
      path: `/v1/sessions/${session}/system-events`,
      body: { text: 'once' },
      status: 202,
      // An event that repeats the last one is dropped as a duplicate, so another one is sent in
      // between.
      meanwhile: () => ground.post(`/v1/sessions/${session}/system-events`, { text: 'another' }),
      effects: () =>
        count(ground, `holdfast.system_events where text = 'once' and session_id ${OF_SESSION}`, [
          canonicalSessionKey(session),
        ]),
    }),
  },
  {
    name: 'a compaction',
    route: '/v1/sessions/{key}/compact',
    async prepare(ground, session) {
      const id = await sessionIdOf(ground, session);
      return {
        path: `/v1/sessions/${session}/compact`,
        body: {},
        status: 202,
        effects: () => count(ground, `holdfast.inbox where kind = 'compaction' and session_id = $1`, [id]),
      };
    },
  },
  {
    name: 'a reset',
    route: '/v1/sessions/{key}/reset',
    async prepare(ground, session) {
      const id = await sessionIdOf(ground, session);
      return {
        path: `/v1/sessions/${session}/reset`,
        body: {},
        status: 200,
        effects: () => count(ground, `holdfast.ended_transcripts where session_id = $1`, [id]),
      };
    },
  },
  {
    name: 'a fork',
    route: '/v1/sessions/{key}/fork',
    async prepare(ground, session) {
      const id = await sessionIdOf(ground, session);
      return {
        path: `/v1/sessions/${session}/fork`,
        body: { key: `${session}-fork` },
        status: 201,
        effects: () => count(ground, `holdfast.sessions where forked_from_id = $1`, [id]),
      };
    },
  },
  {
    name: 'the undoing of a compaction',
    route: '/v1/sessions/{key}/compactions/{id}/restore',
    async prepare(ground, session) {
      const id = randomUUID();
      await ground.rows(
        `insert into holdfast.compactions (id, session_id, transcript_no, turn_id, reason, status, attempt, summary_seq, tokens_before)
         values ($1, $2, 1, $3, 'manual', 'completed', 1, 1, 10)`,
        [id, await sessionIdOf(ground, session), randomUUID()],
      );
      return {
        path: `/v1/sessions/${session}/compactions/${id}/restore`,
        body: {},
        status: 200,
        ...changeOnce(ground, {
          id,
          back: `update holdfast.compactions set status = 'completed' where id = $1`,
          isChanged: `holdfast.compactions where id = $1 and status = 'restored'`,
        }),
      };
    },
  },
  {
    name: 'a spawn',
    route: '/v1/sessions/{key}/spawn',
    prepare: async (ground, session) => ({
      path: `/v1/sessions/${session}/spawn`,
      body: { task: 'x' },
      status: 202,
      effects: () =>
        count(ground, `holdfast.subagent_runs where parent_id ${OF_SESSION}`, [canonicalSessionKey(session)]),
    }),
  },
  {
    name: 'a kill',
    route: '/v1/subagents/{runId}/kill',
    async prepare(ground, session) {
      const runId = await spawn(ground, session);
      return {
        path: `/v1/subagents/${runId}/kill`,
        body: {},
        status: 200,
        effects: () => count(ground, `holdfast.inbox where cause_key = 'announce:' || $1::text`, [runId]),
      };
    },
  },
  {
    name: 'a steer',
    route: '/v1/subagents/{runId}/steer',
    async prepare(ground, session) {
      const runId = await spawn(ground, session);
      const text = `steer ${session}`;
      return {
        path: `/v1/subagents/${runId}/steer`,
        body: { text },
        status: 202,
        effects: () => count(ground, `holdfast.inbox where body ->> 'text' = $1`, [text]),
      };
    },
  },
  {
    name: 'the abort of a turn',
    route: '/v1/turns/{id}/abort',
    async prepare(ground, session) {
      const sessionId = await sessionIdOf(ground, session);
      const id = await insertTurn(ground, sessionId, 'running');
      await ground.rows('update holdfast.sessions set turn_id = $2 where id = $1', [sessionId, id]);
      return {
        path: `/v1/turns/${id}/abort`,
        body: {},
        status: 200,
        ...changeOnce(ground, {
          id: sessionId,
          back: 'update holdfast.sessions set stop_kind = null, stop_reason = null where id = $1',
          isChanged: 'holdfast.sessions where id = $1 and stop_reason is not null',
        }),
      };
    },
  },
  {
    name: 'the retry of a turn',
    route: '/v1/turns/{id}/retry',
    async prepare(ground, session) {
      const sessionId = await sessionIdOf(ground, session);
      const id = await insertTurn(ground, sessionId, 'failed');
      const fail = `update holdfast.inbox set status = 'failed', turn_id = $2 where session_id = $1`;
      await ground.rows(fail, [sessionId, id]);
      return {
        path: `/v1/turns/${id}/retry`,
        body: {},
        status: 202,
        ...changeOnce(ground, {
          id: sessionId,
          back: `update holdfast.inbox set status = 'failed', turn_id = '${id}' where session_id = $1`,
          isChanged: `holdfast.inbox where session_id = $1 and status = 'waiting'`,
        }),
      };
    },
  },
  {
    name: 'a cron',
    route: '/v1/crons',
    prepare: async (ground, session) => ({
      path: '/v1/crons',
      body: { name: session, schedule: FAR, payload: { kind: 'systemEvent', text: 'x' } },
      status: 201,
      effects: () => count(ground, 'holdfast.crons where name = $1', [session]),
    }),
  },
  {
    name: 'a run of a cron',
    route: '/v1/crons/{id}/run',
    async prepare(ground, session) {
      const payload = { kind: 'agentTurn', message: 'x' };
      const cron = { name: session, schedule: FAR, target: `session:${session}`, payload };
      const id = (await ground.post('/v1/crons', cron)).body.id;
      return {
        path: `/v1/crons/${id}/run`,
        body: {},
        status: 202,
        effects: () => count(ground, 'holdfast.cron_fires where cron_id = $1', [id]),
      };
    },
  },
  {
    name: 'a poll',
    route: '/v1/agents/{agent}/heartbeat',
    async prepare(ground) {
      const before = await count(ground, 'holdfast.heartbeats', []);
      return {
        path: '/v1/agents/main/heartbeat',
        body: {},
        status: 202,
        effects: async () => (await count(ground, 'holdfast.heartbeats', [])) - before,
      };
    },
  },
  {
    name: 'the redrive of a delivery',
    route: '/v1/deliveries/{id}/redrive',
    async prepare(ground, session) {
      const id = await insertDelivery(ground, session);
      return {
        path: `/v1/deliveries/${id}/redrive`,
        body: {},
        status: 200,
        ...changeOnce(ground, {
          id,
          back: `update holdfast.deliveries set status = 'failed' where id = $1`,
          isChanged: `holdfast.deliveries where id = $1 and status = 'pending'`,
        }),
      };
    },
  },
  {
    name: 'the sending of a delivery now',
    route: '/v1/deliveries/{id}/send',
    async prepare(ground, session) {
      const id = await insertDelivery(ground, session);
      const wait = `update holdfast.deliveries set status = 'pending', due_at = now() + interval '1 hour', expires_at = now() + interval '1 day' where id = $1`;
      await ground.rows(wait, [id]);
      return {
        path: `/v1/deliveries/${id}/send`,
        body: {},
        status: 200,
        ...changeOnce(ground, {
          id,
          back: wait,
          isChanged: `holdfast.deliveries where id = $1 and due_at <= now()`,
        }),
      };
    },
  },
  {
    name: 'a score',
    route: '/v1/turns/{id}/scores',
    async prepare(ground, session) {
      const turnId = await insertTurn(ground, await sessionIdOf(ground, session), 'failed');
      return {
        path: `/v1/turns/${turnId}/scores`,
        body: { score: 'helpful', value: false },
        status: 200,
        effects: () => count(ground, `holdfast.events where turn_id = $1 and type = 'score.set'`, [turnId]),
      };
    },
  },
  {
    name: 'the discarding of a delivery',
    route: '/v1/deliveries/{id}/discard',
    async prepare(ground, session) {
      const id = await insertDelivery(ground, session);
      return {
        path: `/v1/deliveries/${id}/discard`,
        body: {},
        status: 200,
        ...changeOnce(ground, {
          id,
          back: `update holdfast.deliveries set status = 'failed' where id = $1`,
          isChanged: `holdfast.deliveries where id = $1 and status = 'discarded'`,
        }),
      };
    },
  },
  {
    name: 'the redrive of dead letters',
    route: '/v1/dead-letters/redrive',
    async prepare(ground, session) {
      const id = await insertDelivery(ground, session);
      const letter = `insert into holdfast.dead_letters (id, kind, delivery_id, code, reason) values ($1, 'delivery', $1, 'delivery_failed', 'x')`;
      await ground.rows(letter, [id]);
      return {
        path: '/v1/dead-letters/redrive',
        body: { ids: [id] },
        status: 200,
        ...changeOnce(ground, {
          id,
          back: `with letter as (update holdfast.dead_letters set state = 'open' where id = $1)
            update holdfast.deliveries set status = 'failed' where id = $1`,
          isChanged: `holdfast.deliveries where id = $1 and status = 'pending'`,
        }),
      };
    },
  },
  {
    name: 'the discarding of dead letters',
    route: '/v1/dead-letters/discard',
    async prepare(ground, session) {
      const id = await insertDelivery(ground, session);
      const letter = `insert into holdfast.dead_letters (id, kind, delivery_id, code, reason) values ($1, 'delivery', $1, 'delivery_failed', 'x')`;
      await ground.rows(letter, [id]);
      return {
        path: '/v1/dead-letters/discard',
        body: { ids: [id] },
        status: 200,
        ...changeOnce(ground, {
          id,
          back: `with letter as (update holdfast.dead_letters set state = 'open' where id = $1)
            update holdfast.deliveries set status = 'failed' where id = $1`,
          isChanged: `holdfast.deliveries where id = $1 and status = 'discarded'`,
        }),
      };
    },
  },
  {
    name: 'the drain of a process',
    route: '/v1/workers/{id}/drain',
    async prepare(ground) {
      const id = randomUUID();
      await ground.rows(
        // It stays alive without a report for as long as the sweep takes.
        `insert into holdfast.workers (id, name, host, pid, roles, version, lanes, seen_at)
         values ($1::uuid, $1::uuid::text, 'host', 1, '{worker}', '1', '{}', clock_timestamp() + interval '1 hour')`,
        [id],
      );
      return {
        path: `/v1/workers/${id}/drain`,
        body: {},
        status: 202,
        ...changeOnce(ground, {
          id,
          back: 'update holdfast.workers set draining_at = null where id = $1',
          isChanged: 'holdfast.workers where id = $1 and draining_at is not null',
        }),
      };
    },
  },
  {
    name: 'a pause',
    route: '/v1/pause',
    prepare: async (ground, session) => ({
      path: '/v1/pause',
      body: { session },
      status: 200,
      ...changeOnce(ground, {
        id: canonicalSessionKey(session),
        back: 'delete from holdfast.pauses where session_key = $1',
        isChanged: 'holdfast.pauses where session_key = $1',
      }),
    }),
  },
  {
    name: 'the end of a pause',
    route: '/v1/resume',
    async prepare(ground, session) {
      const insert = `insert into holdfast.pauses (id, session_key, paused_by) values (gen_random_uuid(), $1, 'test')`;
      await ground.rows(insert, [canonicalSessionKey(session)]);
      return {
        path: '/v1/resume',
        body: { session },
        status: 200,
        ...changeOnce(ground, {
          id: canonicalSessionKey(session),
          back: insert,
          isChanged: '(select 1) as one where not exists (select from holdfast.pauses where session_key = $1)',
        }),
      };
    },
  },
  {
    name: 'the lifting of the block of a model',
    route: '/v1/models/unblock',
    async prepare(ground, session) {
      const model = `test/${session}`;
      await ground.rows(
        `insert into holdfast.model_blocks (account, model, until) values ('test', $1, clock_timestamp() + interval '1 hour')`,
        [model],
      );
      return {
        path: '/v1/models/unblock',
        body: { model },
        status: 200,
        ...changeOnce(ground, {
          id: model,
          back: 'update holdfast.model_blocks set lifted_at = null where model = $1',
          isChanged: 'holdfast.model_blocks where model = $1 and lifted_at is not null',
        }),
      };
    },
  },
  ...(['acknowledge', 'snooze'] as const).map((decision): KeyedScenario => ({
    name: `${decision} of a problem`,
    route: `/v1/attention/{attentionId}/${decision}`,
    async prepare(ground, session) {
      await ground.rows(
        `insert into holdfast.dead_letters (id, kind, code, reason) values (gen_random_uuid(), 'announcement', $1, 'a test')`,
        [session],
      );
      const id = deriveAttentionId(`dead_letters ${session}`);
      return {
        path: `/v1/attention/${id}/${decision}`,
        body: { reason: 'known' },
        status: 200,
        ...changeOnce(ground, {
          id,
          back: 'delete from holdfast.attention_marks where id = $1',
          isChanged: 'holdfast.attention_marks where id = $1',
        }),
      };
    },
  })),
  ...KEYED_BATCHES,
  ...KEYED_FILES,
  ...KEYED_RESPONSES,
];
