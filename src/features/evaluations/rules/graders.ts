// How a run is graded by graders that need no model. A run without an answer has not passed, whatever
// the grader. What a grader cannot say is null, and counts for neither.
import { canonicalJson, isObject, parseKeepingIntegers, roundedIntegers } from '../../../core/json.ts';
import { toDollars } from '../../../core/prices.ts';
import { changeTexts, cutHead } from '../../../core/text.ts';
import { moneyText } from '../../../core/words.ts';
import { keyOfCall, matchCalls } from '../../tries/rules.ts';
import type { Grade, Grader, JoinedGrader, PlainGrader, SimpleGrader } from '../contract.ts';
import { callText, type CallFacts } from './match-calls.ts';

/** What a run has done. */
export interface RunToGrade {
  status: 'answered' | 'diverged' | 'failed';
  reply: string | null;
  /** The value of its structured reply; null: it has none. */
  output: unknown;
  calls: readonly CallFacts[];
  costMicros: number | null;
  ms: number | null;
}

/** The case of a run; `calls` are the recorded ones. */
export interface GradedCase {
  /** Null: nothing. */
  expected: unknown;
  calls: readonly CallFacts[];
}

type GraderOf<Type extends SimpleGrader['type']> = Extract<SimpleGrader, { type: Type }>;

/** What a grader cannot do by itself: it takes a package, or a clock. */
export interface GradingChecks {
  /** What keeps a value, of a text of so many characters, from fitting a schema; none: it fits. */
  findFaults: (value: unknown, schema: Record<string, unknown>, chars: number) => string[];
  /** Whether a pattern matches a text, or why that is not known. */
  findMatch: (pattern: GraderOf<'regex'>, text: string) => boolean | { fault: string };
}

/** The unit of scores: a share of runs that passed, a score from 0 to 1, dollars or seconds. */
export type GraderUnit = 'share' | 'score' | 'usd' | 'seconds';

/** The longest reason, and the longest value in one. */
const REASON_CHARS_MAX = 300;
const SHOWN_CHARS_MAX = 120;
/** What follows in a longer reply is not read. */
const REPLY_CHARS_MAX = 1_000_000;
/** A reply that is nested deeper is not taken as JSON. */
const DEPTH_MAX = 200;

const NO_ANSWER = {
  diverged: 'The run has no answer: it did something else than was recorded.',
  failed: 'The run has no answer: it failed.',
};

interface Facts {
  run: RunToGrade;
  of: GradedCase;
  checks: GradingChecks;
}

interface Decision {
  /** Null: it only measures, or is not known. */
  pass: boolean | null;
  reason: string;
  /** Absent: 1 if it has passed, 0 if not. */
  score?: number;
}

export function applyGrader(grader: PlainGrader, facts: Facts): Grade {
  const { status } = facts.run;
  const { pass, reason, score } = status === 'answered' ? decide(grader, facts) : decideUnanswered(grader, status);
  return {
    name: nameGrader(grader),
    pass,
    score: score ?? (pass === null ? null : Number(pass)),
    reason: cutHead(reason, REASON_CHARS_MAX),
  };
}

/** It counts against its candidate, but what it took is not compared with what others took. */
function decideUnanswered({ type }: PlainGrader, status: keyof typeof NO_ANSWER): Decision {
  return { pass: type === 'cost' || type === 'time' ? null : false, reason: NO_ANSWER[status] };
}

function decide(grader: PlainGrader, facts: Facts): Decision {
  switch (grader.type) {
    case 'all':
    case 'any':
    case 'not':
      return joinDecisions(grader, facts);
    case 'equal':
      return decideEqual(grader, facts);
    case 'contains':
      return decideContains(grader, facts);
    case 'regex':
      return decidePattern(grader, facts);
    case 'json':
      return decideSchema(grader, facts);
    case 'field':
      return decideField(grader, facts);
    case 'tools':
      return decideTools(grader, facts);
    case 'cost':
      return measure(toDollars(facts.run.costMicros), grader.maxUsd, { verb: 'cost', textOf: moneyText });
    case 'time':
      return measure(secondsOf(facts.run), grader.maxSeconds, {
        verb: 'took',
        textOf: (value) => `${Number(value.toPrecision(3))} s`,
      });
    default:
      return grader satisfies never;
  }
}

function decided(pass: boolean, yes: string, no: string): Decision {
  return { pass, reason: pass ? yes : no };
}

function undecided(reason: string): Decision {
  return { pass: null, reason };
}

/** `not` passes when none of its graders passes. */
function joinDecisions({ type, of }: JoinedGrader, facts: Facts): Decision {
  const isAll = type === 'all';
  const inner = of.map((grader) => ({ name: nameGrader(grader), ...decide(grader, facts) }));
  // One that fails decides `all`, and one that passes the others, whatever is not known.
  const one = inner.find(({ pass }) => pass === !isAll) ?? inner.find(({ pass }) => pass === null);
  if (one === undefined) return { pass: type !== 'any', reason: `${isAll ? 'All' : 'None'} of ${of.length} passed.` };
  const pass = type === 'not' && one.pass !== null ? !one.pass : one.pass;
  return { pass, reason: `${one.name}: ${one.reason}` };
}

// Graders of the reply.

/** A text is compared without white space at its ends; other values as JSON. */
function decideEqual({ expected: own, ignoreCase }: GraderOf<'equal'>, { run, of }: Facts): Decision {
  const expected = own ?? of.expected;
  if (isAbsent(expected)) return undecided(NOTHING_EXPECTED);
  const isText = typeof expected === 'string';
  const got = isText ? replyOf(run) : valueOf(run);
  if (got === undefined) return notJson(run);
  const [one, other] = fold([expected, got], ignoreCase).map((value) =>
    isText ? String(value).trim() : canonicalJson(value),
  );
  return compared(one === other, expected, got);
}

function decideContains({ text, ignoreCase }: GraderOf<'contains'>, { run, of }: Facts): Decision {
  const expected = text ?? of.expected;
  if (isAbsent(expected)) return undecided(NOTHING_EXPECTED);
  const texts = [expected].flat().map((one) => (typeof one === 'string' ? one : canonicalJson(one)));
  const reply = fold(replyOf(run), ignoreCase);
  const missing = texts.filter((one) => !reply.includes(fold(one, ignoreCase)));
  const [all, some] = [texts, missing].map((shown) => shown.map(showText).join(', '));
  return decided(missing.length === 0, `It has ${all}.`, `It does not have ${some}: ${showText(replyOf(run))}.`);
}

function decidePattern(grader: GraderOf<'regex'>, { run, checks }: Facts): Decision {
  const reply = replyOf(run);
  const found = checks.findMatch(grader, reply);
  if (typeof found !== 'boolean') return undecided(found.fault);
  const pattern = `The pattern ${showText(grader.pattern)}`;
  return decided(found, `${pattern} matches.`, `${pattern} does not match ${showText(reply)}.`);
}

function decideSchema({ schema }: GraderOf<'json'>, { run, checks }: Facts): Decision {
  const value = valueOf(run);
  if (value === undefined) return notJson(run);
  const faults = checks.findFaults(roundedIntegers(value), schema, replyOf(run).length);
  return decided(faults.length === 0, 'It fits the schema.', `It does not fit the schema: ${faults.join('; ')}.`);
}

function decideField({ path, equals, tolerance = 0 }: GraderOf<'field'>, { run, of }: Facts): Decision {
  const source = typeof of.expected === 'string' ? parseJson(of.expected) : of.expected;
  const expected = equals === undefined ? readPointer(source ?? undefined, path) : equals;
  if (expected === undefined) return undecided(`The item has no expected value at ${showText(path)}.`);
  const value = valueOf(run);
  if (value === undefined) return notJson(run);
  const got = readPointer(value, path);
  if (got === undefined)
    return { pass: false, reason: `There is no field at ${showText(path)}; expected ${show(expected)}.` };
  return compared(canonicalJson(expected) === canonicalJson(got) || isNear(expected, got, tolerance), expected, got);
}

function compared(isEqual: boolean, expected: unknown, got: unknown): Decision {
  return decided(isEqual, `It is ${show(expected)}.`, `Expected ${show(expected)}, got ${show(got)}.`);
}

/** A difference that is the tolerance in decimals may be a little more in binary fractions. */
function isNear(expected: unknown, got: unknown, tolerance: number): boolean {
  const [one, other] = [roundedIntegers(expected), roundedIntegers(got)];
  if (tolerance === 0 || typeof one !== 'number' || typeof other !== 'number') return false;
  return Math.abs(one - other) <= tolerance + Number.EPSILON * Math.max(Math.abs(one), Math.abs(other));
}

const NOTHING_EXPECTED = 'The item has no expected value.';

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

/** The value with its letters in lower case, if their case is ignored. */
function fold<Value>(value: Value, ignoreCase = false): Value {
  // Texts become texts, and nothing else changes.
  return ignoreCase ? (changeTexts(value, (text) => text.toLowerCase()) as Value) : value;
}

function replyOf({ reply }: RunToGrade): string {
  return cutHead(reply ?? '', REPLY_CHARS_MAX);
}

/** The structured reply, or the JSON that the reply is; undefined: it is none. */
function valueOf(run: RunToGrade): unknown {
  return isAbsent(run.output) ? parseJson(replyOf(run)) : run.output;
}

function notJson(run: RunToGrade): Decision {
  return { pass: false, reason: `It is not JSON: ${showText(replyOf(run))}.` };
}

/** The value of a text that is JSON, or JSON in one fence; undefined: it is not. */
function parseJson(text: string): unknown {
  const trimmed = text.trim();
  const isFenced = trimmed.startsWith('```') && trimmed.endsWith('```');
  try {
    const value = parseKeepingIntegers(isFenced ? trimmed.slice(trimmed.indexOf('\n') + 1, -3) : trimmed);
    return isDeeper(value, DEPTH_MAX) ? undefined : value;
  } catch {
    return undefined;
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

/** The value at a JSON pointer; undefined: there is none. */
function readPointer(value: unknown, path: string): unknown {
  const names = path
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
  return names.reduce<unknown>((inner, name) => {
    const isThere = (isObject(inner) || Array.isArray(inner)) && Object.hasOwn(inner, name);
    // A list has its entries by their numbers; its length is no field.
    if (!isThere || (Array.isArray(inner) && name === 'length')) return undefined;
    return (inner as Record<string, unknown>)[name];
  }, value);
}

// The grader of tool calls.

function decideTools({ calls, match = 'set' }: GraderOf<'tools'>, { run, of }: Facts): Decision {
  const isRecorded = calls === undefined;
  const wanted = (calls ?? of.calls).map(({ name, input = {} }) => ({ name, input }));
  if (match === 'order') return decideOrder(wanted, run.calls, isRecorded ? isSame : isFitting);
  const given = isRecorded ? matchCalls(wanted, [], run.calls) : assignCalls(wanted, run.calls);
  const met = new Set(given);
  const missing = wanted.filter((one) => !met.has(one));
  const others = match === 'includes' ? [] : run.calls.filter((_, at) => given[at] === null);
  const parts = [...listWords('Missing', missing), ...listWords('Not expected', others)];
  return decided(parts.length === 0, madeText(wanted), `${parts.join('. ')}.`);
}

function isSame(wanted: CallFacts, made: CallFacts): boolean {
  return keyOfCall(wanted) === keyOfCall(made);
}

function isFitting(wanted: CallFacts, made: CallFacts): boolean {
  return wanted.name === made.name && isPart(wanted.input, made.input);
}

/** Whether a value has at least what another has; lists have as many entries. */
function isPart(part: unknown, whole: unknown): boolean {
  if (Array.isArray(part))
    return Array.isArray(whole) && part.length === whole.length && part.every((one, at) => isPart(one, whole[at]));
  if (!isObject(part)) return part === whole;
  return (
    isObject(whole) &&
    Object.entries(part).every(([name, one]) => Object.hasOwn(whole, name) && isPart(one, whole[name]))
  );
}

function decideOrder(
  wanted: readonly CallFacts[],
  made: readonly CallFacts[],
  isMet: (wanted: CallFacts, made: CallFacts) => boolean,
): Decision {
  for (let at = 0; at < Math.max(wanted.length, made.length); at += 1) {
    const [one, call] = [wanted[at], made[at]];
    if (one !== undefined && call !== undefined && isMet(one, call)) continue;
    const [expected, got] = [one, call].map((each) =>
      each === undefined ? 'none' : cutHead(callText(each), SHOWN_CHARS_MAX),
    );
    return { pass: false, reason: `Call ${at + 1}: expected ${expected}, got ${got}.` };
  }
  return { pass: true, reason: madeText(wanted) };
}

/**
 * Which wanted call each call is given to, so that as many as possible have one; null: to none. A
 * call that fits several must not be taken from the only one that another fits.
 */
function assignCalls(wanted: readonly CallFacts[], made: readonly CallFacts[]): (CallFacts | null)[] {
  const fitting = new Map(
    wanted.map((one) => [one, made.flatMap((call, at) => (isFitting(one, call) ? [at] : []))] as const),
  );
  const given: (CallFacts | null)[] = made.map(() => null);
  const assign = (one: CallFacts, tried: Set<number>): boolean => {
    const calls = fitting.get(one) ?? [];
    const call =
      calls.find((at) => given[at] === null) ??
      calls.find((at) => {
        const owner = given[at] ?? null;
        if (owner === null || tried.has(at)) return false;
        tried.add(at);
        return assign(owner, tried);
      });
    if (call !== undefined) given[call] = one;
    return call !== undefined;
  };
  for (const one of wanted) assign(one, new Set());
  return given;
}

function madeText(wanted: readonly CallFacts[]): string {
  if (wanted.length === 0) return 'No calls were expected, and none is missing.';
  return `It made the expected calls: ${wanted.map(callText).join(', ')}.`;
}

function listWords(title: string, calls: readonly CallFacts[]): string[] {
  return calls.length === 0 ? [] : [`${title}: ${cutHead(calls.map(callText).join(', '), SHOWN_CHARS_MAX)}`];
}

/** Graders of what a run took; without a limit, it is only compared. */
function measure(
  score: number | null,
  most: number | undefined,
  { verb, textOf }: { verb: string; textOf: (value: number) => string },
): Decision {
  if (score === null) return undecided(`What it ${verb} is not known.`);
  const limit = most === undefined ? '' : `; at most ${textOf(most)} is allowed`;
  return { pass: most === undefined ? null : score <= most, score, reason: `It ${verb} ${textOf(score)}${limit}.` };
}

/** What a run took; null: it is not known. */
export function secondsOf({ ms }: Pick<RunToGrade, 'ms'>): number | null {
  return ms === null ? null : ms / 1_000;
}

function show(value: unknown): string {
  return typeof value === 'string' ? showText(value) : cutHead(canonicalJson(value), SHOWN_CHARS_MAX);
}

function showText(text: string): string {
  return JSON.stringify(text.length > SHOWN_CHARS_MAX ? `${cutHead(text, SHOWN_CHARS_MAX)}…` : text);
}

// What is known of a grader without a run.

/** The name of a grader in results. */
export function nameGrader({ name, type }: Pick<Grader, 'name' | 'type'>): string {
  return name ?? type;
}

export function unitOf({ type }: Pick<Grader, 'type'>): GraderUnit {
  if (type === 'cost') return 'usd';
  if (type === 'time') return 'seconds';
  return type === 'model' ? 'score' : 'share';
}

/** Whether less of its score is better. */
export function lowerIsBetter(grader: Pick<Grader, 'type'>): boolean {
  return ['usd', 'seconds'].includes(unitOf(grader));
}

/** What is wrong with the names of graders, for people; null: nothing. `primary` may be absent. */
export function findNameFault(graders: readonly Grader[], primary: string | undefined): string | null {
  const names = graders.map(nameGrader);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined)
    return `several graders have the name "${twice}": give each a \`name\` of its own (absent: its type)`;
  if (primary === undefined || names.includes(primary)) return null;
  return `expected as \`primary\` the name of a grader (${names.join(', ')}), got "${primary}"`;
}
