// The figures that dashboards ask for again and again, and what an operator decides about a
// problem. All requests of a second share one read, and an answer that has not changed is 304.
import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Answer } from '../../api/answer.ts';
import { isOfPage } from '../../api/key-ring.ts';
import { defineRoute, defineEffect, defineRead, type NoFields, type Route, type Api } from '../../api/route.ts';
import { SHOWN_MS_MAX, type ApiServices } from '../../api/services.ts';
import { shareFor, shareNext } from '../../coalesce.ts';
import {
  attention,
  overview,
  acknowledgeRequest,
  attentionEntry,
  snoozeRequest,
  stats,
  type AttentionEntry,
} from './contract.ts';
import { conflict, notFound, type Problem } from '../../api/problem.ts';
import { readDatabaseTime } from '../../database/database-time.ts';
import { isMoreThanShown } from './rules/attention.ts';
import { markAttention, readFigures, readTroubles, withMarks } from './read-overview.ts';
import { viewStats } from './views/stats.ts';

const TAG_CHARS = 22;
const UNCHANGED = { description: 'It is as If-None-Match says' };
const CONDITION = { 'If-None-Match': 'the ETag of an earlier answer' };

type Reads = ReturnType<typeof createReads>;
const READS = new WeakMap<ApiServices, Reads>();

/** The reads that all requests of an API share. */
function shareReads(api: Api): Reads {
  const reads = READS.get(api.services) ?? createReads(api);
  READS.set(api.services, reads);
  return reads;
}

function createReads({ context, services }: Api) {
  const { reads } = context;
  const monotonic = (): number => context.clock.monotonicMs();
  const troubles = shareFor(SHOWN_MS_MAX, () => readTroubles(context, services.readReadiness()), monotonic);
  return {
    readFigures: shareFor(SHOWN_MS_MAX, () => readFigures(context), monotonic),
    /** With what operators have decided until now. */
    readAttention: async () => withMarks(context, await troubles()),
    readStats: shareNext(() => viewStats(reads)),
    /** For pages of the dashboard, of which many may be open. */
    readPageStats: shareFor(SHOWN_MS_MAX, () => viewStats(reads), monotonic),
  };
}

const getStats = defineRead({
  operationId: 'getStats',
  belongs: 'service',
  path: '/v1/stats',
  summary: 'Counts of sessions, messages, turns and deliveries, and of what needs attention',
  shows: { description: 'Counts', schema: stats },
  async read({ reply }, api) {
    const { readStats, readPageStats, readAttention } = shareReads(api);
    const counting = isOfPage(reply.request) ? readPageStats() : readStats();
    const [counts, { items }] = await Promise.all([counting, readAttention()]);
    const open = items.filter(({ state }) => state === 'open');
    const errors = open.filter(({ severity }) => severity === 'error').length;
    return { ...counts, attention: { errors, warnings: open.length - errors } };
  },
});

const getOverview = defineRoute({
  operationId: 'getOverview',
  belongs: 'service',
  method: 'GET',
  path: '/v1/overview',
  summary: 'Waiting messages, running turns and costs, with the last 60 minutes; at most a second old',
  headers: CONDITION,
  answers: { 200: { description: 'The figures', schema: overview }, 304: UNCHANGED },
  async handle({ headers }, api) {
    const body = await shareReads(api).readFigures();
    return tagged(headers, body, { ...body, now: null });
  },
});

const getAttention = defineRoute({
  operationId: 'getAttention',
  belongs: 'service',
  method: 'GET',
  path: '/v1/attention',
  summary: 'Problems that need an operator, by their consequence; at most a second old',
  headers: CONDITION,
  answers: { 200: { description: 'The problems; empty if there are none', schema: attention }, 304: UNCHANGED },
  async handle({ headers }, api) {
    const body = await shareReads(api).readAttention();
    return tagged(headers, body, body);
  },
});

/** The answer with the tag of its `essence`, or 304 when the request has that tag already. */
function tagged(headers: FastifyRequest['headers'], body: object, essence: object): Answer {
  const etag = `W/"${hash('sha256', JSON.stringify(essence), 'base64url').slice(0, TAG_CHARS)}"`;
  const known = headers['if-none-match']?.split(',').map((tag) => tag.trim()) ?? [];
  const caching = { etag, 'cache-control': 'private, no-cache' };
  if (known.includes(etag) || known.includes('*')) return { status: 304, body: undefined, headers: caching };
  return { status: 200, body, headers: caching };
}

/** How long a problem is snoozed if the request does not say, in seconds. */
const SNOOZE_SECONDS = 3_600;

const ANSWERS = {
  200: { description: 'The problem with the decision', schema: attentionEntry },
  404: { description: 'There is no such problem, or it has ended' },
};

/** A route that stores what an operator decides. `seconds`: null: it is acknowledged. */
function markRoute<Body extends z.ZodType<{ reason?: string; seconds?: number; count?: number }>>(
  verb: 'acknowledge' | 'snooze',
  spec: { summary: string; body: Body; answers: Route['answers']; seconds: (body: z.output<Body>) => number | null },
): Route {
  const path = `/v1/attention/{attentionId}/${verb}` as '/v1/attention/{attentionId}/snooze';
  return defineEffect<typeof path, { id: string }, NoFields, Body>({
    operationId: `${verb}Attention`,
    belongs: 'service',
    path,
    summary: spec.summary,
    body: spec.body,
    answers: spec.answers,
    async perform({ params: { attentionId: id }, body, principal, idempotency }, api) {
      const { database } = api.context.service;
      // What becomes part of the problem after it is read is not decided.
      const atMs = await readDatabaseTime(database);
      const entry = await findEntry(api, id);
      if (body.count !== undefined && isMoreThanShown(entry, body.count)) throw grown(entry, body.count);
      const mark = { id, atMs, seconds: spec.seconds(body), count: entry.count, reason: body.reason ?? null };
      await markAttention(database, { ...mark, by: principal.name }, idempotency);
      return { id };
    },
    show: ({ id }, _request, api) => findEntry(api, id),
  });
}

const postAcknowledge = markRoute('acknowledge', {
  summary: 'Acknowledge a problem: until it ends, it is not counted and stands last',
  body: acknowledgeRequest,
  answers: { ...ANSWERS, 409: { description: 'It has become more than what was shown' } },
  seconds: () => null,
});

const postSnooze = markRoute('snooze', {
  summary: 'Snooze a problem: for so many seconds, it is not counted and stands last; 0 ends what was decided before',
  body: snoozeRequest,
  answers: ANSWERS,
  seconds: ({ seconds = SNOOZE_SECONDS }) => seconds,
});

/** Read now: what was shown a second ago may have ended. */
async function findEntry({ context, services }: Api, id: string): Promise<AttentionEntry> {
  const { items } = await withMarks(context, await readTroubles(context, services.readReadiness()));
  const found = items.find((item) => item.id === id);
  if (found === undefined)
    throw notFound(`problem ${id}: it has ended, or never existed. GET /v1/attention lists them`);
  return found;
}

function grown({ count, text }: AttentionEntry, shown: number): Problem {
  return conflict(
    `count is ${shown}, and there are ${count} now: ${text}. Nothing was decided: read GET /v1/attention again, then send the new count`,
  );
}

export const routes: Route[] = [getStats, getOverview, getAttention, postAcknowledge, postSnooze];
