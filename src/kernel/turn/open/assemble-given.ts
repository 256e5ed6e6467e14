// A turn whose first request was fixed before it opened, as that of a turn which is replayed. Nothing
// of it is assembled: no workspace, skill, plugin or tool has a part in it. It asks no other model
// than the given one, has no tool that runs, and is not compacted, so that its requests are the
// given one with its own steps after it.
import type { GivenRequest } from '../../../core/given-request.ts';
import { joinText } from '../../../core/content.ts';
import { createToolset } from '../../../tools/toolset.ts';
import type { InjectedMessage } from '../../../prompt/read-contributions.ts';
import type { Assembly } from './assembly.ts';
import type { TurnContext } from '../context.ts';
import { takeSnapshot } from '../transcript-cache.ts';
import { TurnFailed } from '../turn-stop.ts';

/** The tools of such a turn: its calls are answered by stand-ins. */
export const NO_TOOLS = createToolset({ tools: [] });

/** What the opening of such a turn commits. Throws `TurnFailed` when it does not end with a prompt. */
export function assembleGiven({ store }: Pick<TurnContext, 'store'>, given: GivenRequest): Assembly {
  const { messages, responseFormat, ...base } = given.request;
  const prompt = messages.at(-1);
  if (prompt?.role !== 'user')
    throw new TurnFailed('malformed_history', 'The given request does not end with a prompt.');
  const request = { ...base, ...(responseFormat === undefined ? {} : { responseFormat }) };
  const past = messages.slice(0, -1).map((message): InjectedMessage => ({ ...message, plugin: 'given' }));
  const injected = past.length === 0 ? null : store.snapshotCache.keep(past).snapshot;
  const format = responseFormat === undefined ? null : store.snapshotCache.keep(responseFormat).snapshot;
  return {
    prompt: { text: joinText(prompt.content), content: prompt.content, thinking: given.thinking, parts: null },
    request,
    toolset: NO_TOOLS,
    view: {
      given: { isSameModel: given.isSameModel },
      ...(injected === null ? {} : { injectedSha256: injected.sha256 }),
      ...(format === null ? {} : { formatSha256: format.sha256 }),
    },
    sessionView: null,
    snapshots: [
      takeSnapshot(request.system),
      takeSnapshot(request.tools),
      ...[injected, format].filter((snapshot) => snapshot !== null),
    ],
    failure: null,
  };
}
