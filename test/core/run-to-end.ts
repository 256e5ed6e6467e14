/** The result of work of the core that yields, without a pause. */
export function runToEnd<Result>(work: Generator<undefined, Result>): Result {
  for (;;) {
    const piece = work.next();
    if (piece.done === true) return piece.value;
  }
}
