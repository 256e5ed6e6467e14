// The part of the configuration file that says how much model calls may cost: `budgets`.
import { z } from 'zod';
import { BUDGET_ACTIONS, BUDGET_DEFAULTS, BUDGET_PERIODS, isScope } from '../features/budgets/rules/budget.ts';
import { count, distinct, timeZone } from './schema-scalars.ts';

const DOLLARS_MAX = 1_000_000_000;
const MICROS = 1_000_000;

export const limitUsd = z.number().refine(isLimit, `dollars from 0 to ${DOLLARS_MAX}, with at most six decimals`);

function isLimit(value: number): boolean {
  return value >= 0 && value <= DOLLARS_MAX && Math.abs(value * MICROS - Math.round(value * MICROS)) < 1e-3;
}

/**
 * Zones that PostgreSQL knows under the same name and with the same offsets as Node, which needs the name to be one of IANA. Of names with three
 * letters, PostgreSQL reads most as abbreviations with a fixed offset (`CET`, `IST`), and does not know others (`CAT`).
 */
const STORED_ZONE = /^(?:utc|gmt|uct|est|mst|hst|prc|roc|rok|(?![a-z]{3}$)[a-z].*)$/i;

/** The fields of a budget, as the configuration and requests write them. */
export const budgetFields = {
  scope: z
    .string()
    .refine(isScope, '"all", "agent:<id>", "session:<key pattern>" or "key:<name>"')
    .describe('What it limits: `all`, `agent:<id>`, `session:<key pattern>`, or `key:<name>`'),
  per: z.enum(BUDGET_PERIODS).describe('The length of a window'),
  // PostgreSQL reads the sign of an offset the other way round.
  zone: timeZone
    .regex(STORED_ZONE, 'the name of a time zone such as "Europe/Berlin", not an offset or an abbreviation')
    .default(BUDGET_DEFAULTS.zone)
    .describe('The time zone in which hours, days and months begin'),
  limitUsd: limitUsd.describe('The limit of a window in US dollars'),
  warnPercent: count(1, 100)
    .describe('The percentage of the limit at which `budget.warned` is sent')
    .default(BUDGET_DEFAULTS.warnPercent),
  action: z
    .enum(BUDGET_ACTIONS)
    .describe('What happens to a turn whose next call exceeds it: it is parked, or it fails')
    .default(BUDGET_DEFAULTS.action),
  strict: z.boolean().describe('True: each call reserves the most that it can cost').default(BUDGET_DEFAULTS.strict),
};

const BUDGETS_MAX = 100;

export const budgetsSchema = distinct(z.strictObject(budgetFields), {
  key: 'scope',
  of: ({ scope, per, zone }) => `${scope} ${per} ${zone}`,
  what: 'a scope, a period and a zone that no budget before has together',
}).max(BUDGETS_MAX);
