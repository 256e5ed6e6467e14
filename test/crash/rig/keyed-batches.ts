// Requests to the POST routes of batches, budgets, keys and bulk actions, for keyed-scenarios.ts.
import { newId } from '../../../src/ids.ts';
import { changeOnce, count, nameOf, type Ground, type KeyedScenario } from './keyed-ground.ts';

const STARTED = `holdfast.batches where name = $1 and status <> 'uploading'`;

/** A batch whose only item has failed and is counted. */
const FAIL_ITEMS = `with counted as (update holdfast.batches set failed = 1 where id = $1)
  update holdfast.batch_items set status = 'failed', error_code = 'x' where batch_id = $1`;

async function submitted(ground: Ground, name: string): Promise<string> {
  const { body } = await ground.post('/v1/batches', { name, items: [{ text: 'one' }] });
  return body.id;
}

function command(verb: string, spec: { prepare?: string; back: string; isChanged: string }): KeyedScenario {
  return {
    name: `a batch and ${verb}`,
    route: `/v1/batches/{id}/${verb}`,
    async prepare(ground, session) {
      const id = await submitted(ground, session);
      if (spec.prepare !== undefined) await ground.rows(spec.prepare, [id]);
      return { path: `/v1/batches/${id}/${verb}`, body: {}, status: 200, ...changeOnce(ground, { id, ...spec }) };
    },
  };
}

export const KEYED_BATCHES: KeyedScenario[] = [
  {
    name: 'a budget',
    route: '/v1/budgets',
    prepare: async (ground, session) => ({
      path: '/v1/budgets',
      body: { scope: `session:${session}`, per: 'day', limitUsd: 5 },
      status: 201,
      effects: () => count(ground, 'holdfast.budgets where scope = $1', [`session:${session}`]),
    }),
  },
  {
    name: 'an API key',
    route: '/v1/keys',
    secret: 'key',
    prepare: async (ground, session) => ({
      path: '/v1/keys',
      body: { name: nameOf(session), role: 'viewer' },
      status: 201,
      effects: () => count(ground, 'holdfast.api_keys where name = $1', [nameOf(session)]),
    }),
  },
  {
    name: 'a bulk action',
    route: '/v1/bulk-actions',
    prepare: async (ground, session) => ({
      path: '/v1/bulk-actions',
      body: { action: 'abort', target: 'turns', ids: [newId()], reason: session },
      status: 202,
      effects: () => count(ground, 'holdfast.bulk_actions where reason = $1', [session]),
    }),
  },
  {
    name: 'a bulk action and cancel',
    route: '/v1/bulk-actions/{id}/cancel',
    async prepare(ground, session) {
      const body = { action: 'abort', target: 'turns', ids: [newId()], reason: session };
      const { id } = (await ground.post('/v1/bulk-actions', body)).body;
      return {
        path: `/v1/bulk-actions/${id}/cancel`,
        body: {},
        status: 200,
        effects: () =>
          count(ground, `holdfast.bulk_actions where reason = $1 and status = 'cancelled' and skipped = 1`, [session]),
      };
    },
  },
  {
    name: 'a code for one sign-in',
    route: '/v1/auth/codes',
    secret: 'code',
    async prepare(ground) {
      const codes = () => count(ground, 'holdfast.sign_in_codes', []);
      const before = await codes();
      return { path: '/v1/auth/codes', body: {}, status: 201, effects: async () => (await codes()) - before };
    },
  },
  {
    name: 'a batch',
    route: '/v1/batches',
    prepare: async (ground, session) => ({
      path: '/v1/batches',
      body: { name: session, items: [{ text: 'one' }, { text: 'two' }] },
      status: 201,
      effects: () => count(ground, STARTED, [session]),
    }),
  },
  command('pause', {
    back: `update holdfast.batches set status = 'running', pause_reason = null where id = $1`,
    isChanged: `holdfast.batches where id = $1 and status = 'paused'`,
  }),
  command('resume', {
    prepare: `update holdfast.batches set status = 'paused', pause_reason = 'manual' where id = $1`,
    back: `update holdfast.batches set status = 'paused', pause_reason = 'manual' where id = $1`,
    isChanged: `holdfast.batches where id = $1 and status = 'running'`,
  }),
  command('cancel', {
    back: `update holdfast.batches set status = 'running' where id = $1`,
    isChanged: `holdfast.batches where id = $1 and status = 'cancelling'`,
  }),
  {
    name: 'a submission and forget',
    route: '/v1/provider-batches/{id}/forget',
    async prepare(ground) {
      const id = newId<string>();
      await ground.rows(
        `insert into holdfast.provider_batches (id, account, status, request_count, body_bytes, body_sha256) values ($1, 'a', 'submitted', 1, 1, 'x')`,
        [id],
      );
      const change = {
        id,
        back: `update holdfast.provider_batches set status = 'submitted' where id = $1`,
        isChanged: `holdfast.provider_batches where id = $1 and status = 'failed'`,
      };
      return { path: `/v1/provider-batches/${id}/forget`, body: {}, status: 200, ...changeOnce(ground, change) };
    },
  },
  command('retry-failed', {
    prepare: FAIL_ITEMS,
    back: FAIL_ITEMS,
    isChanged: `holdfast.batch_items where batch_id = $1 and status = 'pending'`,
  }),
];
