// When a budget counts as reached: a call was refused since the budget was changed last, and there is still no room for it.

/** SQL of whether calls were refused by the budget `budget` in its window `window`. */
const wasRefusedSql = (budget: string, window: string): string =>
  `${window}.reached_at > coalesce(${budget}.changed_at, '-infinity')`;

/** SQL of whether the calls in flight of `window` have cost so much less than their reservations that there is room again. */
const hasRoomSql = (budget: string, window: string): string =>
  `coalesce(${window}.reached_micros <= ${budget}.limit_micros - ${window}.spent_micros - ${window}.reserved_micros, false)`;

/** SQL of whether the budget `budget` is reached in its window `window`. */
export const isReachedSql = (budget: string, window: string): string =>
  `(${wasRefusedSql(budget, window)} and not ${hasRoomSql(budget, window)})`;

/** SQL of whether it was reached, and has room again without a change. */
export const isFreedSql = (budget: string, window: string): string =>
  `(${wasRefusedSql(budget, window)} and ${hasRoomSql(budget, window)})`;
