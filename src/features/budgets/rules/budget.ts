// The definition of a budget, and the calls that it covers.
import { matchesPattern } from '../../../core/text.ts';

export const BUDGET_PERIODS = ['hour', 'day', 'month', 'total'] as const;
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number];

export const BUDGET_ACTIONS = ['pause', 'fail'] as const;
/** The effect on a call without room: its turn is parked until there is room, or it fails. */
export type BudgetAction = (typeof BUDGET_ACTIONS)[number];

export const BUDGET_ORIGINS = ['config', 'api', 'batch'] as const;
export type BudgetOrigin = (typeof BUDGET_ORIGINS)[number];

/** The code of a turn, a tick or a batch that a budget holds back. */
export const BUDGET_REACHED = 'budget_reached';

export interface BudgetSettings {
  /**
   * `all`, `agent:<id>`, `session:<key pattern>`, `key:<name>`; `batch:<id>` for the cap of a
   * batch.
   */
  scope: string;
  per: BudgetPeriod;
  /** An IANA time zone, in which days and months begin. */
  zone: string;
  limitMicros: number;
  warnPercent: number;
  action: BudgetAction;
  /** True: calls reserve the most that they can cost, so the limit is never exceeded. */
  strict: boolean;
}

export const BUDGET_DEFAULTS = { zone: 'UTC', warnPercent: 80, action: 'pause', strict: false } as const;

/**
 * The facts of a call, or of a turn that is about to begin. Null: there is none, or it is unknown.
 */
export interface BudgetFacts {
  agentId: string;
  sessionKey: string;
  /** The name of the API key that its first message came with. */
  keyName: string | null;
  batchId: string | null;
}

/** True for a call that counts against the budget with this scope. */
export function isCovered(scope: string, facts: BudgetFacts): boolean {
  if (scope === 'all') return true;
  const colon = scope.indexOf(':');
  const value = scope.slice(colon + 1);
  switch (scope.slice(0, colon)) {
    case 'agent':
      return value === facts.agentId;
    case 'session':
      return matchesPattern(facts.sessionKey, value);
    case 'key':
      return value === facts.keyName;
    case 'batch':
      return value === facts.batchId;
    default:
      return false;
  }
}

const SCOPE = /^(?:all|agent:[a-z0-9][a-z0-9_-]{0,63}|session:\S+|key:\S+)$/;

/** True for a scope that a person may give. */
export function isScope(text: string): boolean {
  return text.length <= 300 && SCOPE.test(text);
}

/** A budget for people: `all per day`. */
export function budgetName({ scope, per }: Pick<BudgetSettings, 'scope' | 'per'>): string {
  return per === 'total' ? `${scope} in total` : `${scope} per ${per}`;
}
