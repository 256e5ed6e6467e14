// Checks a request of Gemini as Google does, with its words, and reads it into one of the Messages
// API.
import type { MessagesRequest, WireBlock, WireMessage } from '../wire.ts';
import { schemaFaultOf } from '../schema-fault.ts';
import { isRecord } from '../wire.ts';
import { refusedByGemini } from './gemini-errors.ts';
import { checkCallSignature, checkTextSignature } from './gemini-signature.ts';
import type { Exchange } from './model-wire.ts';
import { cachedByItself } from './model-wire.ts';

const fieldsOf = (names: string): ReadonlySet<string> => new Set(names.split(' '));
const REQUEST_FIELDS = fieldsOf(
  'model contents systemInstruction tools toolConfig safetySettings generationConfig cachedContent labels serviceTier store',
);
const CONFIG_FIELDS = fieldsOf(
  'stopSequences responseMimeType responseSchema responseJsonSchema responseModalities candidateCount maxOutputTokens temperature topP topK seed presencePenalty frequencyPenalty responseLogprobs logprobs enableEnhancedCivicAnswers speechConfig thinkingConfig imageConfig mediaResolution audioTimestamp',
);
const PART_FIELDS = fieldsOf(
  'text inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse thought thoughtSignature videoMetadata partMetadata mediaResolution',
);
const DECLARATION_FIELDS = fieldsOf(
  'name description behavior parameters parametersJsonSchema response responseJsonSchema',
);
/** What `parameters` may have; `parametersJsonSchema` takes any JSON schema. */
const SCHEMA_FIELDS = fieldsOf(
  'type format title description nullable enum items maxItems minItems properties required minProperties maxProperties minLength maxLength pattern example anyOf propertyOrdering default minimum maximum',
);
const REFERENCE_FIELDS = ['$ref', 'description', 'default', '$defs', 'definitions'];
const FUNCTION_NAME = /^[A-Za-z_][\w.:-]{0,63}$/;
const MIME_TYPE = /^(?:image|audio|video|text)\/|^application\/(?:pdf|json)$/;
const EQUAL_COUNT =
  'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.';

/** Throws `ProviderError` 400 at the first thing that Google would refuse. */
export function readGemini(body: unknown, exchange: Exchange): MessagesRequest {
  if (!isRecord(body)) throw refusedByGemini('Invalid JSON payload received. Expected an object.');
  checkFields(body, REQUEST_FIELDS, '');
  const model = exchange.model ?? '';
  const contents = body['contents'];
  if (!Array.isArray(contents) || contents.length === 0) {
    throw refusedByGemini('* GenerateContentRequest.contents: contents is not specified\n');
  }
  const system = isRecord(body['systemInstruction']) ? body['systemInstruction']['parts'] : [];
  const reader = new ContentReader({ ...exchange, model });
  for (const [index, content] of (contents as unknown[]).entries()) reader.read(content, index);
  const messages = reader.end();
  return cachedByItself({
    model,
    max_tokens: Number.MAX_SAFE_INTEGER,
    messages,
    system: partsOf(system, 'system_instruction').map((part) => ({ type: 'text', text: String(part['text']) })),
    tools: readTools(body['tools']),
    stream: exchange.isStream === true,
    ...schemaOf(body['generationConfig']),
    wantsPicture: wantsPicture(body),
  });
}

/** True when a picture is asked for. */
export function wantsPicture(body: unknown): boolean {
  const config = isRecord(body) ? body['generationConfig'] : undefined;
  const modalities = isRecord(config) ? config['responseModalities'] : undefined;
  return Array.isArray(modalities) && modalities.includes('IMAGE');
}

function schemaOf(config: unknown): { outputSchema?: Record<string, unknown> } {
  if (!isRecord(config)) return {};
  checkFields(config, CONFIG_FIELDS, 'generation_config');
  const { thinkingConfig: thinking, responseMimeType: mimeType } = config;
  if (isRecord(thinking) && thinking['thinkingBudget'] !== undefined && thinking['thinkingLevel'] !== undefined) {
    throw refusedByGemini('You can only set only one of thinking budget and thinking level.');
  }
  if (mimeType !== 'application/json') return {};
  const schema = config['responseJsonSchema'] ?? config['responseSchema'];
  return { outputSchema: isRecord(schema) ? schema : { type: 'object' } };
}

function readTools(tools: unknown): Record<string, unknown>[] {
  const names = new Set<string>();
  const list = Array.isArray(tools) ? (tools as unknown[]) : [];
  return list.flatMap((tool, index) => {
    const declarations = isRecord(tool) ? tool['functionDeclarations'] : undefined;
    if (!Array.isArray(declarations)) return [];
    return (declarations as unknown[]).map((value, place) => {
      const at = `tools[${index}].function_declarations[${place}]`;
      const declaration = isRecord(value) ? value : {};
      checkFields(declaration, DECLARATION_FIELDS, at);
      const name = String(declaration['name']);
      if (!FUNCTION_NAME.test(name)) {
        throw refusedByGemini(
          `* GenerateContentRequest.${at}.name: Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.\n`,
        );
      }
      if (names.has(name)) throw refusedByGemini(`Duplicate function declaration found: ${name}`);
      names.add(name);
      checkSchema(declaration['parameters'], `${at}.parameters`);
      checkJsonSchema(declaration['parametersJsonSchema'], `${at}.parameters_json_schema`);
      return declaration;
    });
  });
}

function checkSchema(schema: unknown, at: string): void {
  if (!isRecord(schema)) return;
  checkFields(schema, SCHEMA_FIELDS, at);
  if (Array.isArray(schema['type'])) {
    throw unknownName('type', at, 'Proto field is not repeating, cannot start list.');
  }
  const properties = isRecord(schema['properties']) ? Object.values(schema['properties']) : [];
  for (const [index, inner] of properties.entries()) checkSchema(inner, `${at}.properties[${index}].value`);
  checkSchema(schema['items'], `${at}.items`);
  const alternatives = Array.isArray(schema['anyOf']) ? (schema['anyOf'] as unknown[]) : [];
  for (const [index, inner] of alternatives.entries()) checkSchema(inner, `${at}.any_of[${index}]`);
}

/**
 * Any JSON schema whose root is an object, if nothing else stands beside a reference that leads
 * somewhere.
 */
function checkJsonSchema(schema: unknown, at: string): void {
  if (schema === undefined) return;
  const fault = schemaFaultOf(schema);
  if (fault !== null) throw refusedByGemini(`Invalid value at '${at}': ${fault}`, at);
  if (!isRecord(schema) || schema['type'] !== 'object' || ['anyOf', 'oneOf', 'allOf'].some((word) => word in schema))
    throw refusedByGemini(`* GenerateContentRequest.${at}: only allowed for OBJECT type\n`, at);
  checkReferences(schema, schema, at);
}

function checkReferences(schema: unknown, root: Record<string, unknown>, at: string): void {
  if (Array.isArray(schema)) for (const inner of schema) checkReferences(inner, root, at);
  if (!isRecord(schema)) return;
  const { $ref: reference } = schema;
  if (typeof reference === 'string') {
    const beside = Object.keys(schema).filter((word) => !REFERENCE_FIELDS.includes(word));
    if (beside.length > 0) {
      throw refusedByGemini(
        `${reference} was set alongside unsupported fields. If a schema node has $ref set, then only description and default can be set alongside it`,
      );
    }
    const found = reference
      .split('/')
      .slice(1)
      .reduce<unknown>((from, name) => (isRecord(from) ? from[name] : undefined), root);
    if (found === undefined) throw refusedByGemini(`reference to undefined schema at ${at}`);
  }
  for (const inner of Object.values(schema)) checkReferences(inner, root, at);
}

function checkFields(record: Record<string, unknown>, known: ReadonlySet<string>, at: string): void {
  for (const name of Object.keys(record)) if (!known.has(name)) throw unknownName(name, at, 'Cannot find field.');
}

function unknownName(name: string, at: string, why: string) {
  const place = at === '' ? '' : ` at '${at}'`;
  return refusedByGemini(`Invalid JSON payload received. Unknown name "${name}"${place}: ${why}`, at);
}

function partsOf(parts: unknown, at: string): Record<string, unknown>[] {
  if (!Array.isArray(parts)) return [];
  return (parts as unknown[]).map((part, index) => {
    if (!isRecord(part)) throw refusedByGemini(`Invalid value at '${at}.parts[${index}]'`);
    checkFields(part, PART_FIELDS, `${at}.parts[${index}]`);
    return part;
  });
}

interface FunctionCall {
  id: string | undefined;
  name: string;
  isSigned: boolean;
  /** The place of its content. */
  index: number;
}

/** Follows roles, calls and their responses through the contents. */
class ContentReader {
  readonly #exchange: Exchange & { model: string };
  readonly #messages: WireMessage[] = [];
  /** The first call of each batch since the latest prompt: Google checks that it is signed. */
  #firstCalls: FunctionCall[] = [];
  /** The calls of the content before. */
  #open: FunctionCall[] = [];

  constructor(exchange: Exchange & { model: string }) {
    this.#exchange = exchange;
  }

  read(value: unknown, index: number): void {
    const content = isRecord(value) ? value : {};
    const role = content['role'] ?? 'user';
    if (role !== 'user' && role !== 'model') throw refusedByGemini('Please use a valid role: user, model.');
    const parts = partsOf(content['parts'], `contents[${index}]`);
    if (parts.length === 0) {
      throw refusedByGemini(`* GenerateContentRequest.contents[${index}].parts: contents.parts must not be empty.\n`);
    }
    if (role === 'user') this.#readUser(parts, index);
    else this.#readModel(parts, index);
  }

  end(): WireMessage[] {
    if (this.#messages.at(-1)?.role !== 'user') {
      throw refusedByGemini('Please ensure that multiturn requests ends with a user role or a function response.');
    }
    const unsigned = this.#firstCalls.find(({ isSigned }) => !isSigned);
    if (unsigned === undefined) return this.#messages;
    throw refusedByGemini(
      `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${unsigned.name}\` , position ${unsigned.index + 1}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`,
    );
  }

  #readUser(parts: readonly Record<string, unknown>[], index: number): void {
    const blocks = parts.map((part, place) => userBlock(part, `contents[${index}].parts[${place}]`));
    const responses = blocks.filter(({ type }) => type === 'tool_result');
    if (responses.length > 0 && this.#open.length === 0) {
      throw refusedByGemini('Please ensure that function response turn comes immediately after a function call turn.');
    }
    const left = [...this.#open];
    for (const { tool_use_id: id, name } of responses) {
      const place = left.findIndex(
        (call) => call.name === name && (id === undefined || call.id === undefined || call.id === id),
      );
      if (place < 0) throw refusedByGemini(EQUAL_COUNT);
      left.splice(place, 1);
    }
    if (left.length > 0) throw refusedByGemini(EQUAL_COUNT);
    this.#open = [];
    if (blocks.length > responses.length) this.#firstCalls = [];
    this.#messages.push({ role: 'user', content: blocks });
  }

  #readModel(parts: readonly Record<string, unknown>[], index: number): void {
    const calls: FunctionCall[] = [];
    let text = '';
    const blocks = parts.flatMap((part, place): WireBlock[] => {
      const at = `contents[${index}].parts[${place}]`;
      const signature = typeof part['thoughtSignature'] === 'string' ? part['thoughtSignature'] : null;
      const { functionCall: call } = part;
      if (isRecord(call)) {
        const { id, name, args = {} } = call;
        if (typeof name !== 'string' || name === '') {
          throw refusedByGemini(`* GenerateContentRequest.${at}.function_call.name: Name cannot be empty.\n`);
        }
        if (signature !== null) checkCallSignature(this.#exchange, signature, name, args);
        calls.push({ id: typeof id === 'string' ? id : undefined, name, isSigned: signature !== null, index });
        return [{ type: 'tool_use', id: id ?? name, name, input: args }];
      }
      if (typeof part['text'] !== 'string') throw withoutData(at);
      if (part['thought'] === true) return [{ type: 'redacted_thinking', data: part['text'] }];
      text += part['text'];
      if (signature !== null) checkTextSignature(this.#exchange, signature, text);
      return part['text'] === '' ? [] : [{ type: 'text', text: part['text'] }];
    });
    if (this.#messages.at(-1)?.role !== 'user') {
      throw refusedByGemini(
        calls.length > 0
          ? 'Please ensure that function call turn comes immediately after a user turn or after a function response turn.'
          : 'Please ensure that multiturn requests alternate between user and model.',
      );
    }
    if (this.#open.length > 0) throw refusedByGemini(EQUAL_COUNT);
    this.#open = calls;
    this.#firstCalls.push(...calls.slice(0, 1));
    this.#messages.push({ role: 'assistant', content: blocks });
  }
}

/** A part of a user's content; a result has the name of its call, too. */
function userBlock(part: Record<string, unknown>, at: string): WireBlock {
  const { text, inlineData, fileData, functionResponse: response } = part;
  if (typeof text === 'string') return { type: 'text', text };
  if (isRecord(inlineData)) return mediaBlock(inlineData, `${at}.inline_data`);
  if (isRecord(fileData)) return { type: 'document', source: fileData };
  if (!isRecord(response)) throw withoutData(at);
  if (!isRecord(response['response'])) {
    throw refusedByGemini(
      `Invalid value at '${at}.function_response.response' (type.googleapis.com/google.protobuf.Struct), ${JSON.stringify(response['response'])}`,
    );
  }
  const media = partsOf(response['parts'], `${at}.function_response`).map((inner) => userBlock(inner, at));
  const content: WireBlock[] = [{ type: 'text', text: JSON.stringify(response['response']) }, ...media];
  return { type: 'tool_result', tool_use_id: response['id'], name: response['name'], content };
}

function mediaBlock({ mimeType, data }: Record<string, unknown>, at: string): WireBlock {
  if (typeof mimeType !== 'string' || !MIME_TYPE.test(mimeType)) {
    throw refusedByGemini(`Unsupported MIME type: ${String(mimeType)}`);
  }
  if (typeof data !== 'string' || !/^[\w+/=-]+$/.test(data)) {
    throw refusedByGemini(`Invalid value at '${at}.data' (TYPE_BYTES), Base64 decoding failed`, `${at}.data`);
  }
  return { type: mimeType.startsWith('image/') ? 'image' : 'document', source: data };
}

function withoutData(at: string) {
  return refusedByGemini(
    `* GenerateContentRequest.${at}.data: required oneof field 'data' must have one initialized field\n`,
  );
}
