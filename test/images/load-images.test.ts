// Images from real files, made and judged with the library itself.
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp, { type Sharp } from 'sharp';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ImageBlock } from '../../src/core/content.ts';
import { ImageLoader, type LoadedImages } from '../../src/images/load-images.ts';
import { createLogger } from '../../src/logger.ts';

const NOT_FOUND = 'not found in the folders for images';

let base: string;
let workspaceDir: string;
let loader: ImageLoader;

beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'holdfast-images-')));
  workspaceDir = join(base, 'workspace');
  await Promise.all(
    ['workspace/sub', 'data/media', 'shared', 'outside', 'workspace-other'].map((name) =>
      mkdir(join(base, name), { recursive: true }),
    ),
  );
  loader = new ImageLoader({
    dataDir: join(base, 'data'),
    roots: [join(base, 'shared'), join(base, 'none')],
    logger: createLogger({ level: 'silent', format: 'json', name: 'test' }),
  });
});
afterEach(() => rm(base, { recursive: true, force: true }));

interface Picture {
  width?: number;
  height?: number;
  alpha?: number;
  color?: string;
}

function picture({ width = 8, height = 6, alpha = 1, color = '#123456' }: Picture = {}): Sharp {
  const channels = alpha === 1 ? 3 : 4;
  return sharp({ create: { width, height, channels, background: alpha === 1 ? color : { r: 1, g: 2, b: 3, alpha } } });
}

/** Writes a file below `base`; answers with its absolute path. */
async function file(name: string, bytes: Buffer): Promise<string> {
  const path = join(base, name);
  await writeFile(path, bytes);
  return path;
}

const load = (...paths: string[]): Promise<LoadedImages> => loader.load(paths, workspaceDir);

async function reasonFor(path: string): Promise<string | undefined> {
  const { blocks, missing } = await load(path);
  expect(blocks).toEqual([]);
  return missing[0]?.reason;
}

async function factsOf(block: ImageBlock | undefined): Promise<unknown> {
  const { format, width, height } = await sharp(Buffer.from(block?.source.data ?? '', 'base64')).metadata();
  return { mediaType: block?.source.media_type, format, width, height };
}

describe('an image that can be sent as it is keeps its bytes', () => {
  test.each([
    ['png', 'image/png'],
    ['jpeg', 'image/jpeg'],
    ['gif', 'image/gif'],
    ['webp', 'image/webp'],
  ] as const)('%s', async (format, mediaType) => {
    const bytes = await picture({ width: 1200 }).toFormat(format).toBuffer();
    const { blocks, missing } = await load(await file(`workspace/a.${format}`, bytes));
    expect(missing).toEqual([]);
    expect(blocks).toEqual([
      { type: 'image', source: { type: 'base64', media_type: mediaType, data: bytes.toString('base64') } },
    ]);
  });

  test('with any file name', async () => {
    const { blocks } = await load(await file('workspace/no.jpg', await picture().png().toBuffer()));
    expect(blocks[0]?.source.media_type).toBe('image/png');
  });
});

describe('an image that is too large or of another kind is encoded again', () => {
  test.each([
    [
      'a wide one',
      { width: 2400, height: 600 },
      'jpeg',
      { mediaType: 'image/jpeg', format: 'jpeg', width: 1200, height: 300 },
    ],
    [
      'a high one',
      { width: 10, height: 2400 },
      'png',
      { mediaType: 'image/png', format: 'png', width: 5, height: 1200 },
    ],
    [
      'one with clear places',
      { width: 2400, alpha: 0.5 },
      'webp',
      { mediaType: 'image/png', format: 'png', width: 1200, height: 3 },
    ],
    ['a tiff', { width: 20 }, 'tiff', { mediaType: 'image/jpeg', format: 'jpeg', width: 20, height: 6 }],
    ['an avif', { width: 20 }, 'avif', { mediaType: 'image/jpeg', format: 'jpeg', width: 20, height: 6 }],
  ] as const)('%s', async (title, facts, format, expected) => {
    const path = await file(`workspace/${title}.img`, await picture(facts).toFormat(format).toBuffer());
    const { blocks } = await load(path);
    expect(await factsOf(blocks[0])).toEqual(expected);
  });

  test.each([
    [2400, 1200, { width: 600, height: 1200 }],
    [20, 10, { width: 10, height: 20 }],
  ])('one of %i x %i that is rotated on its side is turned upright', async (width, height, expected) => {
    const bytes = await picture({ width, height }).withMetadata({ orientation: 6 }).jpeg().toBuffer();
    const { blocks } = await load(await file('workspace/side.jpg', bytes));
    expect(await factsOf(blocks[0])).toMatchObject(expected);
  });

  const SECRET = 'taken at home';
  const withExif = (format: 'png' | 'jpeg' | 'webp') =>
    picture()
      .withExif({ IFD0: { ImageDescription: SECRET } })
      .toFormat(format)
      .toBuffer();
  const withXmp = (format: 'jpeg' | 'webp') =>
    picture().withXmp(`<x:xmpmeta xmlns:x="adobe:ns:meta/">${SECRET}</x:xmpmeta>`).toFormat(format).toBuffer();
  /** Puts a part with the secret at a place; `head`: what such a part begins with. */
  const withPart = async (format: 'jpeg' | 'gif', at: number, head: Buffer) => {
    const bytes = await picture().toFormat(format).toBuffer();
    return Buffer.concat([bytes.subarray(0, at), head, Buffer.from(`${SECRET}\0`), bytes.subarray(at)]);
  };
  const size = SECRET.length + 1;

  test.each([
    ['the Exif data of a JPEG', () => withExif('jpeg')],
    ['the Exif data of a PNG', () => withExif('png')],
    ['the Exif data of a WebP', () => withExif('webp')],
    ['the XMP data of a JPEG', () => withXmp('jpeg')],
    ['the XMP data of a WebP', () => withXmp('webp')],
    ['a comment of a JPEG', () => withPart('jpeg', 2, Buffer.from([0xff, 0xfe, 0, size + 2]))],
    ['a segment of a JPEG for an application', () => withPart('jpeg', 2, Buffer.from([0xff, 0xeb, 0, size + 2]))],
    ['a comment of a GIF', () => withPart('gif', -1, Buffer.from([0x21, 0xfe, size - 1]))],
  ])('so that %s is not sent, however small the image is', async (_what, make) => {
    const bytes = await make();
    expect(bytes.includes(SECRET)).toBe(true);
    const { blocks } = await load(await file('workspace/private.img', bytes));
    expect(await factsOf(blocks[0])).toMatchObject({ width: 8, height: 6 });
    expect(Buffer.from(blocks[0]?.source.data ?? '', 'base64').includes(SECRET)).toBe(false);
  });

  test('one of more than 5 MiB of base64, however few its pixels', async () => {
    const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const;
    const create = { width: 1180, height: 1180, channels: 4, background: '#000000', noise } as const;
    const bytes = await sharp({ create }).png({ compressionLevel: 0 }).toBuffer();
    expect(bytes.length).toBeGreaterThan(4 * 1024 * 1024);
    const { blocks } = await load(await file('workspace/noise.png', bytes));
    expect(blocks[0]?.source.data.length).toBeLessThanOrEqual(5 * 1024 * 1024);
    expect(await factsOf(blocks[0])).toMatchObject({ width: 1180, height: 1180 });
  });
});

describe('an image that cannot be shown is named with the reason', () => {
  test('a file of more than 6 MiB', async () => {
    const bytes = Buffer.concat([await picture().png().toBuffer(), Buffer.alloc(6 * 1024 * 1024)]);
    expect(await reasonFor(await file('workspace/huge.png', bytes))).toBe('larger than 6 MiB');
  });

  test('an image that is cut off', async () => {
    const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const;
    const bytes = await sharp({ create: { width: 100, height: 100, channels: 3, background: '#000000', noise } })
      .png()
      .toBuffer();
    const path = await file('workspace/cut.png', bytes.subarray(0, 4_000));
    expect(await reasonFor(path)).toBe('its PNG data cannot be decoded');
  });

  test('an image of far too many pixels', async () => {
    const bytes = await picture({ width: 7_100, height: 7_100 }).png().toBuffer();
    expect(await reasonFor(await file('workspace/bomb.png', bytes))).toBe('its PNG data cannot be decoded');
  });

  test.each([
    ['a text', Buffer.from('hello, I am no image'), 'not an image'],
    ['nothing', Buffer.alloc(0), 'not an image'],
    [
      'a program that draws',
      Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'),
      'not an image',
    ],
    ['a bitmap', Buffer.concat([Buffer.from('BM'), Buffer.alloc(60)]), 'its BMP data cannot be decoded'],
    [
      'a photo in a format that is not read',
      Buffer.from('\0\0\0\x18ftypheic\0\0\0\0mif1heic', 'latin1'),
      'its HEIF data cannot be decoded',
    ],
  ])('%s', async (_title, bytes, reason) => {
    expect(await reasonFor(await file('workspace/what.png', bytes))).toBe(reason);
  });

  test('all but the first ten', async () => {
    const paths: string[] = [];
    for (let index = 0; index < 12; index += 1) {
      paths.push(
        await file(
          `workspace/many-${index}.png`,
          await picture({ width: 8 + index })
            .png()
            .toBuffer(),
        ),
      );
    }
    const { blocks, missing } = await load(...paths);
    expect(blocks).toHaveLength(10);
    expect(missing).toEqual(paths.slice(10).map((path) => ({ path, reason: 'only 10 images are shown at once' })));
  });
});

describe('files are read in the allowed folders only', () => {
  test('the workspace, by relative names too; the media of the data directory; further roots', async () => {
    const names = ['workspace/sub/a.png', 'data/media/b.png', 'shared/c.png', 'workspace/d.png'];
    for (const [index, name] of names.entries())
      await file(
        name,
        await picture({ width: 30 + index })
          .png()
          .toBuffer(),
      );
    const { blocks, missing } = await load('./sub/a.png', '../data/media/b.png', join(base, 'shared/c.png'), 'd.png');
    expect([blocks.length, missing]).toEqual([4, []]);
  });

  test.each([
    ['a file outside', 'outside/x.png'],
    ['a file beside, in a folder whose name begins alike', 'workspace-other/x.png'],
    ['a file that is reached by going up', 'workspace/../outside/x.png'],
  ])('not %s', async (_title, name) => {
    await file(name, await picture().png().toBuffer());
    expect(await reasonFor(join(base, name))).toBe(NOT_FOUND);
  });

  test('not a link that leads outside, nor a file in a folder that is one', async () => {
    await file('outside/linked.png', await picture().png().toBuffer());
    await symlink(join(base, 'outside/linked.png'), join(workspaceDir, 'link.png'));
    await symlink(join(base, 'outside'), join(workspaceDir, 'link'));
    expect(await reasonFor('./link.png')).toBe(NOT_FOUND);
    expect(await reasonFor('./link/linked.png')).toBe(NOT_FOUND);
  });

  test('a link that stays inside is followed', async () => {
    await file('shared/target.png', await picture({ width: 77 }).png().toBuffer());
    await symlink(join(base, 'shared/target.png'), join(workspaceDir, 'inside.png'));
    expect((await load('./inside.png')).blocks).toHaveLength(1);
  });

  test('whether a file outside exists is not revealed', async () => {
    await file('outside/there.png', await picture().png().toBuffer());
    const reasons = [await reasonFor(join(base, 'outside/there.png')), await reasonFor(join(base, 'outside/gone.png'))];
    expect(reasons).toEqual([NOT_FOUND, NOT_FOUND]);
    expect(await reasonFor('./gone.png')).toBe(NOT_FOUND);
  });

  test('a folder is no file, and a name with a NUL is no name', async () => {
    await mkdir(join(workspaceDir, 'folder.png'));
    expect(await reasonFor('./folder.png')).toBe(NOT_FOUND);
    expect(await reasonFor('./a\0.png')).toBe(NOT_FOUND);
  });
});

test('the same file under two names, and the same image in two files, are shown once', async () => {
  const bytes = await picture({ width: 55 }).png().toBuffer();
  const path = await file('workspace/once.png', bytes);
  await file('workspace/copy.png', bytes);
  const { blocks, missing } = await load(path, './once.png', path, './copy.png');
  expect([blocks.length, missing]).toEqual([1, []]);
});
