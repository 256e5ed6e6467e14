// Makes image files: PNGs of one grey, which differs from image to image.
import { encodePng } from '../../../scripted-model/picture.ts';

/** An image of the given size in pixels; `grey` is 0 to 255. */
export function png(width: number, height: number, grey: number): Buffer {
  return encodePng({ width, height, pixel: [grey] });
}

/** The width that a PNG says that it has. */
export function widthOfPng(base64: string): number {
  return Buffer.from(base64, 'base64').readUInt32BE(16);
}
