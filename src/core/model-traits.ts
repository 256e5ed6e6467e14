// What the server of a model says about it by refusing requests, and how they are written since: in a form that it takes. No server is asked for it,
// and none is named in the code; every request is made as for any other server until one refuses it.

/** How requests to a model are written. */
export interface RequestTraits {
  /** It thinks on its own, so it cannot be forced to call a tool. */
  isUnforced?: true;
  /** Each of its answers has to come back with reasoning: an empty one, where there is none. */
  wantsReasoning?: true;
}

/** All that is remembered about a model. */
export interface ModelTraits extends RequestTraits {
  /** The window of its server in tokens. It counts only where it is smaller than what is known otherwise. */
  contextTokens?: number;
}

/** A smaller number is not a window, or of no use. */
const WINDOW_TOKENS_MIN = 500;

/** How servers name their window when they refuse a prompt that is too long; a test has the words of each. */
const WINDOWS = [
  // OpenAI, DeepSeek, vLLM, OpenRouter; xAI
  /maximum (?:context|model|prompt) length (?:is|of) (\d{3,9})\b/i,
  // llama.cpp; TabbyAPI; both call it `n_ctx` in other places, as LM Studio does
  /available context size (?:of |\()(\d{3,9})\b/i,
  /\bn_ctx\W{1,4}(\d{3,9})\b/i,
  // LM Studio
  /context length of (?:only )?(\d{3,9})\b/i,
  // TabbyAPI; ExLlama
  /max_seq_len (\d{3,9})\b/i,
  /cache allocated is [^=]{1,40}= (\d{3,9}) tokens/i,
  // SGLang; Mistral
  /context length \((\d{3,9}) tokens/i,
  /model with (\d{3,9}) maximum context/i,
  // Anthropic
  /tokens > (\d{3,9}) maximum/i,
  /context limit: [\d +]{1,40}> (\d{3,9})\b/i,
  // Gemini; Kimi; GitHub; Cohere; Text Generation Inference; Qwen
  /maximum number of tokens allowed \((\d{3,9})\)/i,
  /model token limit: (\d{3,9})\b/i,
  /prompt token count .{0,40}exceeds the limit of (\d{3,9})\b/i,
  /tokens in the prompt cannot exceed (\d{3,9})\b/i,
  /must be <= (\d{3,9})\b/i,
  /range of input length should be \[\d{1,3}, (\d{3,9})\]/i,
];

/** The window that a server names in a refusal for the length, in tokens; null: it names none. */
export function findNamedWindow(message: string): number | null {
  for (const pattern of WINDOWS) {
    const tokens = Number(pattern.exec(message)?.[1] ?? 0);
    if (tokens >= WINDOW_TOKENS_MIN) return tokens;
  }
  return null;
}
