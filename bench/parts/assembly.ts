// (h) Assembling the request for a new session and one of 500 turns, in one core: what a model call
// costs before a byte leaves, which is the view of the transcript, the check, the body and its
// hash. Beside it, what the first call costs after a transcript was read from the database: all
// passes over all entries, and all of the JSON of the messages.
import { hash } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { ContentBlock } from '../../src/core/content.ts';
import type { Entry } from '../../src/core/entry.ts';
import type { ViewRules } from '../../src/history/past.ts';
import type { EntryId, TurnId } from '../../src/core/ids.ts';
import type { ModelRequest } from '../../src/core/model-request.ts';
import { toWireRequest } from '../../src/model/transport.ts';
import { writeBody } from '../../src/model/anthropic.ts';
import { RequestView, type CallCircumstances } from '../../src/kernel/turn/request-view.ts';
import { Transcript } from '../../src/kernel/turn/transcript-cache.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import type { BenchContext, BenchPart } from '../rig/bench-context.ts';
import { median, quantile } from '../rig/statistics.ts';

export const assembly: BenchPart = { letter: 'h', title: 'assembling a request', run };

/**
 * Sessions with so many turns, and the most milliseconds that a request may cost. The smaller one
 * has 40 kB, most of it tools and system prompt.
 */
const sessions = [
  { turnCount: 4, barMs: 0.15 },
  { turnCount: 500, barMs: 5 },
];
const systemChars = 16_000;
const toolCount = 20;

/** A turn as agents have them: some words, a call with its result, an answer. */
const promptChars = 300;
const resultChars = 1_200;
const answerChars = 500;

async function run(context: BenchContext): Promise<BarLine[]> {
  return sessions.map((session) => measure(context, session));
}

function measure(context: BenchContext, { turnCount, barMs }: (typeof sessions)[number]): BarLine {
  const rounds = context.isQuick ? 60 : 300;
  const entries = sessionEntries(turnCount);
  context.say(`${turnCount} turns, ${rounds} requests warm and cold`);
  const floorMs: number[] = [];
  const warmMs: number[] = [];
  const coldMs: number[] = [];
  const transcript = transcriptOf(entries);
  const view = new RequestView(transcript, rulesAt(entries.length));
  let bodyBytes = 0;
  for (let round = 0; round < rounds; round += 1) {
    bodyBytes = assemble(view).length;
    warmMs.push(timeOf(() => assemble(view)));
    coldMs.push(timeOf(() => assemble(new RequestView(transcriptOf(entries), rulesAt(entries.length)))));
    const body = toWireRequest(requestOf(view));
    floorMs.push(timeOf(() => JSON.stringify(body)));
  }
  return {
    part: 'h',
    what: `a request of ${turnCount} turns, median`,
    floor: `${formatNumber(median(floorMs))} ms: JSON.stringify of ${formatNumber(bodyBytes / 1e6)} MB`,
    holdfast: `p99 ${formatNumber(quantile(warmMs, 0.99))} ms; the first ${formatNumber(median(coldMs))} ms`,
    measured: median(warmMs),
    unit: ' ms',
    bar: barMs,
    sense: 'atMost',
  };
}

/** All that a model call does before it sends: the messages, the body, its hash. */
function assemble(view: RequestView): Uint8Array {
  const body = writeBody(requestOf(view), { isStreaming: true });
  hash('sha256', body);
  return body;
}

function requestOf(view: RequestView): ModelRequest {
  view.decide(circumstances);
  const { messages, violations } = view.next();
  if (violations.length > 0) throw new Error(`The request of the benchmark is wrong: ${violations[0]?.detail}`);
  return { model: 'model', maxTokens: 1000, system, tools, messages: [...messages] };
}

const system: ModelRequest['system'] = [
  { type: 'text', text: words(systemChars, 0), cache_control: { type: 'ephemeral' } },
];
const tools: ModelRequest['tools'] = Array.from({ length: toolCount }, (_, at) => ({
  name: `tool_${at}`,
  description: words(promptChars, at),
  input_schema: {
    type: 'object',
    properties: Object.fromEntries(
      ['path', 'query', 'limit', 'offset'].map((name) => [name, { type: 'string', description: words(60, at) }]),
    ),
    required: ['path'],
  },
}));

const circumstances: CallCircumstances = {
  sessionView: {},
  pruning: {
    mode: 'off',
    ttl: 300_000,
    keepLastAssistants: 3,
    softTrimRatio: 0.3,
    hardClearRatio: 0.5,
    minPrunableToolChars: 50_000,
    softTrim: { maxChars: 4000, headChars: 1500, tailChars: 1500 },
    hardClear: { enabled: true, placeholder: '[compacted: tool output removed to free context]' },
    tools: { allow: [], deny: [] },
  },
  contextTokens: 10_000_000,
  nowMs: 0,
};

function rulesAt(promptSeq: number): ViewRules {
  return { view: {}, promptSeq, model: 'model', injected: [], imageOf: () => undefined };
}

function transcriptOf(entries: readonly Entry[]): Transcript {
  const transcript = new Transcript(1);
  for (const entry of entries) transcript.push(entry);
  return transcript;
}

function sessionEntries(turnCount: number): Entry[] {
  const entries: Entry[] = [];
  const add = (kind: Entry['kind'], role: Entry['role'], content: ContentBlock[]): void => {
    const seq = entries.length + 1;
    entries.push({ id: `e${seq}` as EntryId, seq, parentSeq: seq - 1, kind, role, content, turnId: 't' as TurnId });
  };
  for (let turn = 1; turn <= turnCount; turn += 1) {
    const id = `toolu_${turn}`;
    add('prompt', 'user', [{ type: 'text', text: words(promptChars, turn) }]);
    add('answer', 'assistant', [{ type: 'tool_use', id, name: 'read', input: { path: `notes/${turn}.md` } }]);
    add('results', 'user', [{ type: 'tool_result', tool_use_id: id, content: words(resultChars, turn) }]);
    add('answer', 'assistant', [{ type: 'text', text: words(answerChars, turn) }]);
  }
  add('prompt', 'user', [{ type: 'text', text: words(promptChars, 0) }]);
  return entries;
}

function words(chars: number, salt: number): string {
  return `${salt} lines of a file,\n"quoted" and plain, `.repeat(Math.ceil(chars / 30)).slice(0, chars);
}

function timeOf(work: () => void): number {
  const begin = performance.now();
  work();
  return performance.now() - begin;
}
