import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseEventStream } from '../../src/cli/event-stream.ts';

const STREAM =
  'retry: 1000\n\nid: 7\n\n: comment\n\nid: 8\nevent: model.delta\ndata: {"text":"héllo 👍",\ndata: "turnId":"t1","sessionKey":"s","at":"2026-01-12T20:19:17.000Z","type":"model.delta"}\n\n' +
  'id: 9\r\nevent: turn.ended\r\ndata: {"status":"completed"}\r\n\r\nid: 10\nevent: cut.off\ndata: {"half';

async function blocksOf(chunks: Uint8Array[]) {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  return Array.fromAsync(parseEventStream(new Response(body)));
}

test('events come out the same however the bytes are cut, and a cut event does not come out', async () => {
  const bytes = new TextEncoder().encode(STREAM);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 20 }), async (places) => {
      const cuts = [0, ...places, bytes.length].toSorted((a, b) => a - b);
      const chunks = cuts.slice(1).map((end, at) => bytes.slice(cuts[at], end));
      const blocks = await blocksOf(chunks);
      expect(blocks.map((block) => block.event).filter((event) => event !== null)).toEqual([
        {
          id: '8',
          type: 'model.delta',
          sessionKey: 's',
          turnId: 't1',
          at: '2026-01-12T20:19:17.000Z',
          data: { text: 'héllo 👍' },
        },
        { id: '9', type: 'turn.ended', sessionKey: null, turnId: null, at: null, data: { status: 'completed' } },
      ]);
    }),
  );
});

test('a block without data says where the stream stands', async () => {
  const blocks = await blocksOf([new TextEncoder().encode('id: 7\n\n')]);
  expect(blocks).toEqual([{ id: '7', event: null }]);
});

test('an event that does not end fails when it is longer than 4 MB', async () => {
  const chunk = new TextEncoder().encode(`data: ${'x'.repeat(1_000_000)}\n`);
  await expect(blocksOf(Array.from({ length: 5 }, () => chunk))).rejects.toMatchObject({
    type: 'max-buffer-size-exceeded',
  });
});
