// How a run is graded by graders that need no model. A run without an answer never passes for what
// it has not said, however graders are joined: it counts against its candidate. What a grader
// cannot say is null, and counts for neither.
import { canonicalJson, isObject, parseKeepingIntegers, roundedIntegers } from '../../../core/json.ts';
import { toDollars } from '../../../core/prices.ts';
import { changeTexts, cutHead } from '../../../core/text.ts';
import { moneyText } from '../../../core/words.ts';
import type { Grade, Grader, JoinedGrader, PlainGrader, SimpleGrader } from '../contract.ts';
import { callText, type CallFacts } from './match-calls.ts';

/** What a run has done. */
export interface GradedRun {
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

/** What a grader cannot do by itself: it takes a package, or a clock. */
export interface GradingChecks {
  /** What keeps a value, of a text of so many characters, from fitting a schema; none: it fits. */
  findFaults: (value: unknown, schema: Record<string, unknown>, chars: number) => string[];
  /** Whether a pattern matches a text, or why that is not known. */
  findMatch: (pattern: { source: string; flags: string }, text: string) => boolean | { fault: string };
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

interface Facts {
  run: GradedRun;
  of: GradedCase;
  checks: GradingChecks;
}

type Decision = Pick<Grade, 'pass' | 'score' | 'reason'>;

export function applyGrader(grader: PlainGrader, facts: Facts): Grade {
  const { reason, ...decision } = decide(grader, facts, null);
  return { name: nameGrader(grader), ...decision, reason: cutHead(reason, REASON_CHARS_MAX) };
}

/**
 * `isNegated`: whether a `not` around it turns what it says into its opposite; null: it stands
 * alone.
 */
function decide(grader: PlainGrader, facts: Facts, isNegated: boolean | null): Decision {
  switch (grader.type) {
    case 'all':
    case 'any':
    case 'not': {
      const isInnerNegated = (isNegated ?? false) !== (grader.type === 'not');
      return joinDecisions(
        grader,
        grader.of.map((inner) => ({ name: nameGrader(inner), ...decide(inner, facts, isInnerNegated) })),
      );
    }
    case 'tools':
      return decideTools(grader, facts);
    case 'cost':
    case 'time':
      return measure(grader, facts.run, isNegated);
    case 'equal':
    case 'contains':
    case 'regex':
    case 'json':
    case 'field': {
      const decision = decideReply(grader, facts);
      const { status } = facts.run;
      if (status === 'answered' || decision.pass === null) return decision;
      return { ...decided(isNegated ?? false), reason: NO_ANSWER[status] };
    }
    default:
      return grader satisfies never;
  }
}

const NO_ANSWER = {
  diverged: 'The run has no answer: it did something else than was recorded.',
  failed: 'The run has no answer: it failed.',
};

function decided(pass: boolean): Pick<Grade, 'pass' | 'score'> {
  return { pass, score: pass ? 1 : 0 };
}

function undecided(reason: string): Decision {
  return { pass: null, score: null, reason };
}

// Graders that join others. `not` passes when none of its graders passes.

function joinDecisions({ type }: JoinedGrader, inner: readonly Grade[]): Decision {
  const isAll = type === 'all';
  // One that fails decides `all`, and one that passes the others, whatever is not known.
  const one = inner.find(({ pass }) => pass === !isAll) ?? inner.find(({ pass }) => pass === null);
  const reason =
    one === undefined ? `${isAll ? 'All' : 'None'} of ${inner.length} passed.` : `${one.name}: ${one.reason}`;
  const pass = one === undefined ? isAll : one.pass;
  if (pass === null) return undecided(reason);
  return { ...decided(type === 'not' ? !pass : pass), reason };
}

// Graders of the reply.

type ReplyGrader = Exclude<SimpleGrader, { type: 'tools' | 'cost' | 'time' }>;
type GraderOf<Type extends SimpleGrader['type']> = Extract<SimpleGrader, { type: Type }>;

function decideReply(grader: ReplyGrader, facts: Facts): Decision {
  switch (grader.type) {
    case 'equal':
      return decideEqual(grader, facts);
    case 'contains':
      return decideContains(grader, facts);
    case 'regex': {
      const found = facts.checks.findMatch({ source: grader.pattern, flags: grader.flags ?? '' }, replyOf(facts.run));
      if (typeof found !== 'boolean') return undecided(found.fault);
      return {
        ...decided(found),
        reason: `The pattern ${showText(grader.pattern)} ${found ? 'matches' : `does not match ${showText(replyOf(facts.run))}`}.`,
      };
    }
    case 'json': {
      const value = valueOf(facts.run);
      if (value === undefined) return notJson(facts.run);
      const faults = facts.checks.findFaults(roundedIntegers(value), grader.schema, replyOf(facts.run).length);
      return {
        ...decided(faults.length === 0),
        reason: faults.length === 0 ? 'It fits the schema.' : `It does not fit the schema: ${faults.join('; ')}.`,
      };
    }
    case 'field':
      return decideField(grader, facts);
    default:
      return grader satisfies never;
  }
}

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
  if (missing.length === 0) return { ...decided(true), reason: `It has ${texts.map(showText).join(', ')}.` };
  return {
    ...decided(false),
    reason: `It does not have ${missing.map(showText).join(', ')}: ${showText(replyOf(run))}.`,
  };
}

function decideField({ path, equals, tolerance = 0 }: GraderOf<'field'>, { run, of }: Facts): Decision {
  const source = typeof of.expected === 'string' ? parseJson(of.expected) : of.expected;
  const expected = equals === undefined ? readPointer(source ?? undefined, path) : equals;
  if (expected === undefined) return undecided(`The item has no expected value at ${showText(path)}.`);
  const value = valueOf(run);
  if (value === undefined) return notJson(run);
  const got = readPointer(value, path);
  if (got === undefined)
    return { ...decided(false), reason: `There is no field at ${showText(path)}; expected ${show(expected)}.` };
  return compared(canonicalJson(expected) === canonicalJson(got) || isNear(expected, got, tolerance), expected, got);
}

function compared(isEqual: boolean, expected: unknown, got: unknown): Decision {
  return {
    ...decided(isEqual),
    reason: isEqual ? `It is ${show(expected)}.` : `Expected ${show(expected)}, got ${show(got)}.`,
  };
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

function replyOf({ status, reply }: GradedRun): string {
  return status === 'answered' ? cutHead(reply ?? '', REPLY_CHARS_MAX) : '';
}

/** The structured reply, or the JSON that the reply is; undefined: it is none. */
function valueOf(run: GradedRun): unknown {
  return isAbsent(run.output) ? parseJson(replyOf(run)) : run.output;
}

function notJson(run: GradedRun): Decision {
  return { ...decided(false), reason: `It is not JSON: ${showText(replyOf(run))}.` };
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

/** A call with one text for all equal inputs, so that many calls are compared in little time. */
type KeyedCall = CallFacts & { key: string };

interface WantedCall {
  text: string;
  isFitting: (call: KeyedCall) => boolean;
}

function decideTools({ calls, match = 'set' }: GraderOf<'tools'>, { run, of }: Facts): Decision {
  const wanted = calls === undefined ? of.calls.map(exactCall) : calls.map(wantedCall);
  const made = run.calls.map(withKey);
  if (match === 'order') return decideOrder(wanted, made);
  const givenTo = assignCalls(wanted.map(({ isFitting }) => made.flatMap((call, at) => (isFitting(call) ? [at] : []))));
  const met = new Set(givenTo.values());
  const missing = wanted.filter((_, at) => !met.has(at)).map(({ text }) => text);
  const others = match === 'includes' ? [] : made.filter((_, at) => !givenTo.has(at)).map(callText);
  if (missing.length + others.length === 0) return { ...decided(true), reason: madeText(wanted) };
  const parts = [...listWords('Missing', missing), ...listWords('Not expected', others)];
  return { ...decided(false), reason: `${parts.join('. ')}.` };
}

function withKey(call: CallFacts): KeyedCall {
  return { ...call, key: canonicalJson(call.input) };
}

function exactCall(call: CallFacts): WantedCall {
  const { name, key } = withKey(call);
  return { text: callText(call), isFitting: (made) => made.name === name && made.key === key };
}

function wantedCall({ name, input = {} }: { name: string; input?: Record<string, unknown> }): WantedCall {
  return { text: callText({ name, input }), isFitting: (made) => made.name === name && isPart(input, made.input) };
}

/** Whether a value has at least what another has; lists have as many entries. */
function isPart(part: unknown, whole: unknown): boolean {
  if (Array.isArray(part))
    return Array.isArray(whole) && part.length === whole.length && part.every((one, at) => isPart(one, whole[at]));
  if (!isObject(part)) return canonicalJson(part) === canonicalJson(whole);
  return (
    isObject(whole) &&
    Object.entries(part).every(([name, one]) => Object.hasOwn(whole, name) && isPart(one, whole[name]))
  );
}

function decideOrder(wanted: readonly WantedCall[], calls: readonly KeyedCall[]): Decision {
  for (let at = 0; at < Math.max(wanted.length, calls.length); at += 1) {
    const [one, call] = [wanted[at], calls[at]];
    if (one !== undefined && call !== undefined && one.isFitting(call)) continue;
    const [expected, got] = [one?.text ?? 'none', call === undefined ? 'none' : callText(call)];
    return {
      ...decided(false),
      reason: `Call ${at + 1}: expected ${cutHead(expected, SHOWN_CHARS_MAX)}, got ${cutHead(got, SHOWN_CHARS_MAX)}.`,
    };
  }
  return { ...decided(true), reason: madeText(wanted) };
}

function madeText(wanted: readonly WantedCall[]): string {
  if (wanted.length === 0) return 'No calls were expected, and none is missing.';
  return `It made the expected calls: ${wanted.map(({ text }) => text).join(', ')}.`;
}

function listWords(title: string, texts: readonly string[]): string[] {
  return texts.length === 0 ? [] : [`${title}: ${cutHead(texts.join(', '), SHOWN_CHARS_MAX)}`];
}

/**
 * Which wanted call each call is given to, so that as many as possible have one: a call that fits
 * several must not be taken from the only one that another fits. `fitting`: the calls that fit each
 * wanted one.
 */
function assignCalls(fitting: readonly (readonly number[])[]): Map<number, number> {
  const givenTo = new Map<number, number>();
  const assign = (wanted: number, tried: Set<number>): boolean => {
    const calls = fitting[wanted] ?? [];
    const call =
      calls.find((one) => !givenTo.has(one)) ??
      calls.find((one) => {
        const owner = givenTo.get(one);
        if (owner === undefined || tried.has(one)) return false;
        tried.add(one);
        return assign(owner, tried);
      });
    if (call !== undefined) givenTo.set(call, wanted);
    return call !== undefined;
  };
  for (const wanted of fitting.keys()) assign(wanted, new Set());
  return givenTo;
}

// Graders of what a run took. What a run without an answer took is not compared with others; where
// a limit is joined with other graders, such a run has not kept it.

function measure(
  grader: GraderOf<'cost' | 'time'>,
  { status, costMicros, ms }: GradedRun,
  isNegated: boolean | null,
): Decision {
  const isCost = grader.type === 'cost';
  const most = isCost ? grader.maxUsd : grader.maxSeconds;
  const score = isCost ? toDollars(costMicros) : ms === null ? null : ms / 1000;
  if (status !== 'answered')
    return isNegated === null || most === undefined
      ? undecided(NO_ANSWER[status])
      : { ...decided(isNegated), reason: NO_ANSWER[status] };
  if (score === null) return undecided(`Its ${grader.type} is not known.`);
  const textOf = (value: number): string => (isCost ? moneyText(value) : `${value} s`);
  const limit = most === undefined ? '' : `; at most ${textOf(most)} is allowed`;
  return {
    pass: most === undefined ? null : score <= most,
    score,
    reason: `It ${isCost ? 'cost' : 'took'} ${textOf(score)}${limit}.`,
  };
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
