// The functions of the typed client, derived from the OpenAPI document of the service
// (`generated/`, made by `npm run build`): what each takes and answers. Nothing of it remains at
// run time, and it imports nothing of the service.
import type { CallOptions, LineBody } from './call-options.ts';
import type { components, operations } from './generated/openapi.ts';
import type { LineOperation, OPERATIONS, STREAMS } from './generated/places.ts';

/** The things that requests and answers are made of, by their names in the OpenAPI document. */
export type Schemas = components['schemas'];

/**
 * One function for each operation, named as in the OpenAPI document. Each throws `HoldfastError`.
 */
export type OperationFunctions = {
  [Id in keyof Pick<operations, keyof typeof OPERATIONS>]: object extends Fields<Id>
    ? (input?: Input<Id>, options?: CallOptions) => Promise<Answer<operations[Id]>>
    : (input: Input<Id>, options?: CallOptions) => Promise<Answer<operations[Id]>>;
};

/** What the items of each list are. */
export type ListItems = {
  [Id in keyof OperationFunctions as Query<operations[Id]> extends { cursor?: unknown } ? Id : never]: Item<
    Answer<operations[Id]>
  >;
};

/** What the streams of events may be asked for. */
export type StreamInputs = { [Id in keyof typeof STREAMS]: Input<Id> };

/** Path parameters and query by their names, and the body. */
type Input<Id extends keyof operations> = Flat<Fields<Id>>;
type Fields<Id extends keyof operations> = Path<operations[Id]> & Query<operations[Id]> & Body<Id>;

type Path<Operation> = Operation extends { parameters: { path: infer Values } } ? Values : unknown;

/**
 * An absent value may be written as `undefined`: the client leaves it out. It writes values as
 * text, and joins those of a list.
 */
type Query<Operation> = Operation extends { parameters: { query?: infer Values } }
  ? { [Name in keyof Values]: Written<Values[Name]> | undefined }
  : unknown;

type Written<Value> = Value extends 'true' | 'false'
  ? boolean
  : Value extends readonly (infer Item)[]
    ? readonly Item[]
    : Value;

type Body<Id extends keyof operations> = operations[Id] extends { requestBody: Json<infer Sent> }
  ? { body: Id extends LineOperation ? Sent | LineBody : Sent }
  : operations[Id] extends { requestBody?: Json<infer Sent> }
    ? unknown extends Sent
      ? unknown
      : { body?: Id extends LineOperation ? Sent | LineBody : Sent }
    : unknown;

interface Json<Value> {
  content: { 'application/json': Value };
}

/** The result of a call: the bodies of its 2xx answers. */
type Answer<Operation> = Operation extends { responses: infer Answers }
  ? {
      [Status in keyof Answers]: Status extends 204
        ? undefined
        : Status extends 200 | 201 | 202
          ? BodyOf<Answers[Status]>
          : never;
    }[keyof Answers]
  : never;

/** An answer without a described content, such as the OpenAPI document itself, is unknown. */
type BodyOf<Response> = Response extends { content: infer Content }
  ? [Content] extends [never]
    ? unknown
    : Content extends { 'application/x-ndjson': string }
      ? ReadableStream<Uint8Array>
      : Content[keyof Content]
  : never;

type Item<Page> = Page extends { items: (infer One)[] } ? One : never;

/** One object type in place of an intersection, as people want to read it. */
type Flat<Parts> = keyof Parts extends never ? Record<string, never> : { [Name in keyof Parts]: Parts[Name] };
