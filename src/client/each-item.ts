// The items of a list, across its pages.
import type { CallOptions } from './call-options.ts';

interface Page {
  items: unknown[];
  nextCursor: string | null;
}

type ReadPage = (input: { cursor?: string | undefined }, options?: CallOptions) => Promise<Page>;

/** Each item; a page is read when the one before is used up. Throws when the service names a page as its own next one. */
export async function* eachItem(
  read: ReadPage,
  input: { cursor?: string | undefined },
  options: CallOptions = {},
): AsyncGenerator<unknown, void, undefined> {
  let { cursor } = input;
  for (;;) {
    const { items, nextCursor } = await read({ ...input, cursor }, options);
    yield* items;
    if (nextCursor === null) return;
    if (nextCursor === cursor)
      throw new Error(`the list does not end: the page ${cursor} names itself as the next one`);
    cursor = nextCursor;
  }
}
