// Checks a conversation once it has settled, whichever process crashed: nothing is lost, doubled or
// reordered (G1, G3), no effect happened twice unless its tool allows it (G11), every request is
// well-formed (G12), and one worker commits at a time (G7). It reads the API, the tables, the
// requests that the model received and the recorded effects.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RecordedRequest } from '../../../scripted-model/request-log.ts';
import type { TranscriptEntry } from './api-client.ts';
import type { Conversation } from './conversation.ts';
import type { CrashRig } from './crash-rig.ts';

/** Returns what is wrong, one sentence each; empty when everything holds. */
export async function judge(rig: CrashRig, talk: Conversation): Promise<string[]> {
  const transcript = await rig.client.transcript(talk.session);
  return [
    ...judgeMessages(talk),
    ...judgeInputs(talk, transcript),
    ...judgePairs(transcript),
    ...judgeEffects(rig, talk, transcript),
    ...judgeRequests(rig.requests.filter((request) => isOf(request, talk))),
    ...(await judgeRows(rig, talk)),
    ...(await judgeCosts(rig, talk)),
    ...(talk.memoryNote === null ? [] : await judgeCompaction(rig, talk, talk.memoryNote)),
  ];
}

function judgeMessages({ messages }: Conversation): string[] {
  return messages
    .filter(({ status }) => status !== 'answered')
    .map(({ seq, status, error }) => `message ${seq} ended ${status}: ${JSON.stringify(error)}`);
}

function judgeInputs({ markers }: Conversation, transcript: TranscriptEntry[]): string[] {
  const inputs = transcript
    .filter(({ kind }) => kind === 'prompt' || kind === 'steer')
    .flatMap(({ content }) => content.map(({ text }) => text ?? ''))
    .join('\n');
  const counts = markers.map((marker) => inputs.split(marker).length - 1);
  const faults = counts.flatMap((count, index) => {
    if (count === 1) return [];
    return [count === 0 ? `${markers[index]} is lost` : `${markers[index]} is in the transcript ${count} times`];
  });
  const positions = markers.map((marker) => inputs.indexOf(marker));
  const isOrdered = positions.every((position, index) => index === 0 || position > positions[index - 1]!);
  return isOrdered ? faults : [...faults, `the inputs are out of order: ${positions.join(', ')}`];
}

function judgePairs(transcript: TranscriptEntry[]): string[] {
  const faults: string[] = [];
  transcript.forEach(({ seq, content }, index) => {
    if (seq !== index + 1) faults.push(`entry ${seq} stands at position ${index + 1}`);
    const calls = content.filter(({ type }) => type === 'tool_use').map(({ id }) => id);
    if (calls.length === 0) return;
    const next = transcript[index + 1]?.content ?? [];
    const results = next.filter(({ type }) => type === 'tool_result').map((block) => block.tool_use_id);
    if (calls.join() !== results.join())
      faults.push(`entry ${seq} calls ${calls.join()} but is followed by results of ${results.join()}`);
  });
  return faults;
}

function judgeEffects(rig: CrashRig, { effectKeys }: Conversation, transcript: TranscriptEntry[]): string[] {
  const blocks = transcript.flatMap(({ content }) => content);
  return effectKeys.flatMap((key, index) => {
    const isIdempotent = index % 2 === 1;
    const happened = rig.effects.effects.filter((effect) => effect.key === key);
    const calls = blocks.filter((block) => block.type === 'tool_use' && JSON.stringify(block).includes(`"${key}"`));
    if (calls.length !== 1) return [`effect ${key} was called for ${calls.length} times`];
    const result = blocks.find((block) => block.type === 'tool_result' && block.tool_use_id === calls[0]!.id);
    if (result === undefined) return [`effect ${key} has no result`];
    const faults: string[] = [];
    if (!isIdempotent && happened.length > 1) faults.push(`effect ${key} happened ${happened.length} times`);
    if (new Set(happened.map(({ idempotencyKey }) => idempotencyKey)).size > 1) {
      faults.push(`effect ${key} came with different idempotency keys`);
    }
    if (result.is_error !== true && happened.length === 0) faults.push(`effect ${key} is reported but did not happen`);
    if (result.is_error === true && isIdempotent) faults.push(`effect ${key} failed although it may run again`);
    if (result.is_error === true && !JSON.stringify(result.content).includes('outcome unknown')) {
      faults.push(`effect ${key} failed: ${JSON.stringify(result.content)}`);
    }
    return faults;
  });
}

function judgeRequests(requests: RecordedRequest[]): string[] {
  const faults: string[] = [];
  let highest = 0;
  for (const request of requests) {
    if (request.status !== null && request.status >= 400)
      faults.push(`request ${request.number} was refused with ${request.status}`);
    const epoch = epochOf(request);
    if (epoch < highest) faults.push(`request ${request.number} came with epoch ${epoch} after one with ${highest}`);
    highest = Math.max(highest, epoch);
  }
  return faults;
}

async function judgeRows(rig: CrashRig, { session, messages }: Conversation): Promise<string[]> {
  const { rows } = await rig.database.query<Record<string, string>>(
    `with own as (select * from holdfast.sessions where key = $1)
     select (select count(*) from own where owner is not null or turn_id is not null or waiting <> 0) as busy,
       (select count(*) from holdfast.doorbells d join own on own.id = d.session_id) as doorbells,
       (select count(*) from holdfast.inbox i join own on own.id = i.session_id) as inputs,
       (select count(*) from holdfast.turns t join own on own.id = t.session_id where t.ended_at is null) as open_turns,
       (select count(*) from holdfast.tool_calls c join holdfast.turns t on t.id = c.turn_id join own on own.id = t.session_id
        where c.status = 'intent') as intents`,
    [`agent:main:${session}`],
  );
  const row = rows[0]!;
  const expected: Record<string, number> = {
    busy: 0,
    doorbells: 0,
    inputs: messages.length,
    open_turns: 0,
    intents: 0,
  };
  return Object.entries(expected)
    .filter(([name, count]) => Number(row[name]) !== count)
    .map(([name, count]) => `${name} is ${row[name]} instead of ${count}`);
}

/**
 * Each stored call is counted once in the sums of its turn and its session and in the log of
 * events, whatever crashed.
 */
async function judgeCosts(rig: CrashRig, { session }: Conversation): Promise<string[]> {
  const { rows } = await rig.database.query<Record<string, string>>(
    `with own as (select * from holdfast.sessions where key = $1), own_turns as (select t.* from holdfast.turns t join own on own.id = t.session_id)
     select (select sum(c.cost_micros) from holdfast.model_calls c join own_turns t on t.id = c.turn_id) as calls,
       (select sum(cost_micros) from own_turns) as turns, (select cost_micros from own) as session,
       (select sum((e.data ->> 'costMicros')::bigint) from holdfast.events e join own on own.id = e.session_id where e.type = 'model.ended') as events,
       (select sum((e.data ->> 'costMicros')::bigint) from holdfast.events e join own on own.id = e.session_id where e.type = 'turn.ended') as ends`,
    [`agent:main:${session}`],
  );
  const { calls, ...sums } = rows[0]!;
  return Object.entries(sums)
    .filter(([, sum]) => sum !== calls)
    .map(([name, sum]) => `the costs of ${name} are ${sum}, those of the calls ${calls}`);
}

/** The history was compacted once, and the memory note was written once. */
async function judgeCompaction(rig: CrashRig, { session }: Conversation, note: string): Promise<string[]> {
  const { rows } = await rig.database.query<{ name: string; count: number }>(
    `with own as (select id from holdfast.sessions where key = $1)
     select 'summaries' as name, count(*)::int from holdfast.entries e join own on own.id = e.session_id where e.kind = 'summary'
     union all select 'active summaries', count(*)::int from holdfast.entries e join own on own.id = e.session_id
       where e.kind = 'summary' and e.state = 'active'
     union all select 'completed compactions', count(*)::int from holdfast.compactions c join own on own.id = c.session_id
       where c.status = 'completed'
     union all select 'open compactions', 1 + count(*)::int from holdfast.compactions c join own on own.id = c.session_id
       where c.status = 'running'`,
    [`agent:main:${session}`],
  );
  const dir = join(rig.workspaceDir, 'memory');
  const files = await readdir(dir).catch((): string[] => []);
  const memory = (await Promise.all(files.map((file) => readFile(join(dir, file), 'utf8')))).join('\n');
  const noted = memory.split('\n').filter((line) => line === note).length;
  return [...rows, { name: 'notes in the memory', count: noted }]
    .filter(({ count }) => count !== 1)
    .map(({ name, count }) => `${name}: ${name.startsWith('open') ? count - 1 : count}`);
}

/** True for a model request of this conversation. */
export function isOf(request: RecordedRequest, { session }: Conversation): boolean {
  return request.headers['x-holdfast-session'] === `agent:main:${session}`;
}

function epochOf(request: RecordedRequest): number {
  return Number(request.headers['x-holdfast-epoch'] ?? 0);
}
