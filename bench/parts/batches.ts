// (k) Batches: the time and the memory of an upload and of its results, beside a loop and a cursor
// that do only that.
import {
  createReadStream,
  createWriteStream,
  mkdtempSync,
  rmSync,
  statSync,
  writeSync,
  openSync,
  closeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { withConnection } from '../rig/ask-database.ts';
import type { BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import { benchApiKey, splitRoles, type BenchService } from '../rig/bench-service.ts';
import { msOf } from '../rig/ms-of.ts';
import { memoryOfTree, peakMemory } from '../rig/process-memory.ts';

export const batches: BenchPart = { letter: 'k', title: 'uploads and results of batches', run };

const lineBytes = 1_000;
const groupRows = 500;
const authorization = `Bearer ${benchApiKey}`;

async function run(context: BenchContext): Promise<BarLine[]> {
  const items = context.isQuick ? 20_000 : 100_000;
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-bench-batches-'));
  const file = join(dir, 'items.jsonl');
  writeItems(file, items);
  const databaseUrl = context.place.splitDatabaseUrl;
  try {
    return await withService(context, { roles: splitRoles }, async (service) => {
      context.say(`${items} items, ${(statSync(file).size / 1e6).toFixed(0)} MB`);
      const floorSeconds = await secondsOf(() => withConnection(databaseUrl, (client) => insertBare(client, file)));
      const idle = memoryOfTree(service.pid).megabytes;
      let id = '';
      const upload = await measured(service, async () => (id = await submit(service, file)));
      await withConnection(databaseUrl, (client) => finishItems(client, id));
      const cursorSeconds = await secondsOf(() =>
        withConnection(databaseUrl, (client) => readBare(client, id, join(dir, 'bare.jsonl'))),
      );
      const before = memoryOfTree(service.pid).megabytes;
      const results = await measured(service, () => fetchResults(service, id, join(dir, 'results.jsonl')));
      return [
        ratioLine('an upload', upload.seconds, floorSeconds, 4),
        growthLine('API process during an upload', upload.megabytes - idle),
        ratioLine('the results', results.seconds, cursorSeconds, 5),
        growthLine('API process during the results', results.megabytes - before),
      ];
    });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function writeItems(file: string, items: number): void {
  const out = openSync(file, 'w');
  const filler = 'x'.repeat(lineBytes - 60);
  for (let n = 1; n <= items; n += 1) writeSync(out, `{"text":"${filler}","customId":"row-${n}"}\n`);
  closeSync(out);
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  return (await msOf(work)) / 1000;
}

async function measured(service: BenchService, work: () => Promise<unknown>) {
  const { result: seconds, peak } = await peakMemory(service.pid, () => secondsOf(work));
  return { seconds, megabytes: peak.megabytes };
}

async function submit(service: BenchService, file: string): Promise<string> {
  const answer = await fetch(`${service.url}/v1/batches?concurrency=1`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/x-ndjson' },
    body: Readable.toWeb(createReadStream(file)),
    duplex: 'half',
  });
  const { id, detail } = (await answer.json()) as { id: string; detail?: string };
  if (answer.status !== 201) throw new Error(`the upload was answered ${answer.status}: ${detail ?? ''}`);
  await service.ask('POST', `/v1/batches/${id}/pause`, {});
  return id;
}

async function fetchResults(service: BenchService, id: string, file: string): Promise<void> {
  const answer = await fetch(`${service.url}/v1/batches/${id}/results`, { headers: { authorization } });
  const body = Readable.fromWeb(answer.body as Parameters<typeof Readable.fromWeb>[0]);
  await pipeline(body, createWriteStream(file));
}

/** Inserts the same rows from the same file, and does nothing else. */
async function insertBare(client: pg.Client, file: string): Promise<void> {
  await client.query('create table holdfast.bare_items (like holdfast.batch_items including all)');
  let group: { text: string; customId: string }[] = [];
  let stored = 0;
  const store = async (): Promise<void> => {
    await client.query(
      `insert into holdfast.bare_items (batch_id, n, custom_id, session_key, is_own_session, is_ready, body)
       select '00000000-0000-7000-8000-000000000000', $1::int + place, custom_id, 'agent:main:bare:' || place, true, true, body::json
       from unnest($2::text[], $3::text[]) with ordinality as item (custom_id, body, place)`,
      [stored, group.map(({ customId }) => customId), group.map((item) => JSON.stringify(item))],
    );
    stored += group.length;
    group = [];
  };
  for await (const line of createInterface({ input: createReadStream(file) })) {
    group.push(JSON.parse(line) as { text: string; customId: string });
    if (group.length === groupRows) await store();
  }
  if (group.length > 0) await store();
  await client.query('drop table holdfast.bare_items');
}

/** Gives every item an answered turn. */
async function finishItems(client: pg.Client, id: string): Promise<void> {
  await client.query(
    `with answered as (
       update holdfast.batch_items set status = 'answered', turn_id = gen_random_uuid(), message_id = gen_random_uuid()
       where batch_id = $1 returning turn_id, message_id
     ),
     made as (
       insert into holdfast.turns (id, session_id, kind, lane, status, epoch, worker, model, prompt_seq, system_sha256, tools_sha256, reply,
         queued_at, claimed_at, ended_at)
       select turn_id, message_id, 'batch', 'batch', 'completed', 1, 'w', 'm', 1, '', '', repeat('y', 500), now(), now(), now() from answered
     )
     insert into holdfast.inbox (id, session_id, seq, kind, status, body, route, turn_id, settled_at)
     select message_id, message_id, 1, 'batch', 'answered', '{}', '', turn_id, now() from answered`,
    [id],
  );
  await client.query('analyze holdfast.batch_items, holdfast.turns, holdfast.inbox');
}

/** A cursor over the same rows, written as lines. */
async function readBare(client: pg.Client, id: string, file: string): Promise<void> {
  const out: Writable = createWriteStream(file);
  await client.query('begin');
  await client.query(
    `declare results cursor for select i.n, i.custom_id, i.status, t.reply, i.error, i.session_key, i.message_id, i.turn_id, i.attempt,
       i.input_tokens, i.output_tokens, i.cost_micros
     from holdfast.batch_items i join holdfast.turns t on t.id = i.turn_id where i.batch_id = '${id}' order by i.n`,
  );
  for (;;) {
    const { rows } = await client.query(`fetch ${groupRows} from results`);
    if (rows.length === 0) break;
    out.write(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  }
  await client.query('commit');
  await new Promise((resolve) => out.end(resolve));
}

function ratioLine(what: string, seconds: number, floorSeconds: number, bar: number): BarLine {
  return {
    part: 'k',
    what,
    floor: `${floorSeconds.toFixed(1)} s`,
    holdfast: `${seconds.toFixed(1)} s`,
    measured: seconds / floorSeconds,
    unit: 'x',
    bar,
    sense: 'atMost',
  };
}

function growthLine(what: string, megabytes: number): BarLine {
  const bar = 80;
  return { part: 'k', what, floor: '', holdfast: 'growth', measured: megabytes, unit: ' MB', bar, sense: 'atMost' };
}
