// Carries out chat commands when they are accepted. What a command changes and its row are one statement (store/commands.ts), so a command
// that is sent again has no second effect, and one acts only on what was accepted before it.
import type { ChatCommand } from '../core/chat-command.ts';
import type { SessionId, SessionKey } from '../core/ids.ts';
import { endOfModel } from '../core/models.ts';
import { systemClock } from '../clock.ts';
import { agentOf, isAgent, modelRefOf, type Config } from '../config.ts';
import { isStoredNow, type NewCommand } from '../store/commands.ts';
import type { SessionPatch } from '../store/patch-session.ts';
import type { SessionFacts } from '../store/session-facts.ts';
import type { ViewDatabase } from '../store/views/page.ts';
import { viewSession } from '../store/views/sessions.ts';
import type { Control } from './context.ts';

interface CommandParts {
  config: Config;
  views: ViewDatabase;
  control: Pick<Control, 'abortSession' | 'patchByCommand'>;
}

interface GivenCommand {
  command: ChatCommand;
  sessionKey: SessionKey;
  sessionId: SessionId;
  /** Its row. */
  input: Omit<NewCommand, 'reply'>;
}

/**
 * `stored`: the effect and the row of the command are committed. `known`: the command was stored before, and nothing was done now.
 * `reply`: it changes nothing, and its row is to be stored with this reply. `message`: it takes its turn in the session like a message.
 */
export type CommandOutcome = { kind: 'stored' | 'known' | 'message' } | { kind: 'reply'; text: string };

/** Carries a command out. */
export type CarryOut = (given: GivenCommand) => Promise<CommandOutcome>;

/** Makes the function that carries out commands. */
export function createCommands(parts: CommandParts): CarryOut {
  return (given) => carryOut(parts, given);
}

async function carryOut(parts: CommandParts, given: GivenCommand): Promise<CommandOutcome> {
  const { config, views, control } = parts;
  const { command, sessionKey, input } = given;
  switch (command.kind) {
    case 'mistaken':
      return { kind: 'reply', text: command.reply };
    case 'stop': {
      const wish = { sessionKey, keepQueued: false, command: input };
      return outcomeOf(await isStoredNow(() => control.abortSession(wish)));
    }
    case 'status':
      return { kind: 'reply', text: statusReply(config, await viewSession(views, sessionKey)) };
    case 'think': {
      const { level } = command;
      if (level !== null) {
        return patch(parts, given, { thinking: level }, `Thinking is set to ${level} for this session.`);
      }
      const session = await viewSession(views, sessionKey);
      return { kind: 'reply', text: `Thinking: ${session?.thinking ?? 'default'}.` };
    }
    case 'queue': {
      const session = await viewSession(views, sessionKey);
      if (command.change === null) return { kind: 'reply', text: queueLine(config, session) };
      const changed = session === null ? null : { ...session, ...command.change };
      return patch(parts, given, command.change, `Set. ${queueLine(config, changed)}`);
    }
    case 'compact':
      return { kind: 'message' };
    default:
      return command satisfies never;
  }
}

async function patch(
  { control }: CommandParts,
  { sessionId, input }: GivenCommand,
  change: SessionPatch,
  reply: string,
): Promise<CommandOutcome> {
  return outcomeOf(await control.patchByCommand({ sessionId, patch: change, command: { ...input, reply } }));
}

function outcomeOf(isStored: boolean): CommandOutcome {
  return { kind: isStored ? 'stored' : 'known' };
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

function queueLine({ messages: { queue } }: Config, session: SessionFacts | null): string {
  const mode = session?.queueMode ?? queue.mode;
  const debounceMs = session?.queueDebounceMs ?? queue.debounceMs;
  return `Queue: ${mode} · debounce ${debounceMs} ms · cap ${session?.queueCap ?? queue.cap} · drop ${session?.queueDrop ?? queue.drop}`;
}
