// Goal: a pass with nothing to delete costs the same however many rows are kept. Method: many rows
// of every kind that are too young, and the pages that PostgreSQL reads for one statement, which
// must complete the pass.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { beginRetention, RETENTION_KINDS } from '../../../src/features/retention/retention-kinds.ts';
import { newId } from '../../../src/ids.ts';
import { addEndedTranscripts } from '../../rows/entries.ts';
import { addIdempotencyKeys } from '../../rows/keys.ts';
import { createManyRows } from '../../rows/many-rows.ts';
import { changeSessions, readSessions } from '../../rows/sessions.ts';
import type { StoreRig } from '../../store/store-rig.ts';

const KEPT = 20_000;
/**
 * The statement of a kind in an empty database reads up to 30 pages. The rows of one kind fill
 * hundreds.
 */
const PAGES_MAX = 100;
/** Longer than the ids of the rows are old. */
const KEEP_MS = 40 * 365 * 86_400_000;

let rig: StoreRig;
beforeAll(async () => {
  rig = await createManyRows();
  const keys = Array.from({ length: KEPT }, () => ({ key: newId<string>(), resourceId: newId<string>() }));
  await addIdempotencyKeys(rig, ...keys.map((key) => ({ scope: 'POST /v1/messages', requestSha256: key.key, ...key })));
  await changeSessions(rig, {}, { transcriptNo: KEPT });
  const sessions = await readSessions(rig, {}, 'id');
  const ended = Array.from({ length: 10 }, (_, n) => ({ transcriptNo: n + 1, lastSeq: n + 1 }));
  await addEndedTranscripts(rig, ...sessions.flatMap(({ id }) => ended.map((row) => ({ sessionId: id, ...row }))));
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
