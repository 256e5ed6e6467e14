// Runs one tool call: the one place where a tool's deadline, its abort and the bound of its result
// are kept. A call ends within its time + 1 s (G25) even when the tool pays no attention; what it
// throws becomes an error result for the model.
import { boundOutcome } from './bound-outcome.ts';
import { fitImages } from './fit-images.ts';
import { errorOutcome, type Tool, type ToolCall, type ToolOutcome, ToolTimeoutError } from './tool.ts';

/**
 * How long a tool may take after its time limit to end what it started and report its progress.
 * Below the second that G25 allows.
 */
const TIMEOUT_SETTLE_MS = 900;
/**
 * The same after an abort from outside: longer than the time that `exec` gives its processes before
 * it kills them.
 */
const ABORT_SETTLE_MS = 2_500;
/** The longest time that a timer of Node can run. */
const TIMER_MS_MAX = 2_147_483_647;

/**
 * Runs `tool` and returns its outcome, bounded and well-formed. `timeoutMs` is the limit for tools
 * that declare none; `resultCharsMax` the most text of a result (absent: as for the largest
 * window).
 *
 * - The time is over: `call.signal` (as the tool sees it) aborts with a `ToolTimeoutError`; the
 *   outcome is the tool's own answer to that,
 *   or an error result that names the tool and its limit.
 * - `call.signal` aborts: rejects with its reason as soon as the tool has stopped, at the latest
 *   after ABORT_SETTLE_MS. A tool that
 *   comes back with an answer all the same has done its work, and its answer is returned: the
 *   caller checks the signal next.
 * - Anything else that goes wrong is an error result; it rejects for no other reason.
 */
export async function runTool(
  tool: Tool,
  input: unknown,
  call: ToolCall,
  { timeoutMs, resultCharsMax }: { timeoutMs: number; resultCharsMax?: number },
): Promise<ToolOutcome> {
  call.signal.throwIfAborted();
  const limitMs = Math.min(tool.timeoutMs ?? timeoutMs, TIMER_MS_MAX);
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(new ToolTimeoutError(tool.spec.name, limitMs)), limitMs);
  const signal = AbortSignal.any([call.signal, deadline.signal]);
  try {
    const outcome = await settledOrAbandoned(settle(tool, input, { ...call, signal }), signal);
    if (outcome.kind === 'answered') {
      if (tool.hasBoundedResults === true) return outcome.outcome;
      return boundOutcome(await fitImages(outcome.outcome), resultCharsMax);
    }
    call.signal.throwIfAborted();
    return deadline.signal.aborted
      ? timeoutOutcome(deadline.signal.reason as ToolTimeoutError)
      : boundOutcome(thrownOutcome(tool, outcome), resultCharsMax);
  } finally {
    clearTimeout(timer);
  }
}

type ToolExecution =
  | { kind: 'answered'; outcome: ToolOutcome }
  | { kind: 'threw'; error: unknown }
  | { kind: 'abandoned' };

/** The tool's end as a value, so that a late error of an abandoned tool has no effect. */
async function settle(tool: Tool, input: unknown, call: ToolCall): Promise<ToolExecution> {
  try {
    return { kind: 'answered', outcome: await tool.run(input, call) };
  } catch (error) {
    return { kind: 'threw', error };
  }
}

/** Waits for the tool; after an abort only for a while longer. */
async function settledOrAbandoned(running: Promise<ToolExecution>, signal: AbortSignal): Promise<ToolExecution> {
  const abandoned = Promise.withResolvers<ToolExecution>();
  let timer: NodeJS.Timeout | undefined;
  const onAbort = () => {
    const settleMs = signal.reason instanceof ToolTimeoutError ? TIMEOUT_SETTLE_MS : ABORT_SETTLE_MS;
    timer = setTimeout(() => abandoned.resolve({ kind: 'abandoned' }), settleMs);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  // The part of the tool that ran before its first await may have been what aborted it.
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([running, abandoned.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}

function timeoutOutcome(timeout: ToolTimeoutError): ToolOutcome {
  return errorOutcome(`${timeout.message} and was stopped. Its effects until then remain.`);
}

function thrownOutcome(tool: Tool, settled: ToolExecution): ToolOutcome {
  const error = settled.kind === 'threw' ? settled.error : undefined;
  const message = error instanceof Error ? error.message : String(error);
  return errorOutcome(`${tool.spec.name} failed: ${message}`);
}
