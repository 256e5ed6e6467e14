// The id of a tool call that a client runs. It names the turn, the step and the place of the call in its answer, so a request that brings
// results needs no other key to the turn that waits for them.
const PATTERN = /^call_([\da-f]{32})_(\d{1,6})_(\d{1,6})$/;

/** A call that a client runs. */
export interface CallerCall {
  turnId: string;
  /** The model answer of the turn that it is in, from 1. */
  step: number;
  /** Its place in that answer, from 1. */
  ordinal: number;
}

/** The id that the client is given. */
export function callerCallId({ turnId, step, ordinal }: CallerCall): string {
  return `call_${turnId.replaceAll('-', '')}_${step}_${ordinal}`;
}

/** The call of an id; null: the id is not one of Holdfast's. */
export function parseCallerCallId(id: string): CallerCall | null {
  const [, hex = '', step, ordinal] = PATTERN.exec(id) ?? [];
  if (hex === '') return null;
  const turnId = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
  return { turnId, step: Number(step), ordinal: Number(ordinal) };
}
