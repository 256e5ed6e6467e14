// Goal: long results of tools are shortened in what the model is sent, the old ones first and never
// what it works with, and no row changes. Method: an agent with a small context window whose cache
// is always cold, and the requests that its model server received.
import { describe, expect, test } from 'vitest';
import type { ReceivedRequest } from './rig/received-request.ts';
import { useService } from './rig/use-service.ts';

const NOTE = /\n\n\[Tool result trimmed: kept first 1500 chars and last 1500 chars of \d+ chars\.\]$/;
const PLACEHOLDER = '[compacted: tool output removed to free context]';

const small = { contextTokens: 40_000, compaction: { reserveTokens: 0 } };
const holder = useService({
  config: {
    agents: {
      list: [
        { id: 'main' },
        { id: 'cold', ...small, contextPruning: { mode: 'cache-ttl', ttl: 0, keepLastAssistants: 2 } },
        { id: 'warm', ...small, contextPruning: { mode: 'cache-ttl', ttl: '1h', keepLastAssistants: 2 } },
        { id: 'whole', ...small },
      ],
    },
  },
});

/** A turn whose tool answers with this many characters. */
function longResult(chars: number): string {
  const command = `head -c ${chars} /dev/zero | tr '\\\\0' x`;
  return `[[tool: exec {"command": "${command}"}]] [[reply: ok]]`;
}

/** The texts of all results, oldest first. */
function resultsOf({ messages }: ReceivedRequest): string[] {
  return messages
    .flatMap(({ content }) => content)
    .flatMap((block) => (block.type === 'tool_result' ? [textOfResult(block['content'])] : []));
}

function textOfResult(content: unknown): string {
  return typeof content === 'string' ? content : (content as { text: string }[]).map(({ text }) => text).join('\n');
}

async function converse(agent: string, turns: number): Promise<{ session: string; last: ReceivedRequest }> {
  const { service } = holder;
  const session = `agent:${agent}:${service.newSession()}`;
  for (let n = 1; n <= turns; n += 1) await service.say(session, longResult(20_000));
  return { session, last: (await service.say(session, 'and now?')).request };
}

describe('old results of tools', () => {
  test('lose their middle when the context is 30 % full, but not after the last answers', async () => {
    const { last } = await converse('cold', 4);
    const results = resultsOf(last);
    expect(results[0]).toMatch(NOTE);
    expect(results[0]?.length).toBeLessThan(4000);
    expect(results.at(-1)?.length).toBeGreaterThan(19_000);
  });

  test('stay whole while the cache may still be warm, and where pruning is off', async () => {
    const [warm, whole] = [await converse('warm', 3), await converse('whole', 3)];
    for (const { last } of [warm, whole]) expect(resultsOf(last).every((text) => text.length > 19_000)).toBe(true);
  });

  test('stay in their rows as they were', async () => {
    const { service } = holder;
    const { session } = await converse('cold', 3);
    const { body } = await service.api.ask('GET', `/v1/sessions/${session}/transcript`);
    const rows = JSON.stringify(body.items);
    expect(rows).not.toContain('Tool result trimmed');
    expect(rows).not.toContain(PLACEHOLDER);
  });
});
