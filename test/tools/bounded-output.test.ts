// The kept part of a long output: properties over any bytes in any chunks.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BoundedOutput } from '../../src/tools/bounded-output.ts';

function textOf(chunks: readonly Uint8Array[], bytesMax: number): string {
  const output = new BoundedOutput(bytesMax);
  for (const chunk of chunks) output.write(Buffer.from(chunk));
  return output.text();
}

test('output that fits is returned whole, however it was split into chunks', () => {
  const chunksOf = fc.array(fc.uint8Array({ maxLength: 10 }), { maxLength: 10 });
  fc.assert(
    fc.property(chunksOf, (chunks) => {
      const whole = new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(chunks));
      expect(textOf(chunks, 200)).toBe(whole);
    }),
  );
});

test('output that does not fit keeps its start and its end and counts the rest (G28)', () => {
  const chunksOf = fc.array(fc.uint8Array({ min: 0x61, max: 0x7a, maxLength: 50 }), { maxLength: 20 });
  fc.assert(
    fc.property(chunksOf, fc.integer({ min: 1, max: 20 }), (chunks, half) => {
      const whole = Buffer.concat(chunks).toString('latin1');
      fc.pre(whole.length > 2 * half);
      const note = `\n[... ${whole.length - 2 * half} bytes left out ...]\n`;
      expect(textOf(chunks, 2 * half)).toBe(whole.slice(0, half) + note + whole.slice(-half));
    }),
  );
});

test('a cut never leaves half a character', () => {
  for (let bytesMax = 8; bytesMax < 24; bytesMax++) {
    const text = textOf([Buffer.from('😀é€'.repeat(20))], bytesMax);
    expect(text).not.toContain('\ufffd');
    expect(text.isWellFormed()).toBe(true);
  }
});

test('any bytes become text that can be stored and sent', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      expect(textOf([bytes], 20).isWellFormed()).toBe(true);
    }),
  );
});
