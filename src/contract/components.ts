// The schemas that have a name in the OpenAPI document; all others are written out where they are
// used.
import type { z } from 'zod';
import { cronInput, cronPatch } from '../features/crons/config.ts';
import * as answers from './answers.ts';
import * as budgets from './budgets.ts';
import * as batches from '../features/batches/contract.ts';
import * as bulkActions from '../features/bulk-actions/contract.ts';
import * as crons from '../features/crons/contract.ts';
import * as deadLetters from '../features/dead-letters/contract.ts';
import * as deliveries from '../features/deliveries/contract.ts';
import { liveEvent } from './events.ts';
import { externalCall } from './external-tools.ts';
import * as evaluations from '../features/evaluations/contract.ts';
import { fault } from './faults.ts';
import { heartbeat } from '../features/heartbeats/contract.ts';
import { inboundMessage } from './inbound-message.ts';
import { modelBlock } from './model-blocks.ts';
import { modelRequest } from './model-requests.ts';
import * as overview from '../features/overview/contract.ts';
import { pause } from './pauses.ts';
import { score } from './scores.ts';
import * as subagents from '../features/subagents/contract.ts';
import * as transcripts from './transcripts.ts';
import * as views from './views.ts';
import { waitingMessage } from './waiting.ts';
import { worker } from './workers.ts';

export const COMPONENTS: Record<string, z.ZodType> = {
  Abortion: answers.abortion,
  Accepted: answers.accepted,
  AttentionEntry: overview.attentionEntry,
  Batch: batches.batch,
  BatchItem: batches.batchItemView,
  BatchPatch: batches.batchPatch,
  Budget: budgets.budget,
  BatchRequest: batches.batchRequest,
  BatchResult: batches.batchResult,
  BulkAction: bulkActions.bulkAction,
  BulkItem: bulkActions.bulkItem,
  Compacted: transcripts.compacted,
  Compaction: transcripts.compaction,
  Cron: crons.cron,
  CronFire: crons.cronFire,
  DeadLetter: deadLetters.deadLetter,
  DeadLetterGroup: deadLetters.deadLetterGroup,
  Delivery: deliveries.delivery,
  DeliveryDetails: deliveries.deliveryDetails,
  DeliveryCount: deliveries.deliveryCount,
  CronInput: cronInput,
  CronPatch: cronPatch,
  Entry: transcripts.entry,
  Evaluation: evaluations.evaluation,
  EvaluationCandidate: evaluations.candidate,
  EvaluationRequest: evaluations.evaluationRequest,
  EvaluationResult: evaluations.evaluationResult,
  EvaluationRun: evaluations.evaluationRun,
  ExternalCall: externalCall,
  Fault: fault,
  LiveEvent: liveEvent,
  Grader: evaluations.grader,
  Heartbeat: heartbeat,
  InboundMessage: inboundMessage,
  Message: views.message,
  ModelBlock: modelBlock,
  ModelRequest: modelRequest,
  Pause: pause,
  OpenAiError: answers.openAiError,
  Problem: answers.problem,
  Readiness: answers.readiness,
  Score: score,
  Session: views.session,
  SessionDetails: views.sessionDetails,
  SessionPatch: answers.sessionPatch,
  Settled: answers.settled,
  Span: views.span,
  Spawned: subagents.spawned,
  SpawnRequest: subagents.spawnRequest,
  Stats: overview.stats,
  Step: views.step,
  Subagent: subagents.subagent,
  SystemEvent: views.systemEvent,
  Transcript: transcripts.transcript,
  Turn: views.turn,
  ListedTurn: views.listedTurn,
  Usage: views.usage,
  WaitingMessage: waitingMessage,
  Worker: worker,
};
