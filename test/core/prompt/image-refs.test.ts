import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findImageRefs, imageNotes } from '../../../src/images/rules/plan-images.ts';
import { processorMsOf } from '../../servers/busy-machine.ts';

describe('a prompt names image files', () => {
  test.each([
    ['an attachment', '[media attached: /m/a b.jpg (image/jpeg)]', ['/m/a b.jpg']],
    ['an attachment with a link', '[media attached: /m/a.jpg (image/jpeg) | https://x.org/a.jpg]', ['/m/a.jpg']],
    ['an attachment without a type', '[media attached: photo.PNG]', ['photo.PNG']],
    ['one attachment of several', '[media attached 2/3: /m/b.webp (image/webp)]', ['/m/b.webp']],
    ['a source', '[Image: source: /m/with blank.gif]', ['/m/with blank.gif']],
    ['a file URL', 'see file:///m/a%20b.png!', ['/m/a b.png']],
    ['a file URL of this machine', '<file://localhost/m/a.png>', ['/m/a.png']],
    ['an absolute path', 'what is on /m/a.png?', ['/m/a.png']],
    ['a relative path', './a.heic ../b.tif', ['./a.heic', '../b.tif']],
    ['a file of a newer format', './a.avif ./b.jxl ./c.jfif', ['./a.avif', './b.jxl', './c.jfif']],
    ['a path below the home', '"~/a.jpeg"', ['~/a.jpeg']],
    ['paths in quotes, backticks and brackets', "'/a.png' `/b.bmp` (/c.tiff)", ['/a.png', '/b.bmp', '/c.tiff']],
    ['a path on a line of its own', 'look:\n/m/a.png\n', ['/m/a.png']],
  ])('%s', (_title, text, expected) => {
    expect(findImageRefs(text)).toEqual(expected);
  });

  test('attachments come first, then sources, URLs and bare paths, each path once', () => {
    const text =
      './d.png file:///c.png [Image: source: /b.png] [media attached 1/2: /a.png (image/png)] /a.png ./d.png ./D.png';
    expect(findImageRefs(text)).toEqual(['/a.png', '/b.png', '/c.png', './d.png', './D.png']);
  });

  test('at most 50 are found', () => {
    const text = Array.from({ length: 80 }, (_, index) => `/m/${index}.png`).join(' ');
    expect(findImageRefs(text)).toHaveLength(50);
  });
});

describe('no image file of this machine is', () => {
  test.each([
    ['a web address', 'https://x.org/a.png http://x.org/b.png'],
    ['an attachment on the web', '[media attached: https://x.org/a.png (image/png)]'],
    ['a source on the web', '[Image: source: http://x.org/a.png]'],
    ['an address without a scheme', '//x.org/a.png'],
    ['a file of another machine', 'file://other/m/a.png'],
    ['a number of attachments', '[media attached: 3 files]'],
    ['an attachment of another kind', '[media attached: /m/a.pdf (application/pdf)]'],
    ['a bare name', 'a.png'],
    ['a path inside a word', 'x/a.png and=/m/a.png'],
    ['a longer ending', '/m/a.pngx /m/b.png/c /m/d.png-old'],
    ['a path without an ending', '/m/png'],
  ])('%s', (_title, text) => {
    expect(findImageRefs(text)).toEqual([]);
  });
});

test('the time for a long text is linear in its length, however often it repeats the beginning of a match', () => {
  const pieces = [
    '[media attached: ',
    '[image: source: /',
    ' file://',
    '/',
    ' ./',
    '.png',
    '[media attached 1/2:x.png',
  ];
  const spentMs = processorMsOf(() => {
    for (const piece of pieces) findImageRefs(piece.repeat(Math.ceil(1_000_000 / piece.length)));
  });
  expect(spentMs).toBeLessThan(2_000);
});

describe('the notes about images that are not shown', () => {
  test('name each file and the reason', () => {
    expect(imageNotes([{ path: '/m/a (1).png', reason: 'no such file' }])).toEqual([
      '[image not shown: /m/a (1).png: no such file]',
    ]);
  });

  test('are ten at most', () => {
    const missing = Array.from({ length: 12 }, (_, index) => ({ path: `/${index}.png`, reason: 'r' }));
    expect(imageNotes(missing).at(-1)).toBe('[2 more images not shown]');
    expect(imageNotes(missing)).toHaveLength(11);
  });

  test('are one line in one pair of brackets, for any file name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (path) => {
        const [note = ''] = imageNotes([{ path, reason: 'r' }]);
        expect(note).toMatch(/^\[image not shown: [^\n\r\u0085\u2028\u2029[\]]*: r\]$/u);
      }),
    );
  });
});
