// The command line's way to the service: the typed client, one key, every failure turned into an error with an exit code and a fix. Nothing is
// sent again by itself: a person at a terminal wants to know, and commands that wait have their own way to continue.
import { ConfigError } from '../config/config-error.ts';
import { loadClientSettings, type ClientSettings } from '../config/client-settings.ts';
import { parseKeepingIntegers } from '../core/parse-exactly.ts';
import {
  createClient,
  HoldfastError,
  type CallOptions,
  type HoldfastClient,
  type OperationFunctions,
} from '../client/create-client.ts';
import { OPERATIONS, STREAMS } from '../client/generated/places.ts';
import { createTransport } from '../client/transport.ts';
import { isIdEnd } from '../core/ids.ts';
import { CliError, EXIT, usageError } from './cli-error.ts';
import { idOfEnd, kindOfPlace } from './id-of-end.ts';
import { explainConfigError } from './explain-config-error.ts';
import { explainApiError } from './explain-api-error.ts';

/** What an operation answers. */
export type AnswerOf<Id extends keyof OperationFunctions> = Awaited<ReturnType<OperationFunctions[Id]>>;

/** The typed client; its functions throw `CliError` in place of `HoldfastError`. */
export interface ApiClient extends HoldfastClient {
  readonly settings: ClientSettings;
  /**
   * Calls an operation with fields as a person typed them: those of its path, its query or its body, and an idempotency key. The service checks
   * their values, and its refusal names the allowed ones.
   */
  call<Id extends keyof OperationFunctions>(id: Id, typed: object, options?: CallOptions): Promise<AnswerOf<Id>>;
  /** The answer to a request by its path, for callers that know it as a text. */
  request<Answer>(method: string, path: string, options?: PathOptions): Promise<{ body: Answer }>;
}

interface PathOptions {
  /** Sent as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** The flags of every client command. */
export interface ClientFlags {
  url?: string | undefined;
  apiKey?: string | undefined;
}

/** A client of the service that flags, environment and data directory point to. */
export function connectApi(flags: ClientFlags): ApiClient {
  const settings = settingsOrRefuse(flags);
  if (!URL.canParse(settings.url) || !/^https?:$/.test(new URL(settings.url).protocol)) {
    throw usageError(
      `${JSON.stringify(settings.url)} (from ${settings.urlSource}) is not a URL of a service`,
      'pass one such as --url http://127.0.0.1:7420',
      'bad_url',
    );
  }
  // What is printed with --json has the integers of the answer as they were written.
  const service = { url: settings.url, key: settings.apiKey, retriesMax: 0, parse: parseKeepingIntegers };
  const explain = (error: unknown): unknown =>
    error instanceof HoldfastError ? explainApiError(error, settings) : error;
  const transport = createTransport(service);
  const client = explained(createClient(service), explain);
  return {
    ...client,
    settings,
    call(id, typed, options = {}) {
      const { idempotencyKey, ...fields } = typed as Record<string, unknown> & CallOptions;
      // One signature for all of them: the service checks the fields.
      const operation = client[id] as (input: object, options: CallOptions) => Promise<never>;
      return operation(requestOf(OPERATIONS[id], fields), { idempotencyKey, ...options });
    },
    async request<Answer>(method: string, path: string, { body, ...options }: PathOptions = {}) {
      try {
        // The service describes its answers in `/openapi.json`; the caller names the type of this one.
        return { body: (await transport.call({ method, path, answer: 'json', body }, options)) as Answer };
      } catch (error) {
        throw explain(error);
      }
    },
  };
}

/** The fields as the typed client takes them: those that the path does not name are the body of a request that has one. */
function requestOf(place: string, fields: Record<string, unknown>): object {
  if (/^(?:GET|DELETE) /.test(place)) return fields;
  const names = Object.keys(fields);
  const inBody = names.filter((name) => !place.includes(`{${name}}`));
  const pick = (picked: readonly string[]) => Object.fromEntries(picked.map((name) => [name, fields[name]]));
  return {
    ...pick(names.filter((name) => !inBody.includes(name))),
    ...(inBody.length === 0 ? {} : { body: pick(inBody) }),
  };
}

function settingsOrRefuse(flags: ClientFlags): ClientSettings {
  try {
    return loadClientSettings(flags);
  } catch (error) {
    throw error instanceof ConfigError ? explainConfigError(error, EXIT.configuration) : error;
  }
}

/** The client with every error passed through `explain`, and which takes the end of an id for the id. */
function explained(client: HoldfastClient, explain: (error: unknown) => unknown): HoldfastClient {
  const functions = Object.entries(client as unknown as Record<string, (...values: unknown[]) => unknown>).map(
    ([name, call]) => [
      name,
      (...values: unknown[]) => {
        const end = endIn(name, values);
        if (end === null) return explainedResult(called(call, values), explain);
        const whole = idOfEnd(client, end.text, end.kind).then((id) =>
          values.map((value) => (value === end.input ? { ...end.input, [end.field]: id } : value)),
        );
        const isIterated = !Object.hasOwn(OPERATIONS, name);
        if (!isIterated)
          return explainedResult(
            whole.then((those) => called(call, those)),
            explain,
          );
        return explainedEach(iterated(whole, call), explain);
      },
    ],
  );
  // The same functions with the same answers: promises, and iterators.
  return Object.fromEntries(functions) as unknown as HoldfastClient;
}

function explainedResult(result: unknown, explain: (error: unknown) => unknown): unknown {
  return result instanceof Promise
    ? result.catch((error: unknown) => {
        throw explain(error);
      })
    : explainedEach(result as AsyncIterable<unknown>, explain);
}

async function* iterated(values: Promise<unknown[]>, call: (...values: unknown[]) => unknown) {
  yield* called(call, await values) as AsyncIterable<unknown>;
}

/** The functions of the client that are no operations themselves, and whose path has an id. */
const ITERATORS: Readonly<Record<string, string>> = {
  eachResult: OPERATIONS.getBatchResults,
  turnEvents: STREAMS.streamTurnEvents,
};

/** The end of an id that a call names in place of the id; null: it names none. */
function endIn(name: string, values: unknown[]) {
  const operation = name === 'each' ? String(values[0]) : name;
  const place = (OPERATIONS as Readonly<Record<string, string>>)[operation] ?? ITERATORS[operation] ?? '';
  const kind = kindOfPlace(place);
  const input = values[name === 'each' ? 1 : 0] as Record<string, unknown> | undefined;
  const field = place.includes('{runId}') ? 'runId' : 'id';
  const text = input?.[field];
  return kind === undefined || input === undefined || typeof text !== 'string' || !isIdEnd(text)
    ? null
    : { kind, input, field, text };
}

/** A name that no path can have, such as an empty one, is refused before anything is sent. */
function called(call: (...values: unknown[]) => unknown, values: unknown[]): unknown {
  try {
    return call(...values);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const fix = 'pass an id, a key or a name that is not empty';
    throw new CliError({ code: 'usage', exitCode: EXIT.usage, message: error.message, fix, cause: error });
  }
}

async function* explainedEach(items: AsyncIterable<unknown>, explain: (error: unknown) => unknown) {
  try {
    yield* items;
  } catch (error) {
    throw explain(error);
  }
}
