// Why a running turn is stopped without a person's own reason. They are written into the session's row by the message that
// stops it, read back by its worker, and shown as the turn's reason.

/** A message of mode `interrupt` came: the turn ends as it is, and the message is next. */
export const INTERRUPTED = 'interrupted by a newer message';

/** A message of mode `rollback` arrived: the turn ends, and its entries are hidden. */
export const ROLLED_BACK = 'rolled back by a newer message';
