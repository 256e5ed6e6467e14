// What answers the tool calls of a try. A call that the tried turn has made has its result; other
// calls run only if they change nothing. Each answer is a tool, so that the ledger, the events and
// the resume after a crash are those of every call.
import { findCaller, findCallerTool } from '../../core/input-options.ts';
import { listToolUses, type ToolUseBlock } from '../../core/content.ts';
import type { InboundMessage } from '../../core/inbound.ts';
import { hasEffects } from '../../core/session-key.ts';
import type { TurnFeature, TurnParts } from '../../kernel/turn/context.ts';
import type { OpenedTurn } from '../../kernel/turn/opened-turn.ts';
import { onlyReads, textOutcome, type Tool, type ToolOutcome } from '../../tools/tool.ts';
import { listRecorded, matchCalls, notRunText, type RecordedCall } from './rules.ts';
import { readTriedEntries } from './store/read-tried.ts';

export function triesInTurns({ database }: TurnParts): TurnFeature {
  return {
    calls: {
      async standIns(turn, calls) {
        if (hasEffects(turn.session)) return null;
        const tried = triedTurn(turn);
        const recorded = tried === null ? [] : listRecorded(await readTriedEntries(database, tried));
        const found = matchCalls(recorded, listEarlier(turn, calls), calls);
        const named = calls.flatMap((call, index): [string, Tool][] => {
          const result = found[index]?.result;
          if (result !== undefined) return [[call.id, saying(call, toOutcome(result))]];
          const tool = turn.toolset.findTool(call.name);
          const { callerNames = [] } = turn.journal.attempt.requests.rules.view;
          const isKnown =
            tool !== undefined ||
            findCallerTool(findCaller(turn.journal.at.inputs), callerNames, call.name) !== undefined;
          if (!isKnown || (tool !== undefined && onlyReads(tool, call.input))) return [];
          return [[call.id, saying(call, textOutcome(notRunText(call.name)))]];
        });
        return new Map(named);
      },
    },
  };
}

function triedTurn({ journal }: OpenedTurn): string | null {
  const [first] = journal.at.inputs;
  return (first?.body as Partial<InboundMessage> | undefined)?.tryOf ?? null;
}

/** A recorded result as the outcome of the call that repeats it. */
export function toOutcome({ content, is_error: isError }: RecordedCall['result']): ToolOutcome {
  return { content: content as ToolOutcome['content'], isError: isError === true };
}

/** The calls that the turn has made before these, which an earlier worker may have stored. */
export function listEarlier(turn: OpenedTurn, calls: readonly ToolUseBlock[]): ToolUseBlock[] {
  const { promptSeq } = turn.journal.attempt.requests.rules;
  const ids = new Set(calls.map(({ id }) => id));
  const own = turn.transcript.entries.filter(({ seq, kind }) => seq > promptSeq && kind === 'answer');
  return own.flatMap(({ content }) => listToolUses(content)).filter(({ id }) => !ids.has(id));
}

/** A tool that only says this. */
export function saying(call: ToolUseBlock, outcome: ToolOutcome): Tool {
  return {
    spec: { name: call.name, description: '', input_schema: { type: 'object' } },
    summary: '',
    isIdempotent: true,
    isReadOnly: true,
    // A second bound would change the note of what the first has left out.
    hasBoundedResults: true,
    run: () => Promise.resolve(outcome),
  };
}
