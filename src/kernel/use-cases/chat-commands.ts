// Carries out chat commands when they are accepted. What a command changes and its row are one
// transaction (kernel/inbox/commands.ts), so a command that is sent again has no second effect, and
// one acts only on what was accepted before it.
import type { SessionFacts } from '../../contract/views.ts';
import { chatHelp, type ChatCommand } from '../rules/chat-command.ts';
import { isWrittenBySender, type InboundMessage } from '../../core/inbound.ts';
import type { SessionId, SessionKey } from '../../core/ids.ts';
import { endOfModel } from '../../core/models.ts';
import { systemClock } from '../../clock.ts';
import { type Config, modelFault } from '../../config.ts';
import { sessionSettings, type SessionSettings } from '../../config/agent-settings.ts';
import { toReasoning, type ReasoningLevel } from '../../core/reply.ts';
import { agentIdOf, canonicalSessionKey } from '../../core/session-key.ts';
import { isStoredBefore, patchByCommand, type NewCommand } from '../inbox/commands.ts';
import type { SessionPatch } from '../sessions/patch-session.ts';
import { viewSession } from '../views/sessions.ts';
import type { ChatWord, Service } from './service.ts';
import { stopSession } from './operate-service.ts';

export interface GivenCommand {
  command: Exclude<ChatCommand, { kind: 'compact' }>;
  sessionKey: SessionKey;
  sessionId: SessionId;
  /** Its row. */
  input: Omit<NewCommand, 'reply'>;
}

/** Takes the model of the session away. */
const DEFAULT_MODEL = 'default';

/** The effect of a level of reasoning, for people. */
const MEANING: Readonly<Record<ReasoningLevel, string>> = {
  off: "the model's thinking is hidden",
  on: "replies begin with the model's thinking",
  stream: "the model's thinking is sent as live events, and not in replies",
};

/** Carries a command out, and stores it. False: it was stored before, and nothing was done now. */
export async function carryOutCommand(service: Service, given: GivenCommand): Promise<boolean> {
  const { config, views } = service;
  const { command, sessionKey, input } = given;
  switch (command.kind) {
    case 'mistaken':
      return patch(service, given, {}, command.reply);
    case 'stop':
      try {
        await stopSession(service, { sessionKey, keepQueued: false, command: input });
        return true;
      } catch (error) {
        if (isStoredBefore(error)) return false;
        throw error;
      }
    case 'status':
      return patch(service, given, {}, statusReply(config, await viewSession(views, sessionKey)));
    case 'usage':
      return patch(service, given, {}, usageReply(await viewSession(views, sessionKey)));
    case 'model': {
      const { model } = command;
      if (model === null) {
        const { value, source } = toSettings(config, sessionKey, await viewSession(views, sessionKey)).model;
        return patch(service, given, {}, `Model: ${value} (${source}).`);
      }
      if (model.toLowerCase() === DEFAULT_MODEL) {
        const own = toSettings(config, sessionKey, null).model.value;
        return patch(service, given, { model: null }, `The model of this session is the default again: ${own}.`);
      }
      const fault = findModelFault(config, sessionKey, model);
      if (fault !== null) return patch(service, given, {}, `The model was not changed: ${fault}.`);
      return patch(service, given, { model }, `The model of this session is ${model} from its next turn on.`);
    }
    case 'think': {
      const { level } = command;
      if (level !== null) {
        return patch(service, given, { thinking: level }, `Thinking is set to ${level} for this session.`);
      }
      const session = await viewSession(views, sessionKey);
      return patch(service, given, {}, `Thinking: ${session?.thinking ?? 'default'}.`);
    }
    case 'reasoning': {
      const { level } = command;
      if (level !== null)
        return patch(service, given, { reasoning: level }, `Reasoning is set to ${level}: ${MEANING[level]}.`);
      const current = toReasoning((await viewSession(views, sessionKey))?.reasoning ?? null);
      return patch(service, given, {}, `Reasoning: ${current} (${MEANING[current]}).`);
    }
    case 'help':
      return patch(
        service,
        given,
        {},
        [chatHelp(config.session.resetTriggers), ...service.chat.map(({ help }) => help)].join('\n'),
      );
    case 'queue': {
      const session = await viewSession(views, sessionKey);
      if (command.change === null) return patch(service, given, {}, queueLine(toSettings(config, sessionKey, session)));
      const changed = session === null ? null : { ...session, ...command.change };
      return patch(service, given, command.change, `Set. ${queueLine(toSettings(config, sessionKey, changed))}`);
    }
    default:
      return command satisfies never;
  }
}

/**
 * Stores a command of a feature that was carried out, with its reply. False: it was stored before.
 */
export function storeChatWord(
  service: Service,
  given: Pick<GivenCommand, 'sessionId' | 'input'>,
  reply: string,
): Promise<boolean> {
  return patch(service, given, {}, reply);
}

/**
 * The command of a feature that a message is; null: it is none, or its sender may not give it or
 * has not written it.
 */
export function findChatWord({ config, chat }: Service, message: InboundMessage): ChatWord | null {
  if (!isWrittenBySender(message)) return null;
  const [first = ''] = message.text.trim().split(/\s+/, 1);
  const name = first.toLowerCase().replace(/@\w+$/, '');
  return chat.find(({ word, mayGive }) => word === name && mayGive(config, message)) ?? null;
}

async function patch(
  { database, publish }: Service,
  { sessionId, input }: Pick<GivenCommand, 'sessionId' | 'input'>,
  change: SessionPatch,
  reply: string,
): Promise<boolean> {
  const command = { ...input, reply };
  return publish(await patchByCommand(database, { sessionId, patch: change, command })).isStored;
}

function statusReply(config: Config, session: SessionFacts | null): string {
  if (session === null) return 'There is no session yet.';
  const { tokens } = session;
  const settings = sessionSettings(config, session);
  const { model, thinking, reasoning } = settings;
  const end = endOfModel(model.value, systemClock.now().toISOString().slice(0, 10));
  return [
    `Session: ${session.key} (${session.status})`,
    `Model: ${model.value} (${model.source}) · thinking ${thinking.value} (${thinking.source})`,
    ...(reasoning === 'off' ? [] : [`Reasoning: ${reasoning} (${MEANING[reasoning]})`]),
    ...(end === null ? [] : [`⚠️ ${end}`]),
    `Tokens: ${tokens.input} in, ${tokens.output} out, ${tokens.context} in context`,
    queueLine(settings),
    `Waiting: ${session.waitingMessages} messages, ${session.systemEvents} system events`,
  ].join('\n');
}

function usageReply(session: SessionFacts | null): string {
  if (session === null) return 'There is no session yet.';
  const { tokens, costUsd, unpricedCalls, simulated } = session;
  const cost = costUsd === null ? 'not known' : `$${costUsd.toFixed(COST_DIGITS)}`;
  const notes = [
    ...(simulated ? ['simulated'] : []),
    ...(unpricedCalls > 0 ? [`without ${unpricedCalls} calls whose cost is not known`] : []),
  ];
  return [
    `Tokens: ${tokens.input} in, ${tokens.output} out, ${tokens.context} in context`,
    `Cost: ${cost}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}`,
  ].join('\n');
}

const COST_DIGITS = 4;

/** The settings of a session that may not exist yet. */
function toSettings(config: Config, sessionKey: SessionKey, session: SessionFacts | null): SessionSettings {
  return sessionSettings(config, session ?? { agentId: agentIdOf(sessionKey) });
}

function queueLine({ queueMode, queueDebounceMs, queueCap, queueDrop }: SessionSettings): string {
  return `Queue: ${queueMode.value} · debounce ${queueDebounceMs} ms · cap ${queueCap} · drop ${queueDrop}`;
}

/**
 * Why the agent of a session cannot be asked to use a model, for people; null: it can, or none is
 * given.
 */
export function findModelFault(config: Config, sessionKey: string, model: string | null | undefined): string | null {
  return model === undefined || model === null
    ? null
    : modelFault(config, agentIdOf(canonicalSessionKey(sessionKey)), model);
}
