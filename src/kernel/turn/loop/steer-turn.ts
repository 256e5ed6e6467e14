// Steering: messages that reach a turn while it runs. Each write of the turn returns the number of the last message that is meant for
// it; when that is new, the worker reads the inbox. What it finds is recorded as an entry of the turn, and the rows are stamped with
// the turn in the same write (G1): a crash leaves either both or neither. Messages that arrive too late are the next turn, from the
// same rows.
import { readAnnouncement, announcementText } from '../../../core/announcement.ts';
import { buildSteerPrompt } from '../../../prompt/message-prompt.ts';
import { keyOfOptions, readOptions, optionsOfInputs } from '../../../core/input-options.ts';
import type { InboundMessage } from '../../../core/inbound.ts';
import type { MessageId } from '../../../core/ids.ts';
import { selectSteers } from '../../../core/queue-mode.ts';
import { newId } from '../../../ids.ts';
import type { WaitingInput } from '../../sessions/claim-session.ts';
import type { TakenSteers } from '../journal/journal.ts';
import { readWaitingInputs } from '../../inbox/last-inputs.ts';
import type { TurnContext } from '../context.ts';
import { deriveProvenance } from '../open/open-view.ts';
import { computeRoom } from '../open/queue-cap.ts';
import { estimateNextRequest } from '../request-tokens.ts';
import { canSendMedia } from '../open/write-prompt.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { runInSlices } from '../run-in-slices.ts';
import { newEntry, NO_ROWS, type TurnWrite } from '../turn-write.ts';
import { pickPromptZone } from '../../../schedule/tick-input.ts';

/** The write by which messages join the turn now; null when there are none. No round trip unless a message for this turn has come. */
export async function findSteering(context: TurnContext, turn: OpenedTurn): Promise<TurnWrite | null> {
  const { journal } = turn;
  const { steerSeq } = journal.at;
  if (steerSeq <= journal.attempt.steersSeen) return null;
  const waiting = await readWaitingInputs(context.database, turn.session.id);
  const { inputs, isCut } = selectSteers(waiting, {
    route: routeOfTurn(turn) ?? routeOfAny(turn, waiting),
    room: computeRoom(context, turn.session, turn.agent, estimateNextRequest(turn)),
  });
  // The remaining messages are read again at the next step.
  journal.note({ steersSeen: isCut ? Math.min(steerSeq, inputs.at(-1)?.seq ?? steerSeq) : steerSeq });
  return inputs.length === 0 ? null : await runInSlices(context.clock, steeringWrite(context, turn, inputs));
}

/** The route that the turn answers (G6); undefined for a cron tick or a heartbeat. */
function routeOfTurn({ journal }: OpenedTurn): string | undefined {
  return journal.at.inputs.find(({ kind }) => kind !== 'cron' && kind !== 'heartbeat')?.route;
}

/** A message of any route may join those, if its options are those of the turn. */
function routeOfAny({ journal }: OpenedTurn, [first]: readonly WaitingInput[]): string {
  const isFitting = keyOfOptions(readOptions(first?.body)) === keyOfOptions(optionsOfInputs(journal.at.inputs));
  return first !== undefined && isFitting ? first.route : '';
}

/** Yields between the messages, because they may be long. */
function* steeringWrite(
  { config }: TurnContext,
  turn: OpenedTurn,
  inputs: readonly WaitingInput[],
): Generator<undefined, TurnWrite> {
  const zone = pickPromptZone(turn.agent);
  const entries: TurnWrite['entries'] = [];
  for (const input of inputs) {
    const announcement = readAnnouncement(input.body);
    const message = input.body as InboundMessage;
    const text =
      announcement === null
        ? buildSteerPrompt(message, {
            zone,
            canSendMedia: canSendMedia(config, turn.toolset, message),
            isTranscribing: config.tools.transcribe !== undefined,
          }).text
        : announcementText(announcement);
    const provenance = deriveProvenance([input], { ownerIds: config.owner.ids });
    const entry = newEntry('steer', 'user', [{ type: 'text', text }]);
    entries.push(provenance === null ? entry : { ...entry, provenance });
    yield;
  }
  const ids = inputs.map(({ id }) => id);
  return {
    ...NO_ROWS,
    entries,
    events: [{ type: 'steer.injected', data: { messageIds: ids } }],
    joining: { inputs, steers: { ids, followUps: inputs.flatMap(toFollowUps) } },
  };
}

// Steered now and answered again in its own turn: that turn's input is new, and has this message as its only cause.
function toFollowUps({ id, mode, body, route }: WaitingInput): TakenSteers['followUps'] {
  if (mode !== 'steer-backlog') return [];
  return [{ id: newId<MessageId>(), causeKey: `follow-up:${id}`, body: JSON.stringify(body), route }];
}
