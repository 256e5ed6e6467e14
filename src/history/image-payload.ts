// Whether an image can be sent at all. Images are resized where they are loaded; this checks blocks
// from other sources, a tool or an older version, which would make a provider refuse the whole
// conversation.
import type { ImageBlock } from '../core/content.ts';

export const IMAGE_BYTES_MAX = 5 * 1024 * 1024;

const MEDIA_TYPES: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * Why an image cannot be sent, in words for the model; `empty` when it holds nothing, null when it
 * can be sent.
 */
export function faultOfImage({ source }: ImageBlock): string | null {
  const { data, media_type: mediaType } = source;
  if (data === '') return 'empty';
  if (!MEDIA_TYPES.has(mediaType)) return `type ${mediaType.replaceAll(/[^\w/.+-]/g, '_').slice(0, 60)}`;
  const bytes = Math.floor((data.length * 3) / 4);
  if (bytes > IMAGE_BYTES_MAX) return `${bytes} bytes, more than ${IMAGE_BYTES_MAX}`;
  return BASE64.test(data) ? null : 'no base64';
}
