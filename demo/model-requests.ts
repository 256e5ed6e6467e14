// Chapter: the requests of the model. The service derives each from its journal; the model server
// recorded what arrived. The two must be equal, also for the turn that two workers ran.
import { isDeepStrictEqual } from 'node:util';
import type { Chapter, Scene } from './chapter.ts';

export const modelRequests: Chapter = {
  id: 'model-requests',
  title: 'What the model was sent, call by call',
  proves: 'every request is derived from the journal, byte for byte',
  play: playModelRequests,
};

interface Block {
  type: string;
  text?: string;
  name?: string;
  is_error?: boolean;
  cache_control?: unknown;
}

interface WireBody {
  model: string;
  system: Block[];
  tools: { name: string }[];
  messages: { role: string; content: Block[] }[];
}

/** A request as the model server recorded it. */
interface Received {
  path: string;
  headers: Record<string, string>;
  body: WireBody;
}

async function playModelRequests(scene: Scene): Promise<void> {
  const { stage, check, progress, record } = scene;
  const turnId = record.rescuedTurnId;
  const received = await readReceived(scene, turnId);
  const derived = await Promise.all(
    received.map(async ({ headers }) => {
      const path = `/v1/turns/${turnId}/requests/${headers['x-holdfast-call']}`;
      return (await stage.read<{ request: WireBody }>(path)).request;
    }),
  );
  const shown = derived[FIRST_OF_FOLLOWER];
  if (shown !== undefined) for (const line of summaryOf(shown)) progress.print(line);
  check(
    received.length > FIRST_OF_FOLLOWER &&
      isDeepStrictEqual(
        derived,
        received.map(({ body }) => body),
      ),
    `the service shows each of the ${received.length} requests of that turn as the model server received it`,
    { received: received.length },
  );
  const epochs = received.map(({ headers }) => Number(headers['x-holdfast-epoch']));
  const [first = 0] = epochs;
  check(
    epochs.slice(0, FIRST_OF_FOLLOWER).every((epoch) => epoch === first) &&
      epochs.slice(FIRST_OF_FOLLOWER).every((epoch) => epoch > first),
    `calls 1 to ${FIRST_OF_FOLLOWER} came from the killed worker, the others under a higher fencing number`,
    epochs,
  );
}

/**
 * The index of the first call that the second worker made: the first of three was for the step in
 * which the first one was killed.
 */
const FIRST_OF_FOLLOWER = 3;

/** The requests of a turn as the model server received them, oldest first. */
export async function readReceived({ stage }: Scene, turnId: string | null): Promise<Received[]> {
  const response = await fetch(`${stage.modelUrl}/requests?turn=${turnId}`, { signal: stage.signal });
  // The server is a part of Holdfast; this is the type of its answer.
  const { requests } = (await response.json()) as { requests: Received[] };
  return requests;
}

/** The request in a few lines. */
function summaryOf({ system, tools, messages }: WireBody): string[] {
  const sizes = system.map((block) => {
    const kilobytes = ((block.text ?? '').length / 1000).toFixed(1);
    return `${kilobytes} kB${block.cache_control === undefined ? '' : ' (cached by the provider)'}`;
  });
  const last = messages.at(-1)?.content.at(-1);
  return [
    `call ${FIRST_OF_FOLLOWER + 1}, the first of the second worker:`,
    `  system    ${sizes.join(' + ')}`,
    `  tools     ${tools.map((tool) => tool.name).join(', ')}`,
    `  messages  ${messages.map(describeMessage).join(' · ')}`,
    `  the last  ${last?.type}${last?.is_error === true ? ', an error: "outcome unknown"' : ''}`,
  ];
}

function describeMessage({ role, content }: WireBody['messages'][number]): string {
  const [block] = content;
  if (block?.type === 'tool_use') return `call ${block.name}`;
  return block?.type === 'tool_result' ? 'result' : role;
}
