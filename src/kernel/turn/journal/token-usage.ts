// The tokens of a row by their kinds, as the API shows them.

/** SQL of them as JSON, from a row that has them in columns. */
export function tokenUsageSql(alias: string): string {
  return `json_build_object('inputTokens', ${alias}.input_tokens, 'outputTokens', ${alias}.output_tokens,
    'cacheReadTokens', ${alias}.cache_read_tokens, 'cacheWriteTokens', ${alias}.cache_write_tokens)`;
}
