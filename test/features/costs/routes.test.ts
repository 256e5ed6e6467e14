// The price table over HTTP, and its stored versions.
import { expect, test } from 'vitest';
import { priceBookOf } from '../../../src/config.ts';
import { storePriceVersion } from '../../../src/features/costs/store/reprice.ts';
import { readPriceVersions } from '../../rows/prices.ts';
import { useApiRig } from '../../api/use-api-rig.ts';

const holder = useApiRig();

test('the table in use is shown in dollars per million tokens', async () => {
  const { body, status } = await holder.rig.get('/v1/prices');
  expect(status).toBe(200);
  expect(body.version).toBe(priceBookOf(holder.rig.turns.config).version);
  expect(body.rows).toContainEqual({
    model: 'anthropic/claude-sonnet-5-5',
    from: '2026-10-07',
    to: null,
    inputPerMTok: 2,
    outputPerMTok: 10,
    cacheReadPerMTok: 0.1,
    cacheWrite5mPerMTok: 2.5,
    cacheWrite1hPerMTok: 4,
    longPrompt: null,
    batchPercent: 50,
    source: expect.stringMatching(/^https:/),
    checkedAt: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
  });
});

test('a version of the table is stored once, with its rows', async () => {
  const { turns } = holder.rig;
  const book = priceBookOf(turns.config);
  await storePriceVersion(turns.database, book);
  await storePriceVersion(turns.database, book);
  expect(await readPriceVersions(turns, {}, 'version', 'sha256', 'rows')).toEqual([
    { version: book.version, sha256: book.sha256, rows: book.table },
  ]);
});
