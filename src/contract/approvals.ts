// Requests for approvals on the wire.
import { z } from 'zod';
import { APPROVAL_STATUSES } from '../features/approvals/rules.ts';
import { iso, sessionTitle, text, uuid } from './fields.ts';
import { guardedName } from './guarded.ts';

const NOTE_CHARS_MAX = 2_000;

export const approval = z.strictObject({
  id: uuid.describe('The id of the request'),
  status: z.enum(APPROVAL_STATUSES).describe('`open`: it can be decided; `cancelled`: its call does not wait any more'),
  turnId: uuid.describe('The turn that waits'),
  sessionKey: text.describe('The session of the turn'),
  sessionTitle,
  title: text.describe('What would run, in one line: the tool and the argument that says most'),
  rootSessionKey: text.describe('The session at the top of its family; that of the turn when it is no subagent'),
  callId: text.describe('The id of the tool call'),
  tool: text.describe('The tool that would run'),
  input: z
    .unknown()
    .describe('What the tool would be given; `file`: the size and the hash of the file that `message` would send'),
  shown: text.describe('The same as text for people: whole, with unseen characters as their numbers'),
  reasons: z
    .array(text)
    .describe('The conditions of the rule that hold; `rule`: the rule has none; `tool`: no rule, the tool itself'),
  requestedAt: iso.describe('When the call was made'),
  expiresAt: iso.describe('From when it is denied'),
  decidedBy: guardedName('Who decided; null: no one did'),
  decidedAt: iso.nullable().describe('When it was decided, or ended otherwise; null: it is open'),
  note: text.nullable().describe('What the person said who decided; null: nothing'),
});
export type ApprovalView = z.output<typeof approval>;

export const approvalNote = z.strictObject({
  note: z.string().max(NOTE_CHARS_MAX).exactOptional().describe('Why; the model reads it when the call was denied'),
});

export const approvalStatus = z.enum(APPROVAL_STATUSES);
