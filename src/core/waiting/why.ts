// Why something waits, as docs/api.md describes it.

/** Why a message, a turn or an item of a batch waits. Times are ISO 8601. */
export interface Why {
  code: string;
  /** For people. */
  text: string;
  since: string;
  /** When it is checked again at the latest; null: not known. */
  until: string | null;
  /** The object for which it waits: the provider of a model, a turn, a worker, a lane; null: it has no name. */
  by: string | null;
}

/** The number of waiting messages at which a count stops. */
export const WAITING_COUNT_MAX = 10_000;
