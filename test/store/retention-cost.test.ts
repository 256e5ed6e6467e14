// Goal: a pass with nothing to delete costs the same however many rows are kept. Method: many rows of every kind that are too young, and the pages
// that PostgreSQL reads for one statement, which must complete the pass.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { beginRetention, RETENTION_KINDS } from '../../src/store/retention/retention-kinds.ts';
import { createManyRows } from './many-rows.ts';
import type { StoreRig } from './store-rig.ts';

const KEPT = 20_000;
/** The statement of a kind in an empty database reads up to 30 pages. The rows of one kind fill hundreds. */
const PAGES_MAX = 100;
/** Longer than the ids of the rows are old. */
const KEEP_MS = 40 * 365 * 86_400_000;

let rig: StoreRig;
beforeAll(async () => {
  rig = await createManyRows();
  await rig.rows(`insert into holdfast.idempotency_keys (scope, key, request_sha256, resource_id)
    select 'POST /v1/messages', gen_random_uuid(), md5(n::text), gen_random_uuid() from generate_series(1, ${KEPT}) as n`);
  await rig.rows(`update holdfast.sessions set transcript_no = ${KEPT}`);
  await rig.rows(`insert into holdfast.ended_transcripts (session_id, transcript_no, last_seq)
    select s.id, n, n from holdfast.sessions s, generate_series(1, 10) as n`);
  await rig.rows('vacuum analyze');
  await beginRetention(rig.database);
});
afterAll(() => rig.drop());

test.each(RETENTION_KINDS.map((deleteSome) => ({ kind: deleteSome.kind, deleteSome })))(
  'a pass over $kind that are all too young reads a few pages',
  async ({ deleteSome }) => {
    const client = await rig.database.views.connect();
    try {
      await client.query('begin');
      const { text } = deleteSome.render(new Set());
      const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, [KEEP_MS]);
      const { Plan: plan } = rows[0]['QUERY PLAN'][0];
      expect(plan['Shared Hit Blocks'] + plan['Shared Read Blocks']).toBeLessThan(PAGES_MAX);
      await client.query('rollback');
    } finally {
      client.release();
    }
    expect(await deleteSome(rig.database, KEEP_MS)).toMatchObject({ hasMore: false, deleted: 0 });
  },
);
