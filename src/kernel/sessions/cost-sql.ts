// Costs of rows: how totals grow in SQL, and how they are shown. The rules are those of
// core/prices.ts: null is an unknown cost, which is never added as 0.

/** SQL of a total with one more cost. A total of 0 with an unknown cost is not known either. */
export function plusCostSql(total: string, cost: string): string {
  return `case when ${cost} is null then nullif(${total}, 0) else coalesce(${total}, 0) + ${cost} end`;
}

/** SQL of micro-dollars as dollars. */
export function dollarsSql(micros: string): string {
  return `${micros}::float8 / 1000000`;
}

/** SQL of the fields of a cost in JSON, from a row of turns, sessions or subagent_runs. */
export function costFieldsSql(alias: string): string {
  return `'costUsd', ${dollarsSql(`${alias}.cost_micros`)}, 'costMicros', ${alias}.cost_micros,
    'unpricedCalls', ${alias}.unpriced_calls, 'simulated', ${alias}.is_simulated`;
}

/** SQL of the tokens of a row by their kinds, as the API shows them: JSON of its columns. */
export function tokenUsageSql(alias: string): string {
  return `json_build_object('inputTokens', ${alias}.input_tokens, 'outputTokens', ${alias}.output_tokens,
    'cacheReadTokens', ${alias}.cache_read_tokens, 'cacheWriteTokens', ${alias}.cache_write_tokens)`;
}
