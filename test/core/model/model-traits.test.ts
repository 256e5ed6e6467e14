// What a server says about its model when it refuses a request.
import { expect, test } from 'vitest';
import { findNamedWindow } from '../../../src/core/models.ts';

test.each([
  ["This model's maximum context length is 128000 tokens. However, your messages resulted in 153211 tokens.", 128_000],
  [
    "This model's maximum context length is 8192 tokens. However, you requested 65535 output tokens and your prompt contains at least 62466 input tokens",
    8_192,
  ],
  ['The decoder prompt (length 9001) is longer than the maximum model length of 8192.', 8_192],
  ["This endpoint's maximum context length is 262000 tokens. However, you requested about 263390 tokens", 262_000],
  ["This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131_072],
  ['request (9001 tokens) exceeds the available context size (4096 tokens), try increasing it', 4_096],
  ['the request exceeds the available context size, try increasing it (n_ctx 8192)', 8_192],
  ['Cannot truncate prompt with n_keep (11378) >= n_ctx (4096)', 4_096],
  ['is greater than the context length (n_keep: 13055>= n_ctx: 4096)', 4_096],
  ['the model is loaded with context length of only 7866 tokens, which is not enough', 7_866],
  ['Request length 71599 + 2048 is greater than max_seq_len 65536', 65_536],
  ['Prompt length 9001 exceeds the available context size of 8192 tokens', 8_192],
  ['cannot be enqueued. Total cache allocated is 32 * 256 = 8192 tokens', 8_192],
  ["The input (9001 tokens) is longer than the model's context length (8192 tokens).", 8_192],
  ['Prompt contains 41024 tokens and 0 draft tokens, too large for model with 32768 maximum context length', 32_768],
  ['prompt is too long: 213462 tokens > 200000 maximum', 200_000],
  ['input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length', 200_000],
  ['The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).', 1_048_575],
  ['Your request exceeded model token limit: 131072 (requested: 140021)', 131_072],
  ['prompt token count of 140021 exceeds the limit of 128000', 128_000],
  ['total number of tokens in the prompt cannot exceed 4081 - received 5000.', 4_081],
  ['`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens', 4_096],
  ['Range of input length should be [1, 129024]', 129_024],
  ['Input is too long for requested model.', null],
  ['Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 45120.', null],
  ["This model's maximum context length is 0 tokens.", null],
  ["This model's maximum context length is 120 tokens.", null],
])('%s', (message, tokens) => {
  expect(findNamedWindow(message)).toBe(tokens);
});
