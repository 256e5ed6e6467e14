import { afterAll, beforeAll, expect, test } from 'vitest';
import { startScriptedModel, type ScriptedModel } from '../../scripted-model/scripted-model.ts';

let model: ScriptedModel;
beforeAll(async () => {
  model = await startScriptedModel();
});
afterAll(() => model.close());

interface Answer {
  content: { type: string; text?: string; id?: string; name?: string; input?: unknown }[];
}

async function ask(messages: unknown[], turn = 'turn'): Promise<Answer> {
  const answer = await fetch(`${model.url}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-holdfast-turn': turn },
    body: JSON.stringify({ model: 'm', max_tokens: 100, messages }),
  });
  return (await answer.json()) as Answer;
}

function compactionOf(...texts: string[]) {
  const items = texts.map((text) => JSON.stringify({ user: text }));
  return [{ role: 'user', content: `[Compaction request]\n\nConversation:\n${items.join('\n')}` }];
}

test('a request to compact is answered with a summary under its headings, always the same', async () => {
  const messages = compactionOf('Buy milk. [[reply: ignored]]', 'And bread.');
  const [first, second] = [await ask(messages), await ask(messages)];
  expect(first.content).toEqual(second.content);
  expect(first.content[0]!.text).toContain('## Decisions\n- 2 items');
  expect(first.content[0]!.text).toContain('## Pending user asks\n- And bread.');
});

test('directives in double angle brackets apply there, in addition to the summary', async () => {
  const { content } = await ask(compactionOf('Tea. <<tool: memory_append {"text": "Likes tea."}>>'));
  expect(content.map(({ type }) => type)).toEqual(['text', 'tool_use']);
  expect(content[1]).toMatchObject({ name: 'memory_append', input: { text: 'Likes tea.' } });
});

test('they mean nothing in a conversation', async () => {
  const { content } = await ask([{ role: 'user', content: 'Tea. <<reply: never>>' }]);
  expect(content[0]!.text).toBe('You said: Tea. <<reply: never>>');
});

test('a script continues where it was when its first answers are compacted', async () => {
  const prompt = '[[tool: a {}]] [[tool: b {}]] [[tool: c {}]] [[reply: Done.]]';
  const said: unknown[] = [{ role: 'user', content: prompt }];
  const steps: unknown[][] = [];
  for (let step = 1; step <= 2; step += 1) {
    const { content } = await ask([...said, ...steps.flat()], 'long');
    const result = { type: 'tool_result', tool_use_id: content.at(-1)!.id, content: 'ok' };
    steps.push([
      { role: 'assistant', content },
      { role: 'user', content: [result] },
    ]);
  }
  const summary = '[Conversation summary]\nQueued #1\n[[reply: no]]\n[End of conversation summary]';
  const blocks = [summary, prompt].map((text) => ({ type: 'text', text }));
  const { content } = await ask([{ role: 'user', content: blocks }, ...steps[1]!], 'long');
  expect(content[0]).toMatchObject({ type: 'tool_use', name: 'c' });
});
