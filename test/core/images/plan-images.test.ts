import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { planImages } from '../../../src/images/rules/plan-images.ts';
import type { SessionImages, ShownImage } from '../../../src/core/view.ts';

const MiB = 1024 * 1024;
const image = (sha256: string, chars = 1000): ShownImage => ({ sha256, chars });

/** The session's list after turns whose prompts are the entries 1, 2, 3... with these images. */
function after(turns: ShownImage[][]): {
  session: SessionImages[] | undefined;
  turn: ReturnType<typeof planImages>['turn'];
} {
  let session: SessionImages[] | undefined;
  let turn: ReturnType<typeof planImages>['turn'];
  for (const [index, images] of turns.entries()) {
    ({ session, turn } = planImages({ before: session, prompt: { seq: index + 1, images }, acceptsImages: true }));
  }
  return { session, turn };
}

test('a session without images remembers nothing and shows nothing', () => {
  expect(planImages({ before: undefined, prompt: { seq: 1, images: [] }, acceptsImages: true })).toEqual({
    turn: undefined,
    session: undefined,
    hasChanged: false,
  });
});

test('a prompt shows its images in its own turn and in the three after it, then a marker', () => {
  const turns: ShownImage[][] = [[image('a')], [], [], []];
  expect(after(turns).turn).toEqual([{ seq: 1, images: [image('a')] }]);
  expect(after([...turns, []]).turn).toEqual([{ seq: 1, images: [] }]);
});

test('markers alone change nothing', () => {
  const { session } = after([[image('a')], [], [], [], []]);
  const plan = planImages({ before: session, prompt: { seq: 9, images: [] }, acceptsImages: true });
  expect(plan).toEqual({ turn: [{ seq: 1, images: [] }], session, hasChanged: false });
});

test('the oldest give way when a request would hold more than 20 images', () => {
  const ten = (name: string): ShownImage[] => Array.from({ length: 10 }, (_, index) => image(`${name}${index}`));
  const { turn } = after([ten('a'), [image('b')], ten('c')]);
  expect(turn?.map(({ seq, images }) => [seq, images.length])).toEqual([
    [1, 0],
    [2, 1],
    [3, 10],
  ]);
});

test('the oldest give way when a request would hold more than 20 MiB of images', () => {
  const { turn } = after([[image('a', 5 * MiB)], [image('b', 12 * MiB)], [image('c', 8 * MiB)]]);
  expect(turn?.map(({ images }) => images.length)).toEqual([0, 1, 1]);
});

describe('a model that takes no images', () => {
  test('is shown markers, and the next model the images', () => {
    const { session } = after([[image('a')]]);
    const textOnly = planImages({ before: session, prompt: { seq: 2, images: [] }, acceptsImages: false });
    expect(textOnly.turn).toEqual([{ seq: 1, images: [] }]);
    const next = planImages({ before: textOnly.session, prompt: { seq: 3, images: [] }, acceptsImages: true });
    expect(next.turn).toEqual([{ seq: 1, images: [image('a')] }]);
  });
});

test('however long a session is, its list and the images of a request stay bounded', () => {
  const images = fc.array(fc.record({ sha256: fc.string(), chars: fc.nat(6 * MiB) }), { maxLength: 3 });
  fc.assert(
    fc.property(fc.array(images, { minLength: 900, maxLength: 900 }), (turns) => {
      const { session = [], turn = [] } = after(turns);
      const shown = turn.flatMap((entry) => entry.images);
      expect(session.length).toBeLessThanOrEqual(405);
      expect(shown.length).toBeLessThanOrEqual(20);
      expect(shown.reduce((sum, { chars }) => sum + chars, 0)).toBeLessThanOrEqual(20 * MiB);
    }),
    { numRuns: 25 },
  );
});
