// The types of what the API answers, for clients in this repository: those of the schemas that describe and check the answers. Nothing here
// remains at run time, so a client that imports them loads no part of the API.
import type { z } from 'zod';
import type * as answers from '../contract/answers.ts';
import type * as batches from '../contract/batches.ts';
import type * as budgets from '../contract/budgets.ts';
import type * as bulkActions from '../contract/bulk-actions.ts';
import type * as costs from '../contract/costs.ts';
import type * as crons from '../contract/crons.ts';
import type * as deadLetters from '../contract/dead-letters.ts';
import type * as keys from '../contract/keys.ts';
import type * as modelBlocks from '../contract/model-blocks.ts';
import type * as pauses from '../contract/pauses.ts';
import type * as settings from '../contract/settings.ts';
import type * as subagents from '../contract/subagents.ts';
import type * as transcripts from '../contract/transcripts.ts';
import type * as views from '../contract/views.ts';
import type * as waiting from '../contract/waiting.ts';
import type * as workers from '../contract/workers.ts';

export type MessageAnswer = z.output<typeof views.message>;
export type SessionAnswer = z.output<typeof views.session>;
export type TurnAnswer = z.output<typeof views.turn>;
/** A turn of a list. */
export type ListedTurnAnswer = z.output<typeof views.listedTurn>;
export type StepAnswer = z.output<typeof views.step>;
export type UsageAnswer = z.output<typeof views.usage>;
export type EntryAnswer = z.output<typeof views.entry>;
export type ContentAnswer = EntryAnswer['content'][number];
export type DeliveryAnswer = z.output<typeof views.delivery>;
export type ModelBlockAnswer = z.output<typeof modelBlocks.modelBlock>;
export type PauseAnswer = z.output<typeof pauses.pause>;
export type SystemEventAnswer = z.output<typeof views.systemEvent>;
export type CompactionAnswer = z.output<typeof transcripts.compaction>;
export type BatchAnswer = z.output<typeof batches.batch>;
export type BatchItemAnswer = z.output<typeof batches.batchItemView>;
/** 200 of `POST /v1/batches` with `dryRun`. */
export type BatchEstimateAnswer = z.output<typeof batches.batchEstimate>;
export type CronAnswer = z.output<typeof crons.cron>;
export type CronFireAnswer = z.output<typeof crons.cronFire>;
export type HeartbeatAnswer = z.output<typeof crons.heartbeat>;
export type SubagentAnswer = z.output<typeof subagents.subagent>;
export type DeadLetterAnswer = z.output<typeof deadLetters.deadLetter>;
export type DeadLetterGroupAnswer = z.output<typeof deadLetters.deadLetterGroup>;
/** 200 of `POST /v1/dead-letters/redrive`. */
export type RedrivenAnswer = z.output<typeof deadLetters.redrivenLetters>;
/** 200 of `POST /v1/dead-letters/discard`. */
export type DiscardedAnswer = z.output<typeof deadLetters.discardedLetters>;
/** 202 of `POST .../messages`. */
export type AcceptedMessageAnswer = z.output<typeof answers.accepted>;
/** 200 of `POST .../messages` with `Prefer: wait`. */
export type SettledMessageAnswer = z.output<typeof answers.settled>;
/** Why a message or a turn waits. */
export type WhyAnswer = NonNullable<TurnAnswer['why']>;
export type WaitingAnswer = z.output<typeof waiting.waitingMessage>;
export type WorkerAnswer = z.output<typeof workers.worker>;
export type TurnStatus = TurnAnswer['status'];

/** The usage of a period. */
export type UsageReportAnswer = z.output<typeof costs.usageReport>;
/** A budget. */
export type BudgetAnswer = z.output<typeof budgets.budget>;
/** A bulk action with its progress. */
export type BulkActionAnswer = z.output<typeof bulkActions.bulkAction>;
/** The subject of a bulk action, with its result. */
export type BulkItemAnswer = z.output<typeof bulkActions.bulkItem>;
/** An API key, without its text. */
export type ApiKeyAnswer = z.output<typeof keys.apiKey>;
/** What differs between the running configuration and its file. */
export type ConfigChangesAnswer = z.output<typeof settings.configChanges>;
/** The price table in use. */
export type PricesAnswer = z.output<typeof costs.prices>;

/** A page of a list. */
export interface ListAnswer<Item> {
  items: Item[];
  nextCursor: string | null;
}
