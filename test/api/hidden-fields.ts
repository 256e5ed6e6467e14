/** Fields that only keys see: no answer and no event to a token for browsers has one. */
export const HIDDEN_FIELDS =
  /"(?:steps|spans|costUsd|costMicros|usage|tokens|model|tools|worker|epoch|harness|scores|tags|why)":/;
