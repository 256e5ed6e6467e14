import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EventFrames } from '../../../src/core/stream/event-frames.ts';
import { processorMsOf } from '../../servers/busy-machine.ts';

function dataOf(stream: string): string[] {
  return new EventFrames().push(stream);
}

describe('an event stream', () => {
  test('returns the data of each complete event, with any other fields', () => {
    expect(dataOf('event: a\ndata: {"n":1}\n\n: comment\n\ndata:{"n":2}\nid: 7\n\nevent: empty\n\ndata: cut')).toEqual([
      '{"n":1}',
      '{"n":2}',
    ]);
  });

  test('joins the data lines of one event, and takes every kind of line end', () => {
    expect(dataOf('data: a\ndata: b\n\n')).toEqual(['a\nb']);
    expect(dataOf('event: x\r\ndata: a\r\n\r\ndata: b\r\r')).toEqual(['a']);
    expect(dataOf('data: b\r\rdata: c\n\n')).toEqual(['b', 'c']);
  });

  test('gives the same events wherever its pieces are cut', () => {
    const anyEvents = fc.array(fc.record({ name: fc.constantFrom('ping', 'delta'), data: fc.json() }), {
      minLength: 1,
    });
    const anyLineEnd = fc.constantFrom('\n', '\r\n', '\r');
    fc.assert(
      fc.property(anyEvents, anyLineEnd, fc.array(fc.nat(200)), (events, lineEnd, cuts) => {
        const stream = events
          .map(({ name, data }) => `event: ${name}${lineEnd}data: ${data}${lineEnd}${lineEnd}`)
          .join('');
        const frames = new EventFrames();
        const found: string[] = [];
        let from = 0;
        for (const size of [...cuts, stream.length]) {
          found.push(...frames.push(stream.slice(from, from + size)));
          from += size;
        }
        // Of a last \r nobody knows yet whether a \n follows.
        found.push(...frames.push(':'));
        expect(found).toEqual(events.map(({ data }) => data));
      }),
    );
  });

  test('that comes in very many pieces costs no more than what it holds', () => {
    const frames = new EventFrames();
    const piece = 'x'.repeat(64);
    const spentMs = processorMsOf(() => {
      for (let count = 0; count < 200_000; count += 1) frames.push(piece);
    });
    const [data] = frames.push('\n\ndata: y\n\n');
    expect(data).toBe('y');
    // Looking at what waits again with every piece would take minutes.
    expect(spentMs).toBeLessThan(5000);
  });

  test('with an event that never ends fails', () => {
    const frames = new EventFrames();
    frames.push('data: ');
    const piece = 'x'.repeat(16 * 1024 * 1024);
    frames.push(piece);
    expect(() => frames.push(piece)).toThrow(expect.objectContaining({ type: 'malformed_stream' }));
  });
});
