// The figures that dashboards ask for again and again. All requests of a second share one read, and an answer that has not changed is 304.
import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Answer } from '../answer.ts';
import { defineRoute, type Route } from '../route.ts';
import { attention, overview } from '../../contract/overview.ts';

const TAG_CHARS = 22;
const UNCHANGED = { description: 'It is as If-None-Match says' };
const CONDITION = { 'If-None-Match': 'the ETag of an earlier answer' };

const getOverview = defineRoute({
  operationId: 'getOverview',
  method: 'GET',
  path: '/v1/overview',
  summary: 'Waiting messages, running turns and costs, with the last 60 minutes; at most a second old',
  headers: CONDITION,
  answers: { 200: { description: 'The figures', schema: overview }, 304: UNCHANGED },
  async handle({ headers }, { services }) {
    const body = await services.readOverview();
    return tagged(headers, body, { ...body, now: null });
  },
});

const getAttention = defineRoute({
  operationId: 'getAttention',
  method: 'GET',
  path: '/v1/attention',
  summary: 'Problems that need an operator, errors first; at most a second old',
  headers: CONDITION,
  answers: { 200: { description: 'The problems; empty if there are none', schema: attention }, 304: UNCHANGED },
  async handle({ headers }, { services }) {
    const body = await services.readAttention();
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

export const overviewRoutes: Route[] = [getOverview, getAttention];
