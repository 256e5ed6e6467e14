// The audit log.
import { z } from 'zod';
import { auditEntry } from '../../contract/keys.ts';
import { changes } from '../../kernel/views/audit.ts';
import { defineList, type Route } from '../route.ts';

const getAudit = defineList({
  operationId: 'listAudit',
  path: '/v1/audit',
  summary: 'The audit log: changes through the API, newest first, without messages and system events',
  role: 'admin',
  filter: {
    principal: z.string().max(200).optional().describe('Only requests of this caller: `admin`, or `key:<name>`'),
    action: z.string().max(100).optional().describe('Only requests of this operation, by its name in this document'),
  },
  shows: { description: 'A page of changes', item: auditEntry },
  list: ({ query }, page, { context }) => changes.list(context.views, query, page),
});

export const auditRoutes: Route[] = [getAudit];
