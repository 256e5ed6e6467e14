// What every stream of a chat completion must be, written down apart from the code that makes it:
// one id, one time and one model in all chunks; the role first; calls by their index, each with its
// id and name in its first chunk; one end; then the usage for clients that asked for it.
interface Delta {
  role?: string;
  content?: string | null;
  tool_calls?: { index: number; id?: string; type?: string; function?: { name?: string; arguments?: string } }[];
}

export interface Chunk {
  id: string;
  object: string;
  created: number;
  model: string;
  choices: { index: number; delta: Delta; finish_reason: string | null }[];
  usage?: object | null;
}

/** What is wrong with a stream, one sentence each; empty: nothing. */
export function faultsOfChunks(chunks: readonly Chunk[], { wantsUsage }: { wantsUsage: boolean }): string[] {
  const [first] = chunks;
  if (first === undefined) return ['there is no chunk'];
  const faults: string[] = [];
  for (const field of ['id', 'created', 'model'] as const)
    if (chunks.some((chunk) => chunk[field] !== first[field])) faults.push(`${field} is not the same in all chunks`);
  if (chunks.some(({ object }) => object !== 'chat.completion.chunk')) faults.push('a chunk is another object');
  const spoken = wantsUsage ? chunks.slice(0, -1) : chunks;
  const last = chunks.at(-1);
  if (wantsUsage && (last?.choices.length !== 0 || typeof last.usage !== 'object' || last.usage === null))
    faults.push('the last chunk is not the usage');
  if (wantsUsage && spoken.some(({ usage }) => usage !== null)) faults.push('a chunk before the last has a usage');
  if (!wantsUsage && chunks.some((chunk) => 'usage' in chunk)) faults.push('a usage comes unasked');
  if (spoken.some(({ choices }) => choices.length !== 1 || choices[0]?.index !== 0))
    faults.push('a chunk has not one choice');
  const deltas = spoken.flatMap(({ choices }) => choices.map(({ delta }) => delta));
  if (deltas.map(({ role }) => role ?? '').join(',') !== ['assistant', ...deltas.slice(1).map(() => '')].join(','))
    faults.push('the role is not in the first chunk alone');
  const ends = spoken.map(({ choices }) => choices[0]?.finish_reason ?? null);
  if (ends.filter((end) => end !== null).length !== 1 || ends.at(-1) === null)
    faults.push('the reason of the end is not in the last chunk alone');
  const calls = new Map<number, { id: string | undefined; name: string | undefined; json: string }>();
  for (const { index, id, function: called } of deltas.flatMap(({ tool_calls: parts = [] }) => parts)) {
    const known = calls.get(index);
    if (known === undefined) {
      if (index !== calls.size) faults.push(`the call ${index} comes before those before it`);
      if (!id || !called?.name) faults.push(`the call ${index} begins without an id or a name`);
    } else if (id !== undefined) faults.push(`the call ${index} gets a second id`);
    calls.set(index, {
      id: known?.id ?? id,
      name: known?.name ?? called?.name,
      json: (known?.json ?? '') + (called?.arguments ?? ''),
    });
  }
  for (const [index, { json }] of calls)
    if (!isJson(json)) faults.push(`the arguments of the call ${index} are no JSON`);
  if (calls.size > 0 !== (ends.at(-1) === 'tool_calls'))
    faults.push(`the end ${ends.at(-1)} does not fit ${calls.size} calls`);
  return faults;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The text and the calls of a stream. */
export function answerOf(chunks: readonly Chunk[]): {
  text: string;
  calls: { id: string; name: string; arguments: string }[];
} {
  const calls: { id: string; name: string; arguments: string }[] = [];
  let text = '';
  for (const { delta } of chunks.flatMap(({ choices }) => choices)) {
    text += delta.content ?? '';
    for (const { index, id, function: called } of delta.tool_calls ?? []) {
      const call = (calls[index] ??= { id: '', name: '', arguments: '' });
      call.id += id ?? '';
      call.name += called?.name ?? '';
      call.arguments += called?.arguments ?? '';
    }
  }
  return { text, calls };
}
