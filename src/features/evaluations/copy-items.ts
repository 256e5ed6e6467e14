// Fills the items of turns: the request of the first call as it was sent, the recorded steps, and
// the reply. An item is copied by itself, so what a crash leaves out the next round does, and one
// conversation is in memory.
import { agentOf, isAgent } from '../../config.ts';
import type { ContentBlock } from '../../core/content.ts';
import type { InboundMessage } from '../../core/inbound.ts';
import { storableText } from '../../core/text.ts';
import { readAnnouncement } from '../../core/subagents.ts';
import { isPassingFault } from '../../database/passing-faults.ts';
import { deriveSentRequest } from '../../kernel/turn/open/derive-request.ts';
import type { OpenModel, Service } from '../../kernel/use-cases/service.ts';
import { messageText } from '../../kernel/views/messages.ts';
import type { RecordedStep } from './rules/cases.ts';
import { listSteps } from './rules/match-calls.ts';
import {
  dropCopy,
  readCopying,
  readTurnToCopy,
  storeCopy,
  type CopiedItem,
  type TurnCopy,
  type TurnToCopy,
} from './store/copy-turns.ts';

const PORTION_ITEMS = 50;

const GONE = 'The turn was deleted before it was copied.';
const NOT_ASKED = 'No request of its first step was sent to a model, so there is nothing to ask again.';
const LOST =
  'Parts of its first request are not kept any more, so it cannot be sent as it was. Add turns before retention deletes their snapshots.';
const CHANGED =
  'Its first request cannot be built again byte for byte: what is stored of it differs from what was sent.';

export interface CopyWanted {
  /** Absent: items of all data sets. */
  datasetId?: string;
  /** The most items. */
  limit: number;
  /** The model, for the bytes of requests to other providers than Anthropic. */
  openModel: OpenModel;
  signal?: AbortSignal;
}

/** Copies the turns of items that are not copied yet; resolves with how many it has worked on. */
export async function copyItems(
  service: Service,
  { datasetId, limit, openModel, signal }: CopyWanted,
): Promise<number> {
  const isEnding = (): boolean => signal?.aborted === true;
  let done = 0;
  while (done < limit && !isEnding()) {
    const items = await readCopying(service.database, {
      datasetId: datasetId ?? null,
      limit: Math.min(PORTION_ITEMS, limit - done),
    });
    if (items.length === 0) break;
    for (const item of items) {
      if (isEnding()) break;
      await copyItem(service, item, openModel);
      done += 1;
    }
  }
  return done;
}

type AsShown = (content: ContentBlock[]) => ContentBlock[];

async function copyItem(service: Service, item: CopiedItem, openModel: OpenModel): Promise<void> {
  const { database } = service;
  const turn = await readTurnToCopy(database, item.turnId);
  if (turn === null) return dropCopy(database, item, GONE);
  await storeCopy(database, item, await buildCopy(service, { turnId: item.turnId, turn }, openModel));
}

/** A turn whose copy cannot be built is excluded, so that it does not keep others from being copied. */
async function buildCopy(
  service: Service,
  { turnId, turn }: { turnId: string; turn: TurnToCopy },
  openModel: OpenModel,
): Promise<TurnCopy> {
  const { callNo, bodies } = turn;
  const input = storableText(bodies.map(textOf).join('\n\n'));
  try {
    const { asShown, ...sent } = await readSent(service, { turnId, turn }, openModel);
    return { callNo, input, steps: stepsOf(turn, asShown), ...sent };
  } catch (error) {
    if (isPassingFault(error)) throw error;
    const why = error instanceof Error ? error.message : String(error);
    return { callNo, input, steps: [], request: null, excluded: `Its copy could not be made: ${why}` };
  }
}

/** Its steps, with results as the model has read them: a run sends them as they are. */
function stepsOf({ entries, isSilent }: TurnToCopy, asShown: AsShown = (content) => content): RecordedStep[] {
  const steps = listSteps(
    entries.map((entry) => (entry.kind === 'answer' ? entry : { ...entry, content: asShown(entry.content) })),
  );
  const last = steps.at(-1);
  const hasYielded = isSilent && entries.at(-1)?.kind === 'results';
  return last === undefined || !hasYielded ? steps : [...steps.slice(0, -1), { ...last, endsTurn: true }];
}

/** The request of the first call; none with the reason why it cannot be sent again. */
async function readSent(
  { config, database }: Service,
  { turnId, turn: { callNo, hasSnapshots } }: { turnId: string; turn: TurnToCopy },
  openModel: OpenModel,
): Promise<Pick<TurnCopy, 'request' | 'excluded'> & { asShown?: AsShown }> {
  if (callNo === null) return { request: null, excluded: NOT_ASKED };
  if (!hasSnapshots) return { request: null, excluded: LOST };
  // A replica may not have a turn yet that has just ended.
  const sent = await deriveSentRequest(
    { ...database, reads: database.views },
    {
      turnId,
      callNo,
      defaultThinking: (agentId) => (isAgent(config, agentId) ? agentOf(config, agentId).thinking : 'off'),
      writeBody: async (request, sessionKey) => (await openModel()).writeBody(request, sessionKey),
    },
  );
  if (sent === null) return { request: null, excluded: NOT_ASKED };
  if (sent.matches === false) return { request: null, excluded: CHANGED };
  return { request: { ...sent.request, level: sent.level }, excluded: null, asShown: sent.asShown };
}

function textOf(body: unknown): string {
  return messageText((body as Partial<InboundMessage>).text ?? null, readAnnouncement(body));
}
