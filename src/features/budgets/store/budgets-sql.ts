// SQL of budgets: when their windows begin and end, and when one counts as reached.

/**
 * A lateral subquery with `starts_at` and `ends_at` of the window of the budget `budget` at the
 * time `at`. Days and months begin at midnight in its zone. Where clocks are set back over
 * midnight, midnight comes twice: the first hour belongs to the day before.
 */
export const windowBoundsSql = (budget: string, at: string): string => `lateral (
  select starts.at as starts_at, case ${budget}.per when 'total' then null
    when 'hour' then starts.at + interval '1 hour'
    else (date_trunc(${budget}.per, starts.at at time zone ${budget}.zone) + ('1 ' || ${budget}.per)::interval) at time zone ${budget}.zone end as ends_at
  from (
    select case when ${budget}.per = 'total' then ${budget}.created_at
      when trunc.at <= ${at} then trunc.at
      else date_trunc(${budget}.per, ${at} - interval '1 day', ${budget}.zone) end as at
    from (select case when ${budget}.per <> 'total' then date_trunc(${budget}.per, ${at}, ${budget}.zone) end as at) as trunc
  ) as starts
)`;

// When a budget counts as reached: a call was refused since the budget was changed last, and there
// is still no room for it.

/** SQL of whether calls were refused by the budget `budget` in its window `window`. */
const wasRefusedSql = (budget: string, window: string): string =>
  `${window}.reached_at > coalesce(${budget}.changed_at, '-infinity')`;

/**
 * SQL of whether the calls in flight of `window` have cost so much less than their reservations
 * that there is room again.
 */
const hasRoomSql = (budget: string, window: string): string =>
  `coalesce(${window}.reached_micros <= ${budget}.limit_micros - ${window}.spent_micros - ${window}.reserved_micros, false)`;

/** SQL of whether the budget `budget` is reached in its window `window`. */
export const isReachedSql = (budget: string, window: string): string =>
  `(${wasRefusedSql(budget, window)} and not ${hasRoomSql(budget, window)})`;

/** SQL of whether it was reached, and has room again without a change. */
export const isFreedSql = (budget: string, window: string): string =>
  `(${wasRefusedSql(budget, window)} and ${hasRoomSql(budget, window)})`;
