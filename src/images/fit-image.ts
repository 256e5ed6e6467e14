// Converts an image to what a provider accepts: one of four formats, at most 1200 pixels a side, at
// most 5 MiB of base64, upright, and without what is not in the picture, such as the place where it
// was taken. An image that is all of this already keeps its bytes, but is decoded once anyway: the
// provider refuses a whole conversation for one that is broken. The library is loaded at the first
// image: a service that sees none does not pay for it.
import type { Metadata, Sharp, SharpOptions } from 'sharp';
import { Gate } from '../gate.ts';

export interface FittedImage {
  mediaType: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';
  base64: string;
}

/** Why an image cannot be shown, in words for the model. */
export class ImageFault extends Error {
  readonly code = 'image_fault';

  constructor(reason: string, cause?: unknown) {
    super(reason, { cause });
    this.name = 'ImageFault';
  }
}

const SIDE_PX_MAX = 1200;
/** The provider counts base64, not bytes. */
const BASE64_CHARS_MAX = 5 * 1024 * 1024;
/** A small file can hold an image of any size; more than this is not decoded. */
const PIXELS_MAX = 50_000_000;
const DECODE_SECONDS_MAX = 10;

/**
 * How many images are decoded at the same time in a process: each may briefly take hundreds of
 * megabytes.
 */
const DECODED_AT_ONCE_MAX = 2;
export const DECODERS = new Gate(DECODED_AT_ONCE_MAX);

interface PassedOn {
  mediaType: FittedImage['mediaType'];
  /**
   * Marks of what a file has beside its pixels: places, devices, people, comments, which side is
   * up. Among other bytes one costs an encoding.
   */
  metadata: RegExp;
}

const PASSED_ON: Readonly<Record<string, PassedOn>> = {
  png: { mediaType: 'image/png', metadata: /eXIf|tEXt|[iz]TXt|tIME|caBX/ },
  // Every segment for applications except those of JFIF, of colours (ICC) and of Adobe's colours;
  // further pictures; and comments.
  jpeg: { mediaType: 'image/jpeg', metadata: /\xff(?:[\xe1\xe3-\xed\xef\xfe]|\xe2..MPF)/s },
  gif: { mediaType: 'image/gif', metadata: /!\xfe|XMP DataXMP/ },
  webp: { mediaType: 'image/webp', metadata: /EXIF|XMP / },
};

/**
 * How an image is encoded again, until it is small enough. The first keeps every pixel as it is;
 * the last is small enough in any case.
 */
const ATTEMPTS: readonly { sidePx: number; quality: number | null }[] = [
  { sidePx: SIDE_PX_MAX, quality: null },
  { sidePx: SIDE_PX_MAX, quality: 85 },
  { sidePx: 1000, quality: 75 },
  { sidePx: 800, quality: 60 },
];

/**
 * The image as it can be sent. Throws `ImageFault` for bytes that are not an image, or cannot be
 * decoded.
 */
export async function fitImage(bytes: Buffer): Promise<FittedImage> {
  const format = sniffFormat(bytes);
  if (format === null) throw new ImageFault('not an image');
  const decode = await createDecoder(bytes);
  const { width, height, hasAlpha } = await orFault(format, async () => await decode().metadata());
  const asItIs = PASSED_ON[format];
  const fits = Math.max(width, height) <= SIDE_PX_MAX && base64Chars(bytes.length) <= BASE64_CHARS_MAX;
  if (asItIs !== undefined && fits && !asItIs.metadata.test(bytes.toString('latin1'))) {
    // Only the decoding matters; the pixels are discarded.
    await orFault(format, async () => await decode().resize(1, 1).raw().toBuffer());
    return { mediaType: asItIs.mediaType, base64: bytes.toString('base64') };
  }
  return await orFault(format, async () => await writeAnew(decode, { format, hasAlpha }));
}

async function writeAnew(
  decode: () => Sharp,
  { format, hasAlpha }: { format: string; hasAlpha: boolean },
): Promise<FittedImage> {
  for (const { sidePx, quality } of ATTEMPTS) {
    // A photograph is not worth its weight without loss.
    if (quality === null && !hasAlpha && format !== 'png' && format !== 'gif') continue;
    const sized = decode().autoOrient().resize(sidePx, sidePx, { fit: 'inside', withoutEnlargement: true });
    const written = await (
      quality === null ? sized.png() : sized.flatten({ background: '#ffffff' }).jpeg({ quality })
    ).toBuffer();
    if (base64Chars(written.length) > BASE64_CHARS_MAX) continue;
    return { mediaType: quality === null ? 'image/png' : 'image/jpeg', base64: written.toString('base64') };
  }
  throw new ImageFault('too large in every format');
}

async function createDecoder(bytes: Buffer): Promise<() => Sharp> {
  const { default: sharp } = await import('sharp');
  const options: SharpOptions = { limitInputPixels: PIXELS_MAX, failOn: 'error', sequentialRead: true };
  return () => sharp(bytes, options).timeout({ seconds: DECODE_SECONDS_MAX });
}

async function orFault<Result extends Metadata | Buffer | FittedImage>(
  format: string,
  decode: () => Promise<Result>,
): Promise<Result> {
  try {
    return await decode();
  } catch (error) {
    if (error instanceof ImageFault) throw error;
    throw new ImageFault(`its ${format.toUpperCase()} data cannot be decoded`, error);
  }
}

function base64Chars(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

/**
 * By how they begin: names and declared types are not trusted. An SVG is a program and is not
 * supported.
 */
type ImageFormat = 'png' | 'jpeg' | 'gif' | 'webp' | 'tiff' | 'avif' | 'heif' | 'jxl' | 'bmp';

/** Bytes at a place, as Latin-1 text. */
type Mark = readonly [offset: number, text: string];

const MARKS: readonly (readonly [ImageFormat, ...Mark[]])[] = [
  ['png', [0, '\x89PNG\r\n\x1a\n']],
  ['jpeg', [0, '\xff\xd8\xff']],
  ['gif', [0, 'GIF87a']],
  ['gif', [0, 'GIF89a']],
  ['webp', [0, 'RIFF'], [8, 'WEBP']],
  ['tiff', [0, 'II*\0']],
  ['tiff', [0, 'MM\0*']],
  ['avif', [4, 'ftypavi']],
  ['heif', [4, 'ftyphei']],
  ['heif', [4, 'ftyphev']],
  ['heif', [4, 'ftypmif1']],
  ['heif', [4, 'ftypmsf1']],
  ['jxl', [0, '\xff\x0a']],
  ['jxl', [4, 'JXL \r\n\x87\n']],
  ['bmp', [0, 'BM']],
];

/** The format, or null for anything else. */
export function sniffFormat(bytes: Buffer): ImageFormat | null {
  const beginning = bytes.toString('latin1', 0, 16);
  const found = MARKS.find(([, ...marks]) => marks.every(([offset, text]) => beginning.startsWith(text, offset)));
  return found?.[0] ?? null;
}
