// The Idempotency-Key of a request: stored by the same statement as the effect of the request, so
// that a crash leaves both or neither (G2). A statement ends in `inserted_keys`, which inserts the
// key with what the effect made. When another request has stored the key first, the insert violates
// the primary key, PostgreSQL undoes the whole statement, and the caller reads what the first
// request made. A message is stored with its key in the same way (see `accept-messages.ts`).
import { idempotencyKeys } from '../rows/idempotency-keys.ts';
import { and, eq, isNull, query } from './drizzle.ts';
import { type SqlColumns, cte, type Cte } from './statement.ts';
import type { ViewDatabase } from './page.ts';
import type { Transaction } from './transaction.ts';

/** Whose key it is and for what request; `sha256` is that of the canonical body. */
export interface KeyedRequest {
  scope: string;
  key: string;
  sha256: string;
}

/** An answer as it is stored with its key. */
export interface StoredAnswer {
  status: number;
  response: unknown;
}

/**
 * The state of a key. `new`: it was not used. `done`: its effect is committed with this result, and
 * no answer is stored yet. `answered`: the first answer. `mismatch`: the key was used with another
 * body.
 */
export type KeyState =
  | { kind: 'new' }
  | { kind: 'done'; result: unknown }
  | ({ kind: 'answered' } & StoredAnswer)
  | { kind: 'mismatch' };

const UNIQUE_VIOLATION = '23505';
const KEYS_PRIMARY_KEY = 'idempotency_keys_pkey';

/**
 * A CTE `inserted_keys` that stores the key of a request, whose fields are values of the statement,
 * if there is one. `results` is a select of one json value from the CTE of the effect: no row means
 * that nothing was done, and the key stays unused. `resource` is SQL of the message that the key
 * names, if it may be one.
 */
export function keyedSql(results: string, resource = 'null::uuid'): string {
  return `inserted_keys as (
  insert into holdfast.idempotency_keys (scope, key, request_sha256, result, resource_id)
  select $scope::text, $key::text, $sha256::text, made.result, ${resource} from (${results}) as made (result)
  where $scope::text is not null
)`;
}

/** Stores keys in a statement of CTEs; `pick` finds the key in its input. */
export function insertedKeys<Input>(
  results: string,
  pick: (input: Input) => KeyedRequest | null | undefined,
  resource?: string,
): Cte<Input> {
  return cte(keyedSql(results, resource), {
    binds: {
      scope: (input) => pick(input)?.scope ?? null,
      key: (input) => pick(input)?.key ?? null,
      sha256: (input) => pick(input)?.sha256 ?? null,
    },
  });
}

/** The key of each row that a statement is given. */
export const KEY_COLUMNS: SqlColumns<{ idempotency: KeyedRequest | null }> = {
  scope: ['text', ({ idempotency }) => idempotency?.scope ?? null],
  key: ['text', ({ idempotency }) => idempotency?.key ?? null],
  sha256: ['text', ({ idempotency }) => idempotency?.sha256 ?? null],
};

/** True for the error of a statement that was undone because another request had stored its key. */
export function isKeyTaken(error: unknown): boolean {
  return isUniqueViolation(error, KEYS_PRIMARY_KEY);
}

/**
 * True for the error of a statement that was undone because a row with equal values exists;
 * `constraint` is the primary key or unique index, absent: any.
 */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  const { code, constraint: violated } = (error ?? {}) as { code?: unknown; constraint?: unknown };
  return code === UNIQUE_VIOLATION && (constraint === undefined || violated === constraint);
}

/**
 * Stores the key of a request with what was made for it. Rejects as `isKeyTaken` says when another
 * request was first.
 */
export async function storeKey(
  { rows }: Pick<Transaction, 'rows'>,
  request: KeyedRequest | null,
  result: object,
): Promise<void> {
  if (request === null) return;
  const { scope, key, sha256 } = request;
  await rows.insert(idempotencyKeys).values({ scope, key, requestSha256: sha256, result });
}

const ofRequest = ({ scope, key }: KeyedRequest) => and(eq(idempotencyKeys.scope, scope), eq(idempotencyKeys.key, key));

/** Reads a key. */
export async function readKey(db: ViewDatabase, request: KeyedRequest): Promise<KeyState> {
  const [row] = await query(db, (of) => of.select().from(idempotencyKeys).where(ofRequest(request)));
  if (row === undefined) return { kind: 'new' };
  if (row.requestSha256 !== request.sha256) return { kind: 'mismatch' };
  if (row.status === null) return { kind: 'done', result: row.result };
  return { kind: 'answered', status: row.status, response: row.response };
}

/**
 * Stores the answer of a key forever and returns the stored one: the first that was stored stays.
 */
export async function keepAnswer(db: ViewDatabase, request: KeyedRequest, answer: StoredAnswer): Promise<StoredAnswer> {
  const isOpen = and(ofRequest(request), isNull(idempotencyKeys.status));
  const { rowCount } = await query(db, (of) =>
    of
      .update(idempotencyKeys)
      .set({ ...answer })
      .where(isOpen),
  );
  if (rowCount === 1) return answer;
  const known = await readKey(db, request);
  return known.kind === 'answered' ? known : answer;
}
