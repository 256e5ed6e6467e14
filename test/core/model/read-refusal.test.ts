// What providers say when they refuse a call, in their own words, and what a turn does about it.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { classifyFailure } from '../../../src/core/failure.ts';
import { readRefusal } from '../../../src/model/ai-sdk/rules/read-refusal.ts';

/** A body in OpenAI's form. */
const openai = (message: string, more: object = {}) => ({
  error: { message, type: null, param: null, code: null, ...more },
});
/** A body in Google's form. */
const google = (code: number, status: string, message: string, details: object[] = []) => ({
  error: { code, message, status, details },
});

const read = (status: number | null, body: unknown) => readRefusal({ status, body, fallback: 'no text' });

function judge(status: number | null, body: unknown): string {
  const { waitMs, ...fault } = read(status, body);
  const { kind, code } = classifyFailure({ ...fault, status, retryAfterMs: waitMs });
  return `${kind} ${code}`;
}

test.each([
  [
    'OpenAI',
    400,
    openai("This model's maximum context length is 128000 tokens. However, your messages resulted in 153211 tokens.", {
      code: 'context_length_exceeded',
      type: 'invalid_request_error',
    }),
  ],
  [
    'OpenAI, Responses',
    400,
    openai('Your input exceeds the context window of this model. Please adjust your input and try again.', {
      code: 'context_length_exceeded',
    }),
  ],
  [
    'OpenAI, too large for a minute',
    429,
    openai(
      'Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 45120. The input or output tokens must be reduced in order to run successfully.',
      { type: 'tokens', code: 'rate_limit_exceeded' },
    ),
  ],
  [
    'Gemini',
    400,
    google(
      400,
      'INVALID_ARGUMENT',
      'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).',
    ),
  ],
  [
    'xAI',
    400,
    {
      code: 'Client specified an invalid argument',
      error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    },
  ],
  [
    'Groq',
    400,
    openai('Please reduce the length of the messages or completion.', {
      code: 'context_length_exceeded',
      type: 'invalid_request_error',
    }),
  ],
  [
    'Groq, too large for a minute',
    413,
    openai(
      'Request too large for model `llama-3.3-70b` in organization `org_1` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 7112, please reduce your message size and try again.',
      { type: 'tokens', code: 'rate_limit_exceeded' },
    ),
  ],
  [
    'OpenRouter',
    400,
    {
      error: {
        code: 400,
        message:
          "This endpoint's maximum context length is 128000 tokens. However, you requested about 153211 tokens (151000 of text input, 2211 in the output).",
      },
    },
  ],
  ['Bedrock', 400, { message: 'Input is too long for requested model.' }],
  [
    'Anthropic behind a gateway',
    400,
    {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 213462 tokens > 200000 maximum' },
    },
  ],
  [
    'vLLM',
    400,
    {
      object: 'error',
      message:
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens in the messages.",
      type: 'BadRequestError',
      code: 400,
    },
  ],
  [
    'vLLM, newer',
    400,
    {
      error: {
        message: 'The decoder prompt (length 9001) is longer than the maximum model length of 8192.',
        type: 'BadRequestError',
        code: 400,
      },
    },
  ],
  [
    'SGLang',
    400,
    {
      object: 'error',
      message: "The input (9001 tokens) is longer than the model's context length (8192 tokens).",
      code: 400,
    },
  ],
  [
    'llama.cpp',
    400,
    {
      error: {
        code: 400,
        message: 'the request exceeds the available context size, try increasing it',
        type: 'exceed_context_size_error',
        n_prompt_tokens: 9001,
        n_ctx: 8192,
      },
    },
  ],
  [
    'LM Studio',
    400,
    {
      error:
        'Trying to keep the first 9001 tokens when context the overflows. However, the number of tokens to keep from the initial prompt is greater than the context length.',
    },
  ],
  [
    'LM Studio, older',
    400,
    {
      error:
        'Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input',
    },
  ],
  [
    'LM Studio, newer',
    400,
    {
      error:
        'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input.',
    },
  ],
  ['LM Studio, MLX', 400, { error: 'Cannot truncate prompt with n_keep (11378) >= n_ctx (4096)' }],
  [
    'LM Studio, inside the answer',
    null,
    {
      error: {
        message:
          'Reached context length of 4096 tokens with model (arch: qwen3) that does not currently support mid-generation context overflow. Try reloading with a larger context length or shortening the prompt/chat.',
      },
    },
  ],
  [
    'TabbyAPI',
    503,
    { detail: { error: { message: 'Prompt length 9001 is greater than max_seq_len 8192', trace: null } } },
  ],
  [
    'TabbyAPI, older, inside the answer',
    null,
    { error: { message: 'ValueError: Request length 71599 + 2048 is greater than max_seq_len 65536', trace: null } },
  ],
  [
    'TabbyAPI, newer',
    400,
    openai('Prompt length 9001 exceeds the available context size of 8192 tokens', { code: 'context_length_exceeded' }),
  ],
  [
    'TabbyAPI, the longest answer with it',
    400,
    openai(
      'Initial job allocation requires 9216 cache tokens, which exceeds the available context size of 8192 tokens',
    ),
  ],
  [
    'ExLlama',
    500,
    {
      detail:
        'AssertionError: Job requires 33 pages (only 32 available) and cannot be enqueued. Total cache allocated is 32 * 256 = 8192 tokens',
    },
  ],
  ['ExLlama, older', 500, { detail: 'Total sequence length exceeds cache size in model.forward' }],
  [
    'OpenRouter, of the server that it asked',
    400,
    {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: {
          raw: '{"error":{"message":"Requested input length 9001 exceeds maximum input length. This model\'s maximum context length is 8192 tokens.","type":"invalid_request_error"}}',
          provider_name: 'DeepInfra',
        },
      },
      user_id: 'user_1',
    },
  ],
  [
    'OpenRouter, in a code of the server that it asked',
    400,
    {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: { raw: { error: { message: 'No.', code: 'context_length_exceeded' } } },
      },
    },
  ],
  ['FastAPI', 422, { detail: "This model's maximum context length is 8192 tokens." }],
  [
    'FastAPI, in a list',
    422,
    { detail: [{ loc: ['body', 'messages'], msg: 'prompt is too long', type: 'value_error' }] },
  ],
  ['a general word first', 400, { message: 'Error', detail: 'The prompt is too long.' }],
  ['Ollama', 400, { error: 'prompt too long; exceeded max context length by 812 tokens' }],
  [
    'Mistral',
    400,
    {
      object: 'error',
      message: 'Prompt contains 41024 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
      type: 'invalid_request_message_order',
      code: '3051',
    },
  ],
  [
    'Kimi',
    400,
    openai('Invalid request: Your request exceeded model token limit: 131072 (requested: 140021)', {
      type: 'invalid_request_error',
    }),
  ],
  ['MiniMax', 400, openai('invalid params, context window exceeds limit (2013)', { type: 'bad_request_error' })],
  [
    'GitHub',
    400,
    openai('prompt token count of 140021 exceeds the limit of 128000', { code: 'model_max_prompt_tokens_exceeded' }),
  ],
  [
    'Cohere',
    400,
    { message: 'too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000.' },
  ],
  [
    'Qwen',
    400,
    openai('<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]', {
      code: 'invalid_parameter_error',
    }),
  ],
  [
    'Text Generation Inference',
    422,
    {
      error:
        'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 512 `max_new_tokens`',
      error_type: 'validation',
    },
  ],
  [
    'OpenAI, inside the answer',
    null,
    { type: 'error', code: 'context_length_exceeded', message: 'Your input exceeds the context window of this model.' },
  ],
])('the words of %s for a prompt that is too long lead to a compaction', (_server, status, body) => {
  expect(judge(status, body)).toBe('overflow model_context_overflow');
});

test.each([
  [
    'OpenAI',
    429,
    openai('You exceeded your current quota, please check your plan and billing details.', {
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    }),
  ],
  ['OpenAI, hard limit', 400, openai('Billing hard limit has been reached.', { code: 'billing_hard_limit_reached' })],
  [
    'OpenRouter',
    402,
    { error: { code: 402, message: 'Insufficient credits. Add more using https://openrouter.ai/settings/credits' } },
  ],
  ['DeepSeek', 402, openai('Insufficient Balance', { type: 'unknown_error', code: 'invalid_request_error' })],
  [
    'Kimi',
    429,
    openai('Your account org-1 is suspended, please check your plan and billing details', {
      type: 'exceeded_current_quota_error',
    }),
  ],
  [
    'Google',
    403,
    google(403, 'PERMISSION_DENIED', 'This API method requires billing to be enabled.', [
      { reason: 'BILLING_DISABLED' },
    ]),
  ],
  [
    'xAI',
    429,
    {
      code: 'Some resource has been exhausted',
      error: 'Your team has either used all available credits or reached its monthly spending limit.',
    },
  ],
  ['Zhipu', 429, { error: { code: '1113', message: 'Insufficient balance or no resource package. Please recharge.' } }],
  ['Qwen', 400, openai('Access denied, please make sure your account is in good standing.', { code: 'Arrearage' })],
  [
    'OpenAI, inside the answer',
    null,
    {
      type: 'response.failed',
      response: { error: { code: 'insufficient_quota', message: 'You exceeded your current quota.' } },
    },
  ],
])('the words of %s for an account without money are not a rate limit', (_server, status, body) => {
  expect(judge(status, body)).toBe('fatal model_billing');
});

test.each([
  [
    'OpenAI',
    404,
    openai('The model `gpt-9` does not exist or you do not have access to it.', {
      code: 'model_not_found',
      type: 'invalid_request_error',
    }),
  ],
  [
    'Google',
    404,
    google(
      404,
      'NOT_FOUND',
      'models/gemini-9 is not found for API version v1beta, or is not supported for generateContent.',
    ),
  ],
  ['OpenRouter', 400, { error: { code: 400, message: 'some/model is not a valid model ID' } }],
  ['Ollama', 404, { error: { message: 'model "qwen9" not found, try pulling it first', type: 'api_error' } }],
  ['Mistral', 400, { object: 'error', message: 'Invalid model: mistral-huge', type: 'invalid_model', code: '1500' }],
  ['Bedrock', 400, { message: 'The provided model identifier is invalid.' }],
])('the words of %s for a model that it does not have name the model', (_server, status, body) => {
  expect(judge(status, body)).toBe('fatal model_not_found');
});

test.each([
  ['OpenAI', 401, openai('Incorrect API key provided: sk-x.', { code: 'invalid_api_key' })],
  [
    'Google',
    400,
    google(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', [{ reason: 'API_KEY_INVALID' }]),
  ],
  [
    'xAI',
    400,
    {
      code: 'Client specified an invalid argument',
      error: 'Incorrect API key provided: xa***y. You can obtain an API key from https://console.x.ai.',
    },
  ],
  ['OpenRouter', 401, { error: { code: 401, message: 'No auth credentials found' } }],
])('the words of %s for a key that it refuses name the key', (_server, status, body) => {
  expect(judge(status, body)).toBe('fatal model_unauthorized');
});

test.each([
  [
    'Azure',
    400,
    openai("The response was filtered due to the prompt triggering Azure OpenAI's content management policy.", {
      code: 'content_filter',
      status: 400,
    }),
  ],
  ['OpenAI', 400, openai('Your request was rejected by the safety system.', { code: 'content_policy_violation' })],
  ['Qwen', 400, openai('Input data may contain inappropriate content.', { code: 'data_inspection_failed' })],
])('the words of %s for a prompt that a filter stops say so', (_server, status, body) => {
  expect(judge(status, body)).toBe('fatal model_stopped_sensitive');
});

test.each([
  [
    'Gemini, in words',
    429,
    google(
      429,
      'RESOURCE_EXHAUSTED',
      'You exceeded your current quota, please check your plan and billing details.\n* Quota exceeded for metric: generate_content_free_tier_requests, limit: 20\nPlease retry in 34.07s.',
    ),
    34_070,
  ],
  [
    'Gemini, in RetryInfo',
    429,
    google(429, 'RESOURCE_EXHAUSTED', 'Resource has been exhausted (e.g. check quota).', [
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '41s' },
    ]),
    41_000,
  ],
  [
    'OpenAI',
    429,
    openai(
      'Rate limit reached for gpt-5 on tokens per min (TPM): Limit 30000, Used 29000, Requested 3000. Please try again in 6m0s.',
      { code: 'rate_limit_exceeded' },
    ),
    360_000,
  ],
  ['OpenAI, soon', 429, openai('Rate limit reached. Please try again in 20ms.', { code: 'rate_limit_exceeded' }), 20],
  [
    'Groq',
    429,
    openai('Rate limit reached for model `llama`. Please try again in 1h2m3.5s. Need more tokens?', {
      code: 'rate_limit_exceeded',
    }),
    3_723_500,
  ],
  ['Mistral', 429, { message: 'Requests rate limit exceeded' }, null],
  [
    'OpenAI, inside the answer',
    null,
    { type: 'error', code: 'rate_limit_exceeded', message: 'Please try again in 6s.' },
    6000,
  ],
  ['OpenRouter, inside the answer', null, { error: { code: 429, message: 'Provider returned error' } }, null],
])('the words of %s for a rate limit are a wait', (_server, status, body, waitMs) => {
  expect(read(status, body).waitMs).toBe(waitMs);
  expect(judge(status, body)).toBe('retry model_rate_limited');
});

test.each([
  [503, google(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'), 'retry model_unavailable'],
  [
    500,
    openai('The server had an error while processing your request.', { type: 'server_error' }),
    'retry model_unavailable',
  ],
  [null, { type: 'error', code: 'server_error', message: 'boom' }, 'retry model_unavailable'],
  [null, { error: { message: 'Overloaded', type: 'overloaded_error' } }, 'retry model_overloaded'],
  [null, 'a text', 'retry model_unavailable'],
  [
    400,
    openai("Unsupported parameter: 'temperature'", { type: 'invalid_request_error', code: 'unsupported_parameter' }),
    'fatal model_invalid_request',
  ],
  [403, openai('Country not supported', { code: 'unsupported_country_region_territory' }), 'fatal model_forbidden'],
  [413, '', 'fatal model_request_too_large'],
])('%s %j is %s', (status, body, expected) => {
  expect(judge(status, body)).toBe(expected);
});

test.each([
  [
    openai(
      'The encrypted content gAAA...x could not be verified. Reason: Encrypted content organization_id did not match the target organization.',
      { code: 'invalid_encrypted_content' },
    ),
  ],
  [
    openai("Item 'rs_1' of type 'reasoning' was provided without its required following item.", {
      type: 'invalid_request_error',
    }),
  ],
  [google(400, 'INVALID_ARGUMENT', 'Thought signature is not valid.')],
  [google(400, 'INVALID_ARGUMENT', 'Function call is missing a thought_signature in functionCall parts.')],
])('a refusal of what an earlier answer gave has a type of its own: %j', (body) => {
  expect(read(400, body).type).toBe('refused_origin');
  expect(judge(400, body)).toBe('fatal model_invalid_request');
});

test('the text for people is that of the server, else the one of the client', () => {
  expect(read(400, openai('No.', { code: 'x' }))).toMatchObject({ message: 'No.', errorCode: 'x' });
  expect(read(400, [{ error: { message: 'In a list.' } }]).message).toBe('In a list.');
  expect(read(502, '<html>').message).toBe('<html>');
  expect(read(500, '').message).toBe('no text');
});

const FORCED = { isForced: true, takesReasoning: false };
const THINKING = 'Thinking mode does not support this tool_choice';

test.each([
  [400, openai(THINKING), FORCED, 'refused_forcing'],
  [400, openai('tool_choice specified is incompatible with thinking enabled'), FORCED, 'refused_forcing'],
  [
    422,
    { detail: [{ loc: ['body', 'tool_choice'], msg: "Input should be 'none' or 'auto'", type: 'literal_error' }] },
    FORCED,
    'refused_forcing',
  ],
  [
    400,
    { error: { message: 'Provider returned error', code: 400, metadata: { raw: JSON.stringify(openai(THINKING)) } } },
    FORCED,
    'refused_forcing',
  ],
  // It was not forced, so there is nothing to leave out.
  [400, openai(THINKING), { isForced: false, takesReasoning: true }, 'invalid_request_error'],
  [500, openai(THINKING), FORCED, 'api_error'],
  [400, openai("Unsupported parameter: 'temperature'"), FORCED, 'invalid_request_error'],
  [
    400,
    openai('thinking is enabled but reasoning_content is missing in assistant tool call message at index 2'),
    { isForced: true, takesReasoning: true },
    'missing_reasoning',
  ],
  [
    400,
    openai('The `reasoning_content` in the thinking mode must be passed back to the API.'),
    { isForced: false, takesReasoning: false },
    'invalid_request_error',
  ],
])(
  'a refusal of how a request was written has a type of its own if it can be written in another way: %s %j',
  (status, body, sent, type) => {
    const facts = readRefusal({ status, body, fallback: '', sent });
    expect(facts.type).toBe(type);
    expect(classifyFailure({ ...facts, status, retryAfterMs: null }).kind).toBe(status === 500 ? 'retry' : 'fatal');
  },
);

test('any body is read without a fault', () => {
  fc.assert(
    fc.property(fc.option(fc.integer({ min: 400, max: 599 })), fc.jsonValue(), (status, body) => {
      const { type, message, waitMs } = readRefusal({ status, body, fallback: '' });
      expect(typeof type).toBe('string');
      expect(message.trim()).not.toBe('');
      expect(waitMs === null || waitMs >= 0).toBe(true);
    }),
  );
});
