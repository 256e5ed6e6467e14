// The chapters of the demo, in the order in which they are played. A new one is a new line here.
import type { Chapter } from './chapter.ts';
import { chat } from './chat.ts';
import { cronTicks } from './cron-ticks.ts';
import { evaluation } from './evaluation.ts';
import { fallback } from './fallback.ts';
import { heartbeat } from './heartbeat.ts';
import { manyMessages } from './many-messages.ts';
import { modelRequests } from './model-requests.ts';
import { steering } from './steering.ts';
import { subagent } from './subagent.ts';
import { systemEvent } from './system-event.ts';
import { takeOver } from './take-over.ts';
import { toolLoop } from './tool-loop.ts';

export const CHAPTERS: readonly Chapter[] = [
  toolLoop,
  steering,
  cronTicks,
  heartbeat,
  subagent,
  takeOver,
  chat,
  fallback,
  systemEvent,
  modelRequests,
  manyMessages,
  evaluation,
];
