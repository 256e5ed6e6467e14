import sharp from 'sharp';
import { expect, test } from 'vitest';
import { runTool } from '../../src/tools/run-tool.ts';
import type { Tool, ToolCall, ToolOutcome } from '../../src/tools/tool.ts';

const image = (data: string, type: string) => ({
  type: 'image' as const,
  source: { type: 'base64' as const, media_type: type, data },
});

/** What becomes of a result of a plugin. */
async function resultOf(content: ToolOutcome['content']): Promise<ToolOutcome> {
  const tool = { spec: { name: 'draw' }, run: async () => ({ content, isError: false }) } as unknown as Tool;
  return await runTool(tool, {}, { signal: new AbortController().signal } as ToolCall, { timeoutMs: 60_000 });
}

test('pictures of any tool are scaled and have their real type, and one that cannot be shown is a note', async () => {
  const large = await sharp({ create: { width: 100, height: 9_000, channels: 3, background: '#a00' } })
    .png()
    .toBuffer();
  const { content, isError } = await resultOf([
    { type: 'text', text: 'drawn' },
    image(large.toString('base64'), 'image/jpg'),
    image(large.subarray(0, 40).toString('base64'), 'image/png'),
    image('', 'image/png'),
  ]);
  expect(isError).toBe(false);
  expect(content).toMatchObject([
    { type: 'text', text: 'drawn' },
    { type: 'image', source: { media_type: 'image/png' } },
    { type: 'text', text: '[image left out: its PNG data cannot be decoded]' },
    { type: 'text', text: '[image left out: not an image]' },
  ]);
  const [, shown] = content as Exclude<typeof content, string>;
  const bytes = Buffer.from(shown?.type === 'image' ? shown.source.data : '', 'base64');
  expect(await sharp(bytes).metadata()).toMatchObject({ height: 1_200 });
});

test('a result shows five pictures', async () => {
  const small = await sharp({ create: { width: 2, height: 2, channels: 3, background: '#a00' } })
    .png()
    .toBuffer();
  const { content } = await resultOf(Array(6).fill(image(small.toString('base64'), 'image/png')) as never);
  expect((content as { type: string }[]).filter(({ type }) => type === 'image')).toHaveLength(5);
  expect(content[5]).toEqual({ type: 'text', text: '[image left out: only 5 are shown at once]' });
});
