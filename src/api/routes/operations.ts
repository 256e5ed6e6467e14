// Routes for operators: liveness, readiness, metrics and the description of the API.
import type { z } from 'zod';
import { answerWithin } from '../problem.ts';
import { defineRoute, defineRead, type Route } from '../route.ts';
import { liveness, readiness } from '../../contract/answers.ts';

const SCRAPE_MS_MAX = 3_000;

const getHealth = defineRead({
  operationId: 'getHealth',
  path: '/healthz',
  summary: 'Whether this process is alive',
  isPublic: true,
  shows: { description: 'The process is alive', schema: liveness },
  read: async () => ({ status: 'ok' }) satisfies z.output<typeof liveness>,
});

const getReadiness = defineRoute({
  operationId: 'getReadiness',
  method: 'GET',
  path: '/readyz',
  summary: 'Whether each dependency is available, and which model is in use',
  isPublic: true,
  answers: {
    200: { description: 'Ready, or degraded: messages are accepted and wait', schema: readiness },
    503: { description: 'A dependency is missing', schema: readiness },
  },
  async handle({ reply }, { services }) {
    // Only browsers send cookies. Monitoring gets the current state.
    const isBrowser = reply.request.headers.cookie !== undefined;
    const found = await (isBrowser ? services.pages.readReadiness() : services.readReadiness());
    return { status: found.status === 'unavailable' ? 503 : 200, body: found };
  },
});

const getMetrics = defineRoute({
  operationId: 'getMetrics',
  method: 'GET',
  path: '/metrics',
  summary: 'All metrics, for Prometheus',
  answers: { 200: { description: 'Prometheus text', contentType: 'text/plain' } },
  async handle(_request, { services }) {
    const readiness = answerWithin(services.readReadiness(), SCRAPE_MS_MAX, '').catch(() => null);
    const text = await services.metrics.render(readiness);
    return { status: 200, body: text, headers: { 'content-type': services.metrics.registry.contentType } };
  },
});

const getOpenApi = defineRead({
  operationId: 'getOpenApi',
  path: '/openapi.json',
  summary: 'This document',
  shows: { description: 'OpenAPI 3.1' },
  read: async (_request, { services }) => services.openApi(),
});

export const operationRoutes: Route[] = [getHealth, getReadiness, getMetrics, getOpenApi];
