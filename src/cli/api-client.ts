// The command line's way to the service: the typed client, one key, every failure turned into an
// error with an exit code and a fix. Nothing is sent again by itself: a person at a terminal wants
// to know, and commands that wait have their own way to continue.
import { ConfigError } from '../config/config-error.ts';
import { loadClientSettings, type ClientSettings } from '../config/process-environment.ts';
import { parseKeepingIntegers } from '../core/json.ts';
import {
  createClient,
  HoldfastError,
  type CallOptions,
  type HoldfastClient,
  type OperationFunctions,
} from '../client/create-client.ts';
import { OPERATIONS, STREAMS } from '../client/generated/places.ts';
import { isIdEnd } from '../core/ids.ts';
import { EXIT, explainConfigError, usageError } from './cli-error.ts';
import { idOfEnd, kindOfPlace } from './id-of-end.ts';
import { explainApiError } from './explain-api-error.ts';

export type AnswerOf<Id extends keyof OperationFunctions> = Awaited<ReturnType<OperationFunctions[Id]>>;

/** The typed client; its functions throw `CliError` in place of `HoldfastError`. */
export interface ApiClient extends HoldfastClient {
  readonly settings: ClientSettings;
  /**
   * Calls an operation with fields as a person typed them: those of its path, its query or its
   * body, and an idempotency key. The service checks their values, and its refusal names the
   * allowed ones.
   */
  call<Id extends keyof OperationFunctions>(id: Id, typed: object, options?: CallOptions): Promise<AnswerOf<Id>>;
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
  const explain = (error: unknown, place: string): unknown => {
    if (error instanceof HoldfastError) return explainApiError(error, settings);
    // A name that no path can have, such as an empty one, is refused before anything is sent.
    return error instanceof TypeError && error.message.startsWith(`${place}:`)
      ? usageError(error.message, 'pass an id, a key or a name that is not empty')
      : error;
  };
  const client = explained(createClient(service), explain);
  return {
    ...client,
    settings,
    call(id, typed, options = {}) {
      const { idempotencyKey, ...fields } = typed as Record<string, unknown> & CallOptions;
      // One signature for all of them: the service checks the fields.
      const operation = client[id] as (input: object, options: CallOptions) => Promise<never>;
      return operation(buildRequest(OPERATIONS[id], fields), { idempotencyKey, ...options });
    },
  };
}

/**
 * The fields as the typed client takes them: those that the path does not name are the body of a
 * request that has one.
 */
function buildRequest(place: string, fields: Record<string, unknown>): object {
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

type Explain = (error: unknown, place: string) => unknown;

/**
 * The client with every error passed through `explain`, and which takes the end of an id for the
 * id.
 */
function explained(client: HoldfastClient, explain: Explain): HoldfastClient {
  // The functions have the names and answers of the operations.
  const functions = Object.fromEntries(
    Object.entries(OPERATIONS).map(([id, place]) => [
      id,
      async (input: object = {}, options: CallOptions = {}) => {
        try {
          const call = client[id as keyof typeof OPERATIONS] as (input: object, options: CallOptions) => unknown;
          return await call(await withWholeId(client, place, input), options);
        } catch (error) {
          throw explain(error, place);
        }
      },
    ]),
  ) as unknown as OperationFunctions;

  async function* iterate<Input extends object, Item>(
    place: string,
    input: Input,
    open: (input: Input) => AsyncIterable<Item>,
  ): AsyncGenerator<Item, void, undefined> {
    try {
      yield* open(await withWholeId(client, place, input));
    } catch (error) {
      throw explain(error, place);
    }
  }

  return {
    ...functions,
    each: (list, input, options) =>
      iterate(OPERATIONS[list], { ...input }, (whole) => client.each(list, whole as typeof input, options)),
    eachResult: (input, options) =>
      iterate(OPERATIONS.getBatchResults, input, (whole) => client.eachResult(whole, options)),
    events: (input = {}) => iterate(STREAMS.streamEvents, input, (whole) => client.events(whole)),
    turnEvents: (input) => iterate(STREAMS.streamTurnEvents, input, (whole) => client.turnEvents(whole)),
  };
}

/** The input with the whole id for the end of one. */
async function withWholeId<Input extends object>(client: HoldfastClient, place: string, input: Input): Promise<Input> {
  const kind = kindOfPlace(place);
  const field = place.includes('{runId}') ? 'runId' : 'id';
  const end: unknown = (input as Record<string, unknown>)[field];
  if (kind === undefined || typeof end !== 'string' || !isIdEnd(end)) return input;
  return { ...input, [field]: await idOfEnd(client, end, kind) };
}
