// The cache hit rate of a row with the tokens of prompts: weighted by tokens, because calls differ in length.

/** SQL of the part of the prompt tokens that was read from the provider's cache; null without tokens. */
export const HIT_RATE_SQL = `cache_read_tokens::float8 / nullif(input_tokens + cache_read_tokens + cache_write_tokens, 0)`;
