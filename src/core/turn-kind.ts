// The kinds of turns, as the API shows them, by the inputs that they answer.

export const TURN_KINDS = ['message', 'cron', 'heartbeat', 'announce', 'followup', 'batch', 'compaction'] as const;

export type TurnKind = (typeof TURN_KINDS)[number];
