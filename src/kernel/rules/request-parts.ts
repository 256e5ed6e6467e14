// A request taken apart for people to read: the origin of each part, whether it is trusted, its
// estimated tokens, and where the provider's cache ends. Nothing is guessed: system prompt and
// prompts were written with the spans of their parts, and every block of a message knows the entry
// that it is of.
import type { ContentBlock } from '../../core/content.ts';
import { charsOfBlock, CHARS_PER_TOKEN, estimateTextTokens } from '../../core/content-size.ts';
import type { Entry, EntryKind } from '../../core/entry.ts';
import type { CacheControl, ModelMessage, SystemBlock, ToolSpec } from '../../core/model-request.ts';
import type { CleanBody, PartSpan } from '../../prompt/prompt-parts.ts';
import type { SectionSpan } from '../../prompt/system-prompt.ts';

/** `model`: a model wrote it, from trusted and untrusted text. */
export type RequestTrust = 'trusted' | 'untrusted' | 'model';

export interface RequestPart {
  /** Its place in the body: `system[0]`, `tools[3]`, `messages[4].content[1]`. */
  path: string;
  /** Its kind: a section, a tool, a part of a prompt, or the type of a block. */
  name: string;
  /** Its origin: `holdfast`, `sender`, `tool:read`, `plugin:memories`, a model. */
  origin: string;
  trust: RequestTrust;
  /** An estimate. */
  tokens: number;
  /** True when the provider is asked to keep everything up to here in its cache. */
  cacheMarker: boolean;
  /** The part of the block's text that it is, in UTF-16 units; null: all of it. */
  span: { start: number; end: number } | null;
  /** The entry of the transcript that it is of; null: of none. */
  entry: { id: string; seq: number; kind: EntryKind; turnId: string } | null;
}

/** A prompt's entry has the spans that it was stored with. */
export type PartedEntry = Entry & { parts: readonly (PartSpan | CleanBody)[] | null };

/** The body of a request and its stored facts. */
export interface RequestMaterial {
  system: readonly SystemBlock[];
  tools: readonly ToolSpec[];
  /** The messages as they are sent, with cache markers. */
  messages: readonly ModelMessage[];
  /** Per message and block, the entry that it is of; 0: made up, below: a plugin's. */
  trace: readonly (readonly number[])[];
  /**
   * True when it was kept as a whole (a compaction): of its messages it is only known that they
   * describe the transcript.
   */
  isWhole: boolean;
  entries: readonly PartedEntry[];
  /** What plugins put before the history. */
  injected: readonly { plugin: string }[];
  sections: readonly SectionSpan[];
}

/**
 * The parts of a request in the order in which the provider's cache sees them: tools, system
 * prompt, messages.
 */
export function describeRequest(material: RequestMaterial): RequestPart[] {
  return [...toolParts(material), ...systemParts(material), ...messageParts(material)];
}

function toolParts({ tools }: RequestMaterial): RequestPart[] {
  return tools.map((tool, index) => ({
    ...WHOLE,
    path: `tools[${index}]`,
    name: tool.name,
    origin: 'holdfast',
    trust: 'trusted',
    tokens: estimateTextTokens(JSON.stringify(tool)),
    cacheMarker: isMarked(tool),
  }));
}

const WHOLE = { span: null, entry: null } as const;

function systemParts({ system, sections }: RequestMaterial): RequestPart[] {
  const hasStable = sections.some(({ isStable }) => isStable);
  return system.flatMap((block, index) => {
    const path = `system[${index}]`;
    const isStable = hasStable && index === 0;
    const spans = sections.filter((section) => section.isStable === isStable);
    const whole = { name: 'system', origin: 'holdfast', trust: 'trusted' } as const;
    return spanned(block.text, { path, cacheMarker: isMarked(block), entry: null }, spans, whole);
  });
}

function messageParts(material: RequestMaterial): RequestPart[] {
  const entries = new Map(material.entries.map((entry) => [entry.seq, entry]));
  const tools = new Map(
    material.messages.flatMap(({ content }) =>
      content.flatMap((block) => (block.type === 'tool_use' ? [[block.id, block.name] as const] : [])),
    ),
  );
  return material.messages.flatMap(({ content, role }, at) =>
    content.flatMap((block, index) => {
      const seq = material.trace[at]?.[index] ?? 0;
      const place = { path: `messages[${at}].content[${index}]`, cacheMarker: isMarked(block) };
      const plugin = seq < 0 ? material.injected[-1 - seq]?.plugin : undefined;
      const { isWhole } = material;
      return blockParts(block, { role, plugin, entry: entries.get(seq), tools, isWhole }, place);
    }),
  );
}

interface BlockFacts {
  role: ModelMessage['role'];
  /** The plugin that put it there, if one did. */
  plugin: string | undefined;
  entry: PartedEntry | undefined;
  /** The names of the tools by the ids of their calls. */
  tools: ReadonlyMap<string, string>;
  isWhole: boolean;
}

function blockParts(
  block: ContentBlock,
  facts: BlockFacts,
  place: Pick<RequestPart, 'path' | 'cacheMarker'>,
): RequestPart[] {
  const { entry } = facts;
  const of = entry === undefined ? null : { id: entry.id, seq: entry.seq, kind: entry.kind, turnId: entry.turnId };
  const whole = { name: nameBlock(block, facts), ...findSource(block, facts) };
  const spans = entry?.kind === 'prompt' && block.type === 'text' ? findSpans(entry, block.text) : null;
  if (spans !== null && block.type === 'text') return spanned(block.text, { ...place, entry: of }, spans, whole);
  return [{ ...place, ...whole, tokens: estimateTokens(block), span: null, entry: of }];
}

function nameBlock(block: ContentBlock, { entry, tools }: BlockFacts): string {
  if (block.type === 'tool_use') return block.name;
  if (block.type === 'tool_result') return tools.get(block.tool_use_id) ?? block.type;
  return block.type === 'text' && entry !== undefined ? entry.kind : block.type;
}

function findSource(
  block: ContentBlock,
  { role, plugin, entry, tools, isWhole }: BlockFacts,
): Pick<RequestPart, 'origin' | 'trust'> {
  if (isWhole) return { origin: 'transcript', trust: 'untrusted' };
  if (plugin !== undefined) return { origin: `plugin:${plugin}`, trust: 'trusted' };
  if (entry === undefined) return { origin: 'holdfast', trust: 'trusted' };
  if (block.type === 'tool_result') {
    return { origin: `tool:${tools.get(block.tool_use_id) ?? 'unknown'}`, trust: 'untrusted' };
  }
  if (role === 'assistant' || entry.kind === 'summary') return { origin: 'model', trust: 'model' };
  if (entry.provenance?.kind === 'heartbeat') return { origin: 'holdfast', trust: 'trusted' };
  if (entry.provenance?.kind === 'inter_session') {
    return { origin: `session:${entry.provenance.sourceSession}`, trust: 'untrusted' };
  }
  return { origin: entry.provenance?.kind === 'client' ? 'client' : 'sender', trust: 'untrusted' };
}

type Span = Pick<PartSpan, 'name' | 'origin' | 'trust' | 'start' | 'end'>;

/**
 * The positions of the parts of a prompt in the sent text; null when the stored spans do not
 * contain them.
 */
function findSpans({ parts, content }: PartedEntry, sent: string): Span[] | null {
  const stored = content.find((block) => block.type === 'text');
  if (parts === null || stored?.type !== 'text' || !sent.endsWith(stored.text)) return null;
  // A marker may precede it.
  const offset = sent.length - stored.text.length;
  const spans = parts.flatMap((part) =>
    'start' in part ? [{ ...part, start: part.start + offset, end: part.end + offset }] : [],
  );
  if (offset === 0) return spans;
  return [{ name: 'marker', origin: 'holdfast', trust: 'trusted', start: 0, end: offset }, ...spans];
}

/**
 * A part per span; one part when there are none. The last of them carries the cache marker of the
 * block.
 */
function spanned(
  text: string,
  place: Pick<RequestPart, 'path' | 'cacheMarker' | 'entry'>,
  spans: readonly (Span | SectionSpan)[],
  whole: Pick<RequestPart, 'name' | 'origin' | 'trust'>,
): RequestPart[] {
  if (spans.length === 0) return [{ ...place, ...whole, tokens: estimateTextTokens(text), span: null }];
  return spans.map(({ name, origin, trust, start, end }, index) => ({
    ...place,
    name,
    origin,
    trust,
    tokens: estimateTextTokens(text.slice(start, end)),
    cacheMarker: place.cacheMarker && index === spans.length - 1,
    span: { start, end },
  }));
}

function estimateTokens(block: ContentBlock): number {
  return Math.ceil(charsOfBlock(block) / CHARS_PER_TOKEN);
}

function isMarked(part: object): boolean {
  return (part as { cache_control?: CacheControl }).cache_control !== undefined;
}
