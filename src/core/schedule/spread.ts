// A number derived from a name: always the same, and evenly spread over many names. For phases, so that repeated work does not
// coincide. Not for secrets.

const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;
const RANGE = 0x1_0000_0000;

/** A number in [0, 1) that depends on the name alone: FNV-1a over its UTF-16 units, mixed so that similar names lie apart. */
export function spreadOf(name: string): number {
  let hash = OFFSET_BASIS;
  for (let at = 0; at < name.length; at += 1) hash = Math.imul(hash ^ name.charCodeAt(at), PRIME);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / RANGE;
}
