// What holds for a session and where it comes from: its own override, its channel, or the configuration of its agent. A message may still
// say otherwise for its own turn.
import type { QueueDrop, QueueMode } from '../core/queue-mode.ts';
import { toReasoning, type ReasoningLevel } from '../core/reply.ts';
import { agentOrFirst, resolveModelRef } from './agent-settings.ts';
import type { Config } from './schema.ts';

/** The overrides of a session, as its row has them; null: none. */
export interface SessionOverrides {
  agentId: string;
  channel: string | null;
  model: string | null;
  thinking: string | null;
  reasoning: string | null;
  queueMode: string | null;
  queueDebounceMs: number | null;
  queueCap: number | null;
  queueDrop: string | null;
}

export interface SourcedValue<Value> {
  value: Value;
  source: 'session' | 'channel' | 'default';
}

export interface SessionSettings {
  /** `provider/model`, or the name as it is when it is no longer an alias. */
  model: SourcedValue<string>;
  thinking: SourcedValue<string>;
  reasoning: ReasoningLevel;
  queueMode: SourcedValue<string>;
  queueDebounceMs: number;
  queueCap: number;
  queueDrop: string;
}

/** The settings of a session; absent overrides: it does not exist yet. An agent that the configuration does not list has those of the first one. */
export function sessionSettings(
  config: Config,
  session: Partial<SessionOverrides> & Pick<SessionOverrides, 'agentId'>,
): SessionSettings {
  const { queue } = config.messages;
  const agent = agentOrFirst(config, session.agentId);
  const model = sourced(session.model, agent.model);
  const { channel = null, queueMode = null } = session;
  const ofChannel: QueueMode | undefined =
    channel !== null && Object.hasOwn(queue.byChannel, channel) ? queue.byChannel[channel] : undefined;
  const drop: QueueDrop = queue.drop;
  return {
    model: { ...model, value: resolveModelRef(agent, model.value) ?? model.value },
    thinking: sourced(session.thinking, agent.thinking),
    reasoning: toReasoning(session.reasoning ?? null),
    queueMode:
      queueMode === null && ofChannel !== undefined
        ? { value: ofChannel, source: 'channel' }
        : sourced(queueMode, queue.mode),
    queueDebounceMs: session.queueDebounceMs ?? queue.debounceMs,
    queueCap: session.queueCap ?? queue.cap,
    queueDrop: session.queueDrop ?? drop,
  };
}

function sourced(own: string | null | undefined, byDefault: string): SourcedValue<string> {
  return own == null ? { value: byDefault, source: 'default' } : { value: own, source: 'session' };
}
