// The identities of Holdfast's rows as branded strings, so that a turn's id cannot be passed where
// a session's is meant. All are UUIDv7 in lower case unless said; they are made at the edges
// (`src/ids.ts`), never here.

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** One conversation of an agent. */
export type SessionId = Branded<'SessionId'>;
/** The name a session is found by, canonical: lower case, with its `agent:<id>:` prefix. */
export type SessionKey = Branded<'SessionKey'>;
/** One inbox message. */
export type MessageId = Branded<'MessageId'>;
/** One run of a session. */
export type TurnId = Branded<'TurnId'>;
/** One transcript item. */
export type EntryId = Branded<'EntryId'>;
/** One outgoing reply in the outbox. */
export type DeliveryId = Branded<'DeliveryId'>;
/** One system event. */
export type SystemEventId = Branded<'SystemEventId'>;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** True for the text of a UUID of any version, in any case. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** When an id was made, epoch milliseconds: its first 48 bits. */
export function timeOfId(id: string): number {
  return Number.parseInt(id.replace('-', '').slice(0, 12), 16);
}

const ID_END = /^[0-9a-f]{6,12}$/i;

/** True for a text that can be the end of an id, in its short form: the last 6 to 12 digits. */
export function isIdEnd(text: string): boolean {
  return ID_END.test(text);
}

const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;
const RANGE = 0x1_0000_0000;

/**
 * A number in [0, 1) that depends on the name alone: FNV-1a over its UTF-16 units, mixed so that
 * similar names lie apart.
 */
export function computeSpread(name: string): number {
  let hash = OFFSET_BASIS;
  for (let at = 0; at < name.length; at += 1) hash = Math.imul(hash ^ name.charCodeAt(at), PRIME);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / RANGE;
}
