// Carries out chat commands at the door, before their row is stored with the answer. A command that is sent again under its key is
// not carried out again: it would stop what came after it.
import type { ChatCommand, QueueChange } from '../core/chat-command.ts';
import type { SessionKey } from '../core/ids.ts';
import { endOfModel } from '../core/models.ts';
import { systemClock } from '../clock.ts';
import { agentOf, isAgent, modelRefOf, type Config } from '../config.ts';
import { isKnownMessage, type KeyedRequest } from '../store/idempotency.ts';
import type { SessionFacts } from '../store/session-facts.ts';
import type { ViewDatabase } from '../store/views/page.ts';
import { viewSession } from '../store/views/sessions.ts';
import type { Control } from './context.ts';

interface CommandParts {
  config: Config;
  views: ViewDatabase;
  control: Pick<Control, 'abortSession' | 'patchSession'>;
}

interface GivenCommand {
  command: ChatCommand;
  sessionKey: SessionKey;
  idempotency: KeyedRequest | null;
  platformKey: string | null;
}

/** Carries a command out and resolves with what its sender is told; null for one that takes its turn in the session like a message. */
export type CarryOut = (given: GivenCommand) => Promise<string | null>;

/** Makes the function that carries out commands. */
export function createCommands(parts: CommandParts): CarryOut {
  return async (given) => {
    if (given.command.kind === 'compact') return null;
    // The row that is there already has the answer.
    if (await isKnownMessage(parts.views, given)) return '';
    return carryOut(parts, given);
  };
}

async function carryOut({ config, views, control }: CommandParts, given: GivenCommand): Promise<string | null> {
  const { command, sessionKey } = given;
  switch (command.kind) {
    case 'mistaken':
      return command.reply;
    case 'stop': {
      const done = await control.abortSession({ sessionKey, keepQueued: false });
      return stopReply(done);
    }
    case 'status':
      return statusReply(config, await viewSession(views, sessionKey));
    case 'think': {
      if (command.level === null) {
        const session = await viewSession(views, sessionKey);
        return `Thinking: ${session?.thinking ?? 'default'}.`;
      }
      await control.patchSession(sessionKey, { thinking: command.level });
      return `Thinking is set to ${command.level} for this session.`;
    }
    case 'queue': {
      if (command.change !== null) await control.patchSession(sessionKey, command.change);
      return queueReply(config, await viewSession(views, sessionKey), command.change);
    }
    case 'compact':
      return null;
    default:
      return command satisfies never;
  }
}

function stopReply(done: { cancelled: number; stoppedRuns: number } | null): string {
  const { cancelled, stoppedRuns } = done ?? { cancelled: 0, stoppedRuns: 0 };
  const dropped = cancelled === 0 ? '' : ` Cancelled ${cancelled} waiting ${cancelled === 1 ? 'message' : 'messages'}.`;
  const stopped = stoppedRuns === 0 ? '' : ` Stopped ${stoppedRuns} ${stoppedRuns === 1 ? 'sub-agent' : 'sub-agents'}.`;
  return `⚙️ Agent was aborted.${dropped}${stopped}`;
}

function statusReply(config: Config, session: SessionFacts | null): string {
  if (session === null) return 'There is no session yet.';
  const { tokens } = session;
  const { ref, source, thinking } = modelOf(config, session);
  const end = endOfModel(ref, systemClock.now().toISOString().slice(0, 10));
  return [
    `Session: ${session.key} (${session.status})`,
    `Model: ${ref} (${source}) · thinking ${thinking}`,
    ...(end === null ? [] : [`⚠️ ${end}`]),
    `Tokens: ${tokens.input} in, ${tokens.output} out, ${tokens.context} in context`,
    queueLine(config, session),
    `Waiting: ${session.waitingMessages} messages, ${session.systemEvents} system events`,
  ].join('\n');
}

/** What the next turn of a session asks, as far as no message says otherwise, and where that comes from. */
function modelOf(config: Config, session: SessionFacts): { ref: string; source: string; thinking: string } {
  const agentId = isAgent(config, session.agentId) ? session.agentId : (config.agents.list[0]?.id ?? 'main');
  const agent = agentOf(config, agentId);
  const ref = modelRefOf(agent, session.model ?? agent.model) ?? session.model ?? agent.model;
  const sourceOf = (own: string | null): string => (own === null ? 'default' : 'session');
  return {
    ref,
    source: sourceOf(session.model),
    thinking: `${session.thinking ?? agent.thinking} (${sourceOf(session.thinking)})`,
  };
}

function queueReply(config: Config, session: SessionFacts | null, change: QueueChange | null): string {
  const line = queueLine(config, session);
  return change === null ? line : `Set. ${line}`;
}

function queueLine({ messages: { queue } }: Config, session: SessionFacts | null): string {
  const mode = session?.queueMode ?? queue.mode;
  const debounceMs = session?.queueDebounceMs ?? queue.debounceMs;
  return `Queue: ${mode} · debounce ${debounceMs} ms · cap ${session?.queueCap ?? queue.cap} · drop ${session?.queueDrop ?? queue.drop}`;
}
