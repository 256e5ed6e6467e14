// A request in the form that the AI SDK's providers take: the messages of the Messages API become
// its prompt, and the settings its options. Pure: the same request gives the same prompt, which a
// provider's cache and the record of a call depend on.
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import { textOfResult, type BlockOrigin, type ContentBlock, type ImageBlock } from '../../core/content.ts';
import { given } from '../../core/json.ts';
import type { ModelMessage, ModelRequest } from '../../core/model-request.ts';
import { isBlank } from '../../core/text.ts';
import type { CallIdForm } from '../../history/provider-family.ts';
import { withProviderIds } from '../stream/repair-calls.ts';

/** What differs between APIs in the form of a prompt. */
export interface PromptForm {
  /**
   * Where the images of a tool result go: into it; into it after all of its text, which is never
   * empty, because its package makes one result of each text; or into a message of the user after
   * it, because its API takes only text there.
   */
  resultImages: 'inside' | 'behind-text' | 'after';
  /**
   * What becomes of thoughts that the model did not write itself: the family of the provider says
   * it.
   */
  foreignThoughts: 'text' | 'left-out';
  /** The ids of calls that are not the provider's own. */
  callIds: CallIdForm;
  /**
   * True: an answer without reasoning has an empty one, in the words of the package for servers
   * like OpenAI's. Absent: it has none.
   */
  hasEmptyReasoning?: boolean;
}

type Part<Role extends LanguageModelV4Message['role']> = Exclude<
  Extract<LanguageModelV4Message, { role: Role }>['content'],
  string
>[number];

/**
 * The messages. The system text stays in the system role, as one message: the templates of local
 * models take no second one.
 */
export function toPrompt(
  { system, messages }: Pick<ModelRequest, 'system' | 'messages'>,
  form: PromptForm,
): LanguageModelV4Prompt {
  const text = system.map((block) => block.text).join('\n\n');
  const names = new Map<string, string>();
  return [
    ...(text === '' ? [] : [{ role: 'system' as const, content: text }]),
    ...withProviderIds(messages, form.callIds).flatMap((message) => {
      for (const block of message.content) if (block.type === 'tool_use') names.set(block.id, block.name);
      return message.role === 'assistant' ? toAnswer(message, form) : toUserMessages(message, names, form);
    }),
  ];
}

function toAnswer({ content }: ModelMessage, form: PromptForm): LanguageModelV4Message[] {
  const parts = content.flatMap((block) => toAnswerPart(block, form));
  if (parts.length === 0) return [];
  const isBare = !parts.some((part) => part.type === 'reasoning' && part.text !== '');
  return [{ role: 'assistant', content: parts, ...(form.hasEmptyReasoning === true && isBare ? EMPTY_REASONING : {}) }];
}

const EMPTY_REASONING = { providerOptions: { openaiCompatible: { reasoning_content: '' } } };

function toAnswerPart(block: ContentBlock, { foreignThoughts }: PromptForm): Part<'assistant'>[] {
  switch (block.type) {
    case 'text':
      return [{ type: 'text', text: block.text, ...toOptions(block) }];
    case 'thinking':
      if (block.origin !== undefined) return [{ type: 'reasoning', text: block.thinking, ...toOptions(block) }];
      return foreignThoughts === 'text' && !isBlank(block.thinking) ? [{ type: 'text', text: block.thinking }] : [];
    case 'tool_use':
      return [
        { type: 'tool-call', toolCallId: block.id, toolName: block.name, input: block.input, ...toOptions(block) },
      ];
    // Such thinking is Anthropic's alone, and the other two are not of answers.
    case 'redacted_thinking':
    case 'image':
    case 'tool_result':
      return [];
    default:
      return block satisfies never;
  }
}

/** What the provider gave with a block, which it takes back in the same words. */
function toOptions({ origin }: { origin?: BlockOrigin }): { providerOptions?: SharedV4ProviderOptions } {
  if (origin === undefined || Object.keys(origin.metadata).length === 0) return {};
  // The metadata of a part as the package wrote it.
  return { providerOptions: origin.metadata as SharedV4ProviderOptions };
}

/** The results of a message, which come first in it, and then what the user says. */
function toUserMessages(
  { content }: ModelMessage,
  names: ReadonlyMap<string, string>,
  form: PromptForm,
): LanguageModelV4Message[] {
  const results: LanguageModelV4ToolResultPart[] = [];
  const said: Part<'user'>[] = [];
  for (const block of content) {
    if (block.type === 'tool_result') {
      const toolName = names.get(block.tool_use_id) ?? 'unknown';
      results.push({ type: 'tool-result', toolCallId: block.tool_use_id, toolName, output: toOutput(block, form) });
      if (form.resultImages === 'after') said.push(...toImagesAfter(block, toolName));
    } else if (block.type === 'text') said.push({ type: 'text', text: block.text });
    else if (block.type === 'image') said.push(toFile(block));
  }
  return [
    ...(results.length === 0 ? [] : [{ role: 'tool' as const, content: results }]),
    ...(said.length === 0 ? [] : [{ role: 'user' as const, content: said }]),
  ];
}

type ResultBlock = Extract<ContentBlock, { type: 'tool_result' }>;

function toOutput(block: ResultBlock, { resultImages }: PromptForm): LanguageModelV4ToolResultPart['output'] {
  const { content, is_error: isError = false } = block;
  const hasImage = imagesOf(block).length > 0;
  if (!hasImage || typeof content === 'string') {
    return { type: isError ? 'error-text' : 'text', value: textOfResult(block) };
  }
  if (resultImages === 'inside') {
    return { type: 'content', value: content.map((part) => (part.type === 'text' ? part : toFile(part))) };
  }
  const text = textOfResult(block);
  if (resultImages === 'behind-text') {
    return { type: 'content', value: [{ type: 'text', text: text || '[image]' }, ...imagesOf(block).map(toFile)] };
  }
  const value = `${text}${text === '' ? '' : '\n'}[The images of this result follow in the next message.]`;
  return { type: isError ? 'error-text' : 'text', value };
}

function toImagesAfter(block: ResultBlock, toolName: string): Part<'user'>[] {
  const images = imagesOf(block);
  if (images.length === 0) return [];
  return [{ type: 'text', text: `[The images of the result of ${toolName}]` }, ...images.map(toFile)];
}

function imagesOf({ content }: ResultBlock): ImageBlock[] {
  return typeof content === 'string' ? [] : content.filter((part) => part.type === 'image');
}

function toFile({ source }: ImageBlock): LanguageModelV4FilePart {
  return { type: 'file', mediaType: source.media_type, data: { type: 'data', data: source.data } };
}

type Settings = Omit<LanguageModelV4CallOptions, 'prompt' | 'headers' | 'abortSignal' | 'providerOptions'>;

/** The settings of a request. */
export function toSettings({ maxTokens, tools, sampling = {}, responseFormat, ...request }: ModelRequest): Settings {
  const { temperature, top_p: topP, stop_sequences: stopSequences, tool_choice: choice } = sampling;
  return {
    maxOutputTokens: maxTokens,
    ...given({ temperature, topP, stopSequences, reasoning: toReasoning(request) }),
    ...(responseFormat === undefined ? {} : { responseFormat: toFormat(responseFormat) }),
    ...(tools.length === 0 ? {} : { tools: tools.map(toTool) }),
    ...(choice === undefined || tools.length === 0 ? {} : { toolChoice: toToolChoice(choice) }),
  };
}

function toFormat({ schema, name = 'answer' }: NonNullable<ModelRequest['responseFormat']>) {
  return { type: 'json' as const, schema, name };
}

function toTool({ name, description, input_schema: inputSchema }: ModelRequest['tools'][number]) {
  // Both types are JSON Schema; they differ in what they leave open.
  return { type: 'function' as const, name, description, inputSchema: inputSchema as never };
}

function toToolChoice(choice: NonNullable<NonNullable<ModelRequest['sampling']>['tool_choice']>) {
  switch (choice.type) {
    case 'none':
      return { type: 'none' as const };
    case 'any':
      return { type: 'required' as const };
    case 'tool':
      return { type: 'tool' as const, toolName: choice.name };
    default:
      return choice satisfies never;
  }
}

/** The least budget of each effort, the largest first: those of the thinking levels. */
const EFFORTS = [
  [32_768, 'xhigh'],
  [16_384, 'high'],
  [8_192, 'medium'],
  [4_096, 'low'],
] as const;

/**
 * How much the model is asked to think; undefined: nothing is said, and it does what it does by
 * itself.
 */
function toReasoning({ thinking, effort }: Pick<ModelRequest, 'thinking' | 'effort'>): Settings['reasoning'] {
  if (effort !== undefined) return effort;
  if (thinking?.type !== 'enabled') return undefined;
  return EFFORTS.find(([tokens]) => thinking.budget_tokens >= tokens)?.[1] ?? 'minimal';
}
