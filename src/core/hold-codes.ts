// The reasons for which tool calls wait for something outside: the codes of turns that are parked for them.
/** Why tool calls wait for something outside, in the order in which a turn names what it waits for. */
export const HOLD_CODES = ['caller', 'approval', 'external_tool', 'task'] as const;
export type HoldCode = (typeof HOLD_CODES)[number];

/** True for a call that has taken no effect while it waits: it begins when it is released. */
export function isUnbegun(code: HoldCode): boolean {
  return code === 'approval';
}
