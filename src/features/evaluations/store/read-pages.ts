// Long lists of rows, read page by page.

/** The pages of a list; `read` reads the rows after one. With a signal, it ends early when that aborts. */
export async function* readPages<Key, Row extends Key>(
  first: Key,
  read: (after: Key) => Promise<Row[]>,
  signal?: AbortSignal,
): AsyncGenerator<Row[]> {
  let after: Key | undefined = first;
  while (after !== undefined && signal?.aborted !== true) {
    const page: Row[] = await read(after);
    yield page;
    after = page.at(-1);
  }
}
