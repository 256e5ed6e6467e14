// Goal: no mistake of a provider ends a session. Method: 20 sessions of mixed conversations (texts,
// long texts, images, tools of the agent, tools of the client) with a provider that makes every
// mistake at random; then it makes no more, and each session has to answer its next message. A
// failure names the seed; `HOLDFAST_SEED` repeats a run.
import { expect, onTestFinished, test } from 'vitest';
import type { InboundMessage } from '../../src/core/inbound.ts';
import { transaction } from '../../src/database/transaction.ts';
import { settleCalls } from '../../src/kernel/turn/journal/settle-calls.ts';
import type { Tool, ToolOutcome } from '../../src/tools/tool.ts';
import { randomOf, seedOfRun } from '../crash/rig/random-of.ts';
import { png } from '../requests/rig/png.ts';
import { readCompactions } from '../rows/entries.ts';
import { readInputsWithTurns } from '../rows/inputs.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { isLongForm } from '../servers/test-form.ts';
import { startHostileProvider } from './hostile-provider.ts';
import { createTurnRig } from './turn-rig.ts';

const SESSIONS = 20;
const MESSAGES = isLongForm() ? 1000 : 60;

const image = (grey: number) => ({
  type: 'image' as const,
  source: { type: 'base64' as const, media_type: 'image/png', data: png(2, 2, grey).toString('base64') },
});
const toolOf = (name: string, outcome: () => ToolOutcome): Tool => ({
  spec: { name, description: name, input_schema: { type: 'object' } },
  summary: name,
  isIdempotent: false,
  run: () => Promise.resolve(outcome()),
});
const tools = [
  toolOf('look', () => ({ content: 'looked \u0000 \ud83d', isError: false })),
  toolOf('picture', () => ({ content: [image(7)], isError: false })),
];
const weather = { name: 'weather', description: 'The weather', input_schema: { type: 'object' as const } };

function messageOf(random: () => number, no: number): Partial<InboundMessage> & { text: string } {
  const text = `Message ${no} 😀`;
  const kind = Math.floor(random() * 4);
  if (kind === 0) return { text: `${text} ${'lörem ipsum '.repeat(1500)}` };
  if (kind === 1) return { text, caller: { images: [image(no % 256)] } };
  return kind === 2 ? { text, caller: { tools: [weather] } } : { text };
}

test('every session answers its next message after mistakes of every kind', { timeout: 1_200_000 }, async () => {
  const seed = seedOfRun();
  const database = await withTestDatabase();
  onTestFinished(() => database.drop());
  const provider = await startHostileProvider(seed);
  onTestFinished(() => provider.close());
  // A small window: long conversations are compacted, by the same provider.
  const settings = {
    agents: { defaults: { contextTokens: 40_000, compaction: { reserveTokens: 8_000, keepRecentTokens: 6_000 } } },
  };
  const rig = await createTurnRig(database.url, { tools, settings });
  onTestFinished(() => rig.close());
  const worker = rig.worker({ modelUrl: provider.url });

  /** Runs the session until the message is settled; as a client, answers the calls of its tools. */
  async function say(name: string, message: Partial<InboundMessage> & { text: string }) {
    const { text, ...more } = message;
    const id = await rig.send(name, text, more);
    const settled = async () => {
      await worker.run(name);
      const [row] = await readInputsWithTurns(rig, { id });
      if (row?.turn?.parkCode !== 'caller') return row;
      const results = Array.from({ length: 5 }, (_, index) => ({
        ordinal: index + 1,
        result: { content: 'rain', isError: false },
      }));
      const answers = { turnId: row.turn.id, step: row.turn.steps, kind: 'caller' as const, results };
      await transaction(rig.database.hot, (tx) => settleCalls(tx, answers), { retryMs: 0 });
      return row;
    };
    let last: { status: string; code: string | null } | undefined;
    await expect
      .poll(async () => ['waiting', 'claimed'].includes((last = await settled())?.status ?? ''), { interval: 10 })
      .toBe(false);
    return last;
  }

  const names = Array.from({ length: SESSIONS }, (_, index) => `hostile-${index + 1}`);
  const ends: Record<string, number> = {};
  await Promise.all(
    names.map(async (name, index) => {
      const random = randomOf(seed + index);
      for (let no = 1; no <= MESSAGES / SESSIONS; no += 1) {
        const end = await say(name, messageOf(random, no));
        const key = end?.code ?? end?.status ?? 'unknown';
        ends[key] = (ends[key] ?? 0) + 1;
      }
    }),
  );
  provider.calm();
  const compactions = await readCompactions(rig, {}, 'status');
  const about = JSON.stringify({ seed, ends, compactions: compactions.length, provider: provider.counts });
  const last = await Promise.all(names.map((name) => say(name, { text: 'And now?' })));
  expect(
    last.map((end) => end?.status),
    about,
  ).toEqual(names.map(() => 'answered'));
  expect(
    Object.keys(provider.counts).filter((what) => /half a character|not accepted/.test(what)),
    about,
  ).toEqual([]);
  expect(ends['answered'], about).toBeGreaterThan(MESSAGES / 2);
  expect(compactions.length, about).toBeGreaterThanOrEqual(isLongForm() ? SESSIONS : 0);
});
