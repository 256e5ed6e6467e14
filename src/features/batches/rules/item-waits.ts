// Why an item of a batch waits that is not in flight, by the code of its reason (src/kernel/rules/why.ts has all others).
export const ITEM_WAITS = {
  batch_paused: 'The batch is paused.',
  batch_window: 'The first items show which way is cheaper; the others wait for them, at most an hour.',
  session_busy: 'An earlier item of the same session has not ended.',
  lane_full: 'As many items of the batch are in flight as its concurrency and the lane allow.',
} as const;
