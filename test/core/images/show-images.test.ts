import { expect, test } from 'vitest';
import type { ImageBlock } from '../../../src/core/content.ts';
import { hashesOfImages, imagesAfter } from '../../../src/images/rules/plan-images.ts';
import type { EntryImages } from '../../../src/core/view.ts';

const MARKER = { type: 'text', text: '[image data removed - already processed by model]' };

const blockOf = (sha256: string): ImageBlock => ({
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: sha256 },
});
const entry = (seq: number, ...hashes: string[]): EntryImages => ({
  seq,
  images: hashes.map((sha256) => ({ sha256, chars: 1 })),
});
const everything = { promptSeq: 9, isVisible: () => true, blockOf };

test('images follow their prompts, a marker follows prompts that had some', () => {
  expect([...imagesAfter([entry(1), entry(3, 'a', 'b'), entry(9, 'c')], everything)]).toEqual(
    expect.arrayContaining([
      [1, [MARKER]],
      [3, [blockOf('a'), blockOf('b')]],
      [9, [blockOf('c')]],
    ]),
  );
});

test('an image of several prompts is shown with the first of them', () => {
  const shown = imagesAfter([entry(1, 'a'), entry(3, 'a', 'b')], everything);
  expect([shown.get(1), shown.get(3)]).toEqual([[blockOf('a')], [blockOf('b')]]);
});

test("an image that the turn's own prompt shows is not shown above it", () => {
  const shown = imagesAfter([entry(1, 'a'), entry(9, 'a')], everything);
  expect([shown.get(1), shown.get(9)]).toEqual([undefined, [blockOf('a')]]);
});

test('a prompt that is not visible does not take an image from one that is', () => {
  const shown = imagesAfter([entry(1, 'a'), entry(3, 'a')], { ...everything, isVisible: (seq) => seq > 1 });
  expect([...shown]).toEqual([[3, [blockOf('a')]]]);
});

test('an image that is not there is left out', () => {
  const gone = (sha256: string): ImageBlock | undefined => (sha256 === 'a' ? undefined : blockOf(sha256));
  expect([...imagesAfter([entry(1, 'a', 'b')], { ...everything, blockOf: gone })]).toEqual([[1, [blockOf('b')]]]);
});

test('every snapshot is asked for once', () => {
  expect(hashesOfImages([entry(1, 'a'), entry(3, 'a', 'b')])).toEqual(['a', 'b']);
  expect(hashesOfImages(undefined)).toEqual([]);
});
