// One thing with all that belongs to it: a family of sessions, a call of a tool.
import { z } from 'zod';
import type { FamilyView } from '../../store/views/family.ts';
import { RUN_STATUSES } from '../../store/views/subagents.ts';
import type { ToolCallDetail } from '../../store/views/tool-call.ts';
import { costOf } from './costs.ts';
import { toolCall } from './views.ts';

const count = z.int().min(0);
const iso = z.iso.datetime();
const used = z.strictObject({ tokens: z.strictObject({ input: count, output: count }), ...costOf });

export const family = z.strictObject({
  rootKey: z.string(),
  root: used,
  items: z.array(
    z.strictObject({
      runId: z.uuid(),
      sessionKey: z.string(),
      parentSessionKey: z.string(),
      label: z.string().nullable(),
      task: z.string(),
      agentId: z.string(),
      depth: count,
      status: z.enum(RUN_STATUSES),
      mode: z.enum(['run', 'session']),
      createdAt: iso,
      endedAt: iso.nullable(),
      own: used,
      subtree: used.extend({ runs: count }),
    }),
  ),
  isCapped: z.boolean(),
}) satisfies z.ZodType<FamilyView>;

export const toolCallDetail = toolCall.extend({
  turnId: z.uuid(),
  sessionKey: z.string(),
  step: count,
  arguments: z.string().nullable(),
  result: z.strictObject({ text: z.string(), isError: z.boolean() }).nullable(),
}) satisfies z.ZodType<ToolCallDetail>;
