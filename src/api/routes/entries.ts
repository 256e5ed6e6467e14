// The entries of a session's transcript, and the text of one part of an entry.
import { entry } from '../../contract/transcripts.ts';
import { z } from 'zod';
import { cutPiece } from '../../core/text.ts';
import { cutBlock, imagesIn, readPartText } from '../../core/entry.ts';
import { findTurn } from '../../kernel/views/turns.ts';
import { findSession } from '../../kernel/views/sessions.ts';
import { listEntries, readBlocks, type StoredEntry } from '../../kernel/views/transcript.ts';
import { requireFound, notFound } from '../problem.ts';
import { defineRoute, defineList, type Route } from '../route.ts';
import { countText, offsetText } from '../../contract/queries.ts';
import { item } from '../belongs.ts';

const ENTRIES_DEFAULT = 100;

const partChars = countText
  .optional()
  .describe(
    'Longer parts are cut after this many characters. They have `omittedChars` and `href`, the path of the whole text. The arguments of a cut tool call are the beginning of their JSON text',
  );

const getTranscript = defineList({
  operationId: 'listEntries',
  belongs: 'session',
  path: '/v1/sessions/{key}/transcript',
  summary: 'Active entries, oldest first (order=desc: newest first); with state=all, all entries',
  filter: {
    state: z
      .enum(['active', 'all'])
      .optional()
      .describe('`all`: also entries that the model no longer sees; absent: active'),
    order: z.enum(['asc', 'desc']).optional().describe('`asc`: oldest first; `desc`: newest first; absent: asc'),
    /** The number of an earlier transcript, from before a reset; absent: the current one. */
    transcript: countText.optional().describe('The number of an earlier transcript; absent: the current one'),
    partChars,
  },
  shows: { description: 'A page of entries', item: entry },
  pages: { isKey: isSeq, itemsDefault: ENTRIES_DEFAULT },
  async list({ params, query }, page, { context }) {
    const found = requireFound(await findSession(context.views, params.key), `session ${params.key}`);
    const { partChars } = query;
    return listEntries(
      context.views,
      {
        sessionId: found.id,
        transcriptNo: query.transcript ?? found.transcriptNo,
        isOnlyActive: query.state !== 'all',
        isNewestFirst: query.order === 'desc',
        cut: partChars === undefined ? null : (one) => cutEntry(one, partChars, params.key),
      },
      page,
    );
  },
});

function isSeq(text: string): boolean {
  return /^[1-9]\d{0,14}$/.test(text);
}

function cutEntry(whole: StoredEntry, charsMax: number, key: string): StoredEntry {
  const place = `/v1/sessions/${encodeURIComponent(key)}/entries/${whole.id}/parts`;
  const content = whole.content.map((block, index) => cutBlock(block, charsMax, `${place}/${index + 1}`));
  // A block that was cut keeps its type.
  return { ...whole, content: content as StoredEntry['content'] };
}

const getPart = defineRoute({
  operationId: 'getEntryPart',
  belongs: 'session',
  method: 'GET',
  path: '/v1/sessions/{key}/entries/{id}/parts/{n}',
  summary: 'The text of one part of an entry, or a range of it',
  query: z.strictObject({
    image: countText
      .optional()
      .describe(
        'The number of an image in the result of a tool, counted from 1: its bytes in base64; absent: the text',
      ),
    offset: offsetText.optional().describe('The position of the first character, counted from 0'),
    length: countText.optional().describe('The number of characters; absent: all until the end'),
  }),
  answers: { 200: { description: 'The text', contentType: 'text/plain' } },
  async handle({ params: { key, id, n }, query: { image, offset = 0, length } }, { context }) {
    const session = await findSession(context.views, key);
    const blocks = session === null ? null : await readBlocks(context.views, session.id, id);
    const part = blocks?.[n - 1];
    const block = part === undefined || image === undefined ? part : imagesIn(part)[image - 1];
    if (block === undefined)
      throw notFound(
        `${image === undefined ? '' : `image ${image} in `}part ${n} of the entry ${id} of session ${key}`,
      );
    const text = readPartText(block);
    return {
      status: 200,
      body: cutPiece(text, offset, length ?? text.length),
      headers: { 'content-type': 'text/plain; charset=utf-8', 'x-holdfast-total-chars': String(text.length) },
    };
  },
});

const getTurnEntries = defineList({
  operationId: 'listTurnEntries',
  belongs: item('turn'),
  path: '/v1/turns/{id}/entries',
  summary: 'The entries of a turn, oldest first, also those that the model no longer sees',
  filter: { partChars },
  shows: { description: 'A page of entries', item: entry },
  pages: { isKey: isSeq, itemsDefault: ENTRIES_DEFAULT },
  async list({ params: { id }, query: { partChars: charsMax } }, page, { context }) {
    const found = requireFound(await findTurn(context.views, id), `turn ${id}`);
    if (found.transcriptNo === null) return { items: [], next: null };
    return listEntries(
      context.views,
      {
        sessionId: found.sessionId,
        transcriptNo: found.transcriptNo,
        turnId: id,
        isOnlyActive: false,
        isNewestFirst: false,
        cut: charsMax === undefined ? null : (one) => cutEntry(one, charsMax, found.sessionKey),
      },
      { ...page, after: page.after ?? String(found.promptSeq - 1) },
    );
  },
});

export const entryRoutes: Route[] = [getTranscript, getPart, getTurnEntries];
