// Derives the request of a model call that was made: from the snapshots that its turn was opened
// with, the views that its turn and itself were stored with, and the entries that it showed,
// whatever their state is now. Nothing of it is stored twice; the hash of the body that was sent
// proves that it is the same.
import { createHash } from 'node:crypto';
import { isPaidPurpose, type ModelRequest, type SystemBlock, type ToolSpec } from '../../../core/model-request.ts';
import type { ContentBlock } from '../../../core/content.ts';
import { samplingAt } from '../../../core/input-options.ts';
import { given } from '../../../core/json.ts';
import type { ResponseFormat } from '../../../core/response-format.ts';
import { viewMessages, type ViewedMessages, type ViewRules } from '../../../history/past.ts';
import { hashesOfImages } from '../../../images/rules/plan-images.ts';
import { modelName, modelOfRef } from '../../../core/models.ts';
import { withMarkers } from '../../../core/cache-markers.ts';
import type { SectionSpan } from '../../../prompt/system-prompt.ts';
import { describeRequest, type PartedEntry, type RequestPart } from '../../rules/request-parts.ts';
import { thinkingRequest } from '../../../core/thinking-request.ts';
import type { ThinkingLevel } from '../../../config.ts';
import type { Model } from '../../../model/model.ts';
import { toBatchParams, toWireRequest, type WireRequest } from '../../../model/transport.ts';
import type { Database } from '../../../database/database.ts';
import { readCall, readCallEntries, type StoredCall } from '../journal/model-calls.ts';
import { readSnapshots } from '../../sessions/snapshots.ts';
import { createInputTransform } from '../../../model/stream/replace-text.ts';
import { resolveBlobs, toThinkingRequest, providerView, viewWith } from './open-view.ts';

export interface DerivedRequest {
  turnId: string;
  call: number;
  step: number;
  /** The purpose of the call: an answer of the turn, or the summary of a compaction. */
  purpose: string;
  status: string;
  /** The body as it was sent. */
  request: SentBody;
  /** The hash of the bytes that were sent, in hex; null: none were. */
  requestSha256: string | null;
  /**
   * Whether the body as it is derived here has the same hash; null when nothing was sent, or when
   * it went to a provider of a plugin in a form that only the plugin knows.
   */
  matches: boolean | null;
  /**
   * The body in the form of another API, as text; null: `request` is the body, or the form cannot
   * be written here.
   */
  body: string | null;
  /**
   * Whose words it is made of, in the order of the provider's cache: tools, system prompt,
   * messages.
   */
  parts: RequestPart[];
}

interface WantedRequest {
  turnId: string;
  callNo: number;
  /** Applies to turns that were opened without their own limits. */
  defaultThinking: (agentId: string) => ThinkingLevel;
  /** Absent: requests to other APIs are not written in their form. */
  writeBody?: Model['writeBody'];
}

/** The request of call `callNo` of a turn; null when there was no such call. */
export async function deriveRequest(from: Database, wanted: WantedRequest): Promise<DerivedRequest | null> {
  const derived = await deriveModelRequest(from, wanted);
  if (derived === null) return null;
  const { call, request, isWhole, entries, trace, injected, sections } = derived;
  const { body, other, matches } = await encode(request, call, wanted);
  return {
    turnId: wanted.turnId,
    call: wanted.callNo,
    step: call.step,
    purpose: call.purpose,
    status: call.status,
    request: body.request,
    requestSha256: call.requestSha256,
    matches,
    body: other?.text ?? null,
    parts: describeRequest({
      system: body.request.system ?? [],
      tools: body.request.tools ?? [],
      messages: body.request.messages,
      trace,
      isWhole,
      entries,
      injected,
      sections,
    }),
  };
}

/** A request that can be asked again: in the form of the product. */
interface SentRequest {
  request: ModelRequest;
  /** The level by which its thinking was chosen; null: that of the agent. */
  level: ThinkingLevel | null;
  /** Whether it is what was sent; null: that is not known. */
  matches: boolean | null;
  /** What was shown of later entries of its turn, as plugins have replaced texts in them. */
  asShown: (content: ContentBlock[]) => ContentBlock[];
}

/** The request of call `callNo` of a turn; null when there was no such call. */
export async function deriveSentRequest(from: Database, wanted: WantedRequest): Promise<SentRequest | null> {
  const derived = await deriveModelRequest(from, wanted);
  if (derived === null) return null;
  const { request, call } = derived;
  const { matches } = await encode(request, call, wanted);
  const transform = createInputTransform(call.turnView);
  const asShown = (content: ContentBlock[]): ContentBlock[] =>
    transform({ system: [], messages: [{ role: 'user', content }] }).messages[0]?.content ?? content;
  return { request, level: call.thinking, matches, asShown };
}

/** A request in the form of the product, with what it was made of. */
interface DerivedModelRequest {
  call: StoredCall;
  request: ModelRequest;
  /** True for one that was kept as a whole; what follows is empty then. */
  isWhole: boolean;
  entries: readonly PartedEntry[];
  trace: ViewedMessages['trace'];
  injected: ViewRules['injected'];
  sections: readonly SectionSpan[];
}

async function deriveModelRequest(from: Database, wanted: WantedRequest): Promise<DerivedModelRequest | null> {
  // It is asked for by reads alone, so it reads what they read from.
  const database = { ...from, hot: from.reads, views: from.reads };
  const call = await readCall(database, wanted);
  // What a tool asks another model, or of which audio it was, is not kept.
  if (call === null || isPaidPurpose(call.purpose)) return null;
  const [entries, blobs] = await Promise.all([readCallEntries(database, call), readBlobs(database, call)]);
  const whole = blobs.get(call.view?.wholeSha256 ?? '') as ModelRequest | undefined;
  const { promptSeq } = call;
  const { of, view, limits } = pickAskedModel(call);
  const { traits } = call.view ?? {};
  const named = resolveBlobs(view, blobs);
  if (whole !== undefined)
    return { call, request: whole, isWhole: true, entries: [], trace: [], injected: named.injected, sections: [] };
  const viewed = viewMessages(entries, { view, promptSeq, model: modelName(of), isTraced: true, ...named }, call.view);
  const sampling = samplingAt(view.sampling, call.step);
  const request: ModelRequest = {
    ...of,
    ...(limits ?? thinkingRequest({ ...of, level: call.thinking ?? wanted.defaultThinking(call.agentId) })),
    ...given({ sampling, traits, responseFormat: blobs.get(view.formatSha256 ?? '') as ResponseFormat | undefined }),
    tools: (blobs.get(call.toolsSha256) ?? []) as ToolSpec[],
    ...createInputTransform(view)({
      system: (blobs.get(call.systemSha256) ?? []) as SystemBlock[],
      messages: [...viewed.messages],
    }),
  };
  const sections = (blobs.get(view.sectionsSha256 ?? '') ?? []) as SectionSpan[];
  return { call, request, isWhole: false, entries, trace: viewed.trace, injected: named.injected, sections };
}

async function encode(request: ModelRequest, call: StoredCall, wanted: WantedRequest) {
  const { requestSha256 } = call;
  const body = encodeBody(withMarkers(request, call.view?.cache ?? '5m'), requestSha256);
  const other = await writeOther(request, call, wanted);
  return { body, other, matches: compareBody(request, other ?? body, { requestSha256, isKnown: other !== null }) };
}

/** The model that a call asked: that of its turn, or the one that the turn had stepped down to. */
function pickAskedModel({ turnView, model, view: ofCall }: StoredCall) {
  const { fallback, originsAfterSeq, imagesAfterSeq, limits: fitted } = ofCall ?? {};
  const view = { ...turnView, ...given({ originsAfterSeq, imagesAfterSeq }) };
  if (fallback === undefined)
    return { of: { ...providerView(view), model }, view, limits: fitted ?? toThinkingRequest(view) };
  const { model: ref, family: _family, scope: _scope, models: _models, reason: _reason, ...limits } = fallback;
  return { of: modelOfRef(ref), view: viewWith(view, fallback), limits: fitted ?? limits };
}

/** A body; that of a request in a batch of the provider has no `stream`. */
type SentBody = ReturnType<typeof toBatchParams> & Partial<Pick<WireRequest, 'stream'>>;

/**
 * The body of a request. The rows do not say whether its answer was streamed or came in a batch, so
 * the hash decides.
 */
function encodeBody(request: ModelRequest, sentSha256: string | null): { request: SentBody; sha256: string } {
  const streamed = hashed(toWireRequest(request, { isStreaming: true }));
  const others = [toWireRequest(request, { isStreaming: false }), toBatchParams(request)].map(hashed);
  return others.find(({ sha256 }) => sha256 === sentSha256) ?? streamed;
}

function hashed(request: SentBody): { request: SentBody; sha256: string } {
  return { request, sha256: createHash('sha256').update(JSON.stringify(request)).digest('hex') };
}

/**
 * The body for another API; null: the Messages API is asked, or what knows the form of the other is
 * not here any more.
 */
async function writeOther(
  request: ModelRequest,
  { sessionKey, requestSha256 }: StoredCall,
  { writeBody }: WantedRequest,
): Promise<{ text: string; sha256: string } | null> {
  if (request.provider === undefined || requestSha256 === null) return null;
  const bytes = await writeBody?.(request, sessionKey).catch(() => null);
  if (!bytes) return null;
  return { text: Buffer.from(bytes).toString(), sha256: createHash('sha256').update(bytes).digest('hex') };
}

function compareBody(
  { provider }: ModelRequest,
  { sha256 }: { sha256: string },
  { requestSha256, isKnown }: { requestSha256: string | null; isKnown: boolean },
): boolean | null {
  if (requestSha256 === null) return null;
  return sha256 === requestSha256 || (isKnown || provider === undefined ? false : null);
}

function readBlobs(database: Database, call: StoredCall): Promise<Map<string, unknown>> {
  const { injectedSha256, images, sectionsSha256, formatSha256 } = call.turnView;
  const { systemSha256, toolsSha256, view } = call;
  const named = [systemSha256, toolsSha256, injectedSha256, sectionsSha256, formatSha256, view?.wholeSha256];
  return readSnapshots(database, [...named.filter((sha256) => sha256 !== undefined), ...hashesOfImages(images)]);
}
