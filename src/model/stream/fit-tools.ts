// Tools in the form that all APIs take. The Messages API takes property keys of a few characters
// only, and no API takes a root that is a union: such keys are renamed, and such a root becomes a
// field of an object. The form follows from the schema and the API alone, so a request can be
// written again. Calls have the keys of their tool everywhere else: they are renamed in requests,
// also those of the history, and in answers.
import { changeContent, changeEach, type ContentBlock, listToolUses } from '../../core/content.ts';
import { given } from '../../core/json.ts';
import {
  changeFields,
  changeSubschemas,
  findReferenced,
  isSchemaObject,
  pathOf,
  type JsonSchema,
} from '../../core/json-schema.ts';
import { cutHead } from '../../core/text.ts';
import type { ModelAnswer, ModelRequest, ToolSpec } from '../../core/model-request.ts';
import type { ProviderFamily } from '../../history/provider-family.ts';

const KEY = /^[a-zA-Z0-9_.-]{1,64}$/;
const KEY_CHARS_MAX = 64;
/** What a root may not have, beside `type: object`. */
const NOT_OF_ROOTS = ['anyOf', 'oneOf', 'allOf', 'not', 'if', 'enum', 'const', '$ref'];
/** The field that such a root becomes, if it has no property of this name. */
const ROOT_FIELD = 'input';

/** How the schema of a tool is changed. */
interface Form {
  schema: JsonSchema;
  /** The field that the root becomes; absent: it stays. */
  field?: string;
  /** The keys that are renamed, with their new names. */
  names: ReadonlyMap<string, string>;
  /** The other way round. */
  keys: ReadonlyMap<string, string>;
}

/**
 * The request with tools as the API takes them, and calls that fit them; the same object if all do.
 */
export function fitTools<Request extends Pick<ModelRequest, 'tools' | 'messages'>>(
  request: Request,
  family: ProviderFamily,
): Request {
  const forms = formsOf(request.tools);
  const tools = changeEach(request.tools, (tool) => fitTool(tool, forms.get(tool.name), family));
  if (forms.size === 0) return tools === request.tools ? request : { ...request, tools: [...tools] };
  const messages = request.messages.map((message) => changeContent(message, changeCall(forms, toSent)));
  return { ...request, tools: [...tools], messages };
}

/** The answer with the keys that the tools have. */
export function restoreCalls(answer: ModelAnswer, tools: readonly ToolSpec[]): ModelAnswer {
  const forms = formsOf(tools);
  return forms.size === 0 ? answer : changeContent(answer, changeCall(forms, toOwn));
}

function changeCall(forms: ReadonlyMap<string, Form>, change: (input: unknown, form: Form) => unknown) {
  return (block: ContentBlock): ContentBlock => {
    const form = block.type === 'tool_use' ? forms.get(block.name) : undefined;
    return form === undefined || block.type !== 'tool_use' ? block : { ...block, input: change(block.input, form) };
  };
}

/** The forms of those tools that are changed. */
function formsOf(tools: readonly ToolSpec[]): Map<string, Form> {
  const forms = new Map<string, Form>();
  for (const { name, input_schema: schema } of tools) {
    const form = formOf(schema);
    if (form !== null) forms.set(name, form);
  }
  return forms;
}

const knownForms = new WeakMap<JsonSchema, Form | null>();

/** Null: it stays as it is. Schemas never change, and each is searched once. */
function formOf(schema: JsonSchema): Form | null {
  let form = knownForms.get(schema);
  if (form === undefined) knownForms.set(schema, (form = findForm(schema)));
  return form;
}

function findForm(schema: JsonSchema): Form | null {
  const keys = new Set<string>();
  collectKeys(schema, keys);
  const isWrapped = NOT_OF_ROOTS.some((keyword) => keyword in schema);
  const names = renamed(keys);
  if (!isWrapped && names.size === 0) return null;
  const field = isWrapped ? freeName(ROOT_FIELD, keys) : undefined;
  return { schema, names, keys: new Map([...names].map(([key, name]) => [name, key])), ...given({ field }) };
}

function collectKeys(schema: JsonSchema, keys: Set<string>): void {
  const { properties } = schema;
  if (isSchemaObject(properties)) for (const key of Object.keys(properties)) keys.add(key);
  changeSubschemas(schema, (inner) => (collectKeys(inner, keys), inner));
}

function renamed(keys: ReadonlySet<string>): Map<string, string> {
  const taken = new Set(keys);
  const names = new Map<string, string>();
  for (const key of keys) {
    if (KEY.test(key)) continue;
    const name = freeName(cutHead(key.replaceAll(/[^a-zA-Z0-9_.-]/g, '_'), KEY_CHARS_MAX) || '_', taken);
    taken.add(name);
    names.set(key, name);
  }
  return names;
}

function freeName(wanted: string, taken: ReadonlySet<string>): string {
  let name = wanted;
  for (let n = 2; taken.has(name); n += 1) name = `${cutHead(wanted, KEY_CHARS_MAX - String(n).length - 1)}_${n}`;
  return name;
}

function fitTool(tool: ToolSpec, form: Form | undefined, family: ProviderFamily): ToolSpec {
  const { input_schema: schema } = tool;
  const fitting = form === undefined ? schema : wrapRoot(renameSchema(schema, form), form);
  const sent = family === 'google' ? withBareReferences(fitting) : fitting;
  // A root of type object stays one.
  return sent === schema ? tool : { ...tool, input_schema: sent as ToolSpec['input_schema'] };
}

function renameSchema(schema: JsonSchema, form: Form): JsonSchema {
  const inner = changeSubschemas(schema, (each) => renameSchema(each, form));
  const name = (key: unknown): unknown => form.names.get(key as string) ?? key;
  const byName = (fields: JsonSchema): JsonSchema =>
    Object.fromEntries(Object.entries(fields).map(([key, value]) => [name(key), value]));
  return changeFields(inner, (value, keyword) => {
    switch (keyword) {
      case 'properties':
      case 'dependentSchemas':
      case 'dependentRequired':
        return isSchemaObject(value) ? byName(value) : value;
      case 'required':
      case 'propertyOrdering':
        return Array.isArray(value) ? value.map(name) : value;
      case 'default':
      case 'const':
        return rename(value, [schema], { form, isSent: true });
      case 'enum':
      case 'examples':
        return Array.isArray(value) ? value.map((each) => rename(each, [schema], { form, isSent: true })) : value;
      case '$ref':
        return typeof value === 'string' ? renameReference(value, form) : value;
      default:
        return value;
    }
  });
}

function renameReference(reference: string, { names, field }: Form): string {
  if (!/^#(?:\/|$)/.test(reference)) return reference;
  const path = pathOf(reference).map((name, at, all) =>
    all[at - 1] === 'properties' ? (names.get(name) ?? name) : name,
  );
  const isHoisted = path[0] === '$defs' || path[0] === 'definitions';
  const whole = field === undefined || isHoisted ? path : ['properties', field, ...path];
  return ['#', ...whole.map((name) => name.replaceAll('~', '~0').replaceAll('/', '~1'))].join('/');
}

/** The definitions stay at the root, where references look for them. */
function wrapRoot(schema: JsonSchema, { field }: Form): JsonSchema {
  if (field === undefined) return schema;
  const { $defs, definitions, ...root } = schema;
  return { type: 'object', properties: { [field]: root }, required: [field], ...given({ $defs, definitions }) };
}

/** Google takes nothing else beside a reference. */
function withBareReferences(schema: JsonSchema): JsonSchema {
  const bare =
    schema['$ref'] === undefined
      ? schema
      : changeFields(schema, (value, keyword) =>
          ['$ref', 'description', 'default', '$defs', 'definitions'].includes(keyword) ? value : undefined,
        );
  return changeSubschemas(bare, withBareReferences);
}

function toSent(input: unknown, form: Form): unknown {
  const sent = rename(input, [form.schema], { form, isSent: true });
  return form.field === undefined ? sent : { [form.field]: sent };
}

function toOwn(input: unknown, form: Form): unknown {
  const [[field, inner] = [], ...others] = Object.entries(input as object);
  // A model may leave the field out.
  const own = field === form.field && others.length === 0 && isSchemaObject(inner) ? inner : input;
  return rename(own, [form.schema], { form, isSent: false });
}

interface Renaming {
  form: Form;
  /** True: keys get their new names. False: they get their own ones back. */
  isSent: boolean;
}

/**
 * The value with other keys where one of the schemas that it stands under names them; fields that
 * no schema names stay as they are.
 */
function rename(value: unknown, under: readonly unknown[], to: Renaming): unknown {
  const schemas = allOf(under, to.form.schema);
  if (Array.isArray(value)) {
    return value.map((item, at) =>
      rename(
        item,
        schemas.flatMap((schema) => schemasOfItem(schema, at)),
        to,
      ),
    );
  }
  if (!isSchemaObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([written, inner]) => {
      const key = to.isSent ? written : (to.form.keys.get(written) ?? written);
      const isNamed = schemas.some(({ properties }) => isSchemaObject(properties) && Object.hasOwn(properties, key));
      const own = isNamed ? key : written;
      const name = isNamed && to.isSent ? (to.form.names.get(key) ?? key) : own;
      return [
        name,
        rename(
          inner,
          schemas.flatMap((schema) => schemasOfField(schema, own)),
          to,
        ),
      ];
    }),
  );
}

function schemasOfItem({ prefixItems, items }: JsonSchema, at: number): unknown[] {
  return [(Array.isArray(prefixItems) ? (prefixItems as unknown[])[at] : undefined) ?? items];
}

function schemasOfField({ properties, additionalProperties }: JsonSchema, key: string): unknown[] {
  return [isSchemaObject(properties) && Object.hasOwn(properties, key) ? properties[key] : additionalProperties];
}

/** The schemas, and all that say something of the same value. */
function allOf(schemas: readonly unknown[], root: JsonSchema): JsonSchema[] {
  const found = new Set<JsonSchema>();
  const left = [...schemas];
  for (let schema = left.pop(); schema !== undefined || left.length > 0; schema = left.pop()) {
    if (!isSchemaObject(schema) || found.has(schema)) continue;
    found.add(schema);
    const { anyOf, oneOf, allOf: all, then, else: otherwise, dependentSchemas, $ref } = schema;
    const more = [anyOf, oneOf, all].flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []));
    const dependent = isSchemaObject(dependentSchemas) ? Object.values(dependentSchemas) : [];
    left.push(...more, ...dependent, then, otherwise, findReferenced(root, $ref));
  }
  return [...found];
}

// The form of an answer where the provider has no mode of its own for it: one more tool, whose
// arguments are the answer. A call of it becomes the text of the answer before anything else sees
// it, so a turn ends in the same way on every provider.

const OUTPUT_TOOL = 'structured_output';

/** The name of the tool; an agent or a client may have one of this name. */
function outputTool(tools: readonly { name: string }[]): string {
  let free = OUTPUT_TOOL;
  while (tools.some(({ name }) => name === free)) free += '_';
  return free;
}

/**
 * The request with the tool. It is the only one that may be called where the others may not, and
 * one must be called where the model takes that: one that thinks refuses to be forced, and some
 * think without being asked to.
 */
export function withOutputTool<Request extends ModelRequest>(request: Request): Request {
  const { responseFormat, ...rest } = request;
  if (responseFormat === undefined) return request;
  const { thinking, effort, sampling = {}, tools, traits } = request;
  const { tool_choice: choice, ...others } = sampling;
  const isFree = tools.length > 0 && choice?.type !== 'none';
  const forced = isFree ? ({ type: 'any' } as const) : ({ type: 'tool', name: outputTool(tools) } as const);
  const mayForce =
    traits?.isUnforced !== true && (thinking === undefined ? effort === undefined : thinking.type === 'disabled');
  const chosen = choice?.type === 'tool' ? choice : mayForce ? forced : undefined;
  return {
    ...rest,
    tools: [
      ...(choice?.type === 'none' && chosen === undefined ? [] : tools),
      toTool(outputTool(tools), responseFormat),
    ],
    sampling: { ...others, ...(chosen === undefined ? {} : { tool_choice: chosen }) },
  } as Request;
}

/** True when the request that was written forces a call, which its caller has not asked for. */
export function isForced(asked: ModelRequest, choice: unknown): boolean {
  return asked.responseFormat !== undefined && choice !== undefined && choice !== asked.sampling?.tool_choice;
}

function toTool(
  name: string,
  { schema, name: about = 'answer' }: NonNullable<ModelRequest['responseFormat']>,
): ToolSpec {
  return {
    name,
    description: `Give your final answer (${about}) with this tool, as its arguments, and not as text. Call it once, when you need no other tool.`,
    // A schema of type object: `findSchemaFault` has checked it.
    input_schema: schema as ToolSpec['input_schema'],
  };
}

/** The tools that an answer may call. */
export function answerTools({ tools, responseFormat }: ModelRequest): readonly { name: string }[] {
  return responseFormat === undefined ? tools : [...tools, { name: outputTool(tools) }];
}

/**
 * The answer with the arguments of the tool as its text. With calls of other tools it is not the
 * last one: they are made, and it is asked again.
 */
export function takeOutput(answer: ModelAnswer, { responseFormat, tools }: ModelRequest): ModelAnswer {
  const own = outputTool(tools);
  const output = listToolUses(answer.content).find(({ name }) => name === own);
  if (responseFormat === undefined || output === undefined) return answer;
  const rest = answer.content.filter((block) => block.type !== 'tool_use' || block.name !== own);
  if (rest.some(({ type }) => type === 'tool_use')) return { ...answer, content: rest };
  const text = withoutNuls(answer.malformedInputs?.[output.id] ?? JSON.stringify(output.input));
  const { malformedInputs: _read, ...others } = answer;
  return {
    ...others,
    stopReason: answer.stopReason === 'tool_use' ? 'end_turn' : answer.stopReason,
    content: [...rest.filter(({ type }) => type !== 'text'), { type: 'text', text }],
  };
}

/**
 * JSON without escaped NULs, which no database and no client of one takes; a backslash before
 * another one escapes that.
 */
function withoutNuls(json: string): string {
  return json.replace(/\\(?:\\|u0000)/g, (found) => (found === '\\u0000' ? '' : found));
}
